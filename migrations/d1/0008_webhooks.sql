CREATE TABLE webhooks (
  tenant text NOT NULL,
  id text NOT NULL,
  url text NOT NULL,
  agent text,
  types text NOT NULL,
  secret text NOT NULL,
  previous text,
  previous_until integer,
  disabled_at integer,
  disabled_reason text,
  failing_since integer,
  created_at integer NOT NULL,
  created_by text NOT NULL,
  PRIMARY KEY (tenant, id)
);
CREATE TABLE webhook_deliveries (
  tenant text NOT NULL,
  webhook text NOT NULL,
  message text NOT NULL,
  log text NOT NULL,
  seq integer NOT NULL,
  type text NOT NULL,
  body text NOT NULL,
  state text NOT NULL,
  attempts integer NOT NULL,
  next_at integer,
  last_status integer,
  last_error text,
  created_at integer NOT NULL,
  PRIMARY KEY (tenant, webhook, message)
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (tenant, log, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX webhook_deliveries_listed ON webhook_deliveries (tenant, webhook, created_at);
