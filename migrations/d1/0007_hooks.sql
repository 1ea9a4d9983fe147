CREATE TABLE hooks (
  id text NOT NULL PRIMARY KEY,
  tenant text NOT NULL,
  app text NOT NULL,
  agent text NOT NULL,
  thread_rule text NOT NULL,
  scheme text NOT NULL,
  secret text NOT NULL,
  previous text,
  previous_until integer,
  created_at integer NOT NULL,
  created_by text NOT NULL
);
CREATE INDEX hooks_tenant ON hooks (tenant, created_at);
CREATE TABLE hook_events (
  tenant text NOT NULL,
  app text NOT NULL,
  event text NOT NULL,
  hook text NOT NULL,
  agent text NOT NULL,
  thread text NOT NULL,
  received_at integer NOT NULL,
  delivered integer NOT NULL,
  PRIMARY KEY (tenant, app, event)
);
CREATE INDEX hook_events_received ON hook_events (received_at);
