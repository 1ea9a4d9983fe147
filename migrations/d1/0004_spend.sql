CREATE TABLE spend (
  tenant text NOT NULL,
  day text NOT NULL,
  agent text NOT NULL,
  thread text NOT NULL,
  owner text NOT NULL,
  route text NOT NULL,
  tool text NOT NULL,
  kind text NOT NULL,
  calls integer NOT NULL,
  unpriced integer NOT NULL,
  micros integer NOT NULL,
  input integer NOT NULL,
  cached_input integer NOT NULL,
  cache_write integer NOT NULL,
  audio_input integer NOT NULL,
  output integer NOT NULL,
  reasoning integer NOT NULL,
  audio_output integer NOT NULL,
  PRIMARY KEY (tenant, day, agent, thread, owner, route, tool, kind)
);
CREATE INDEX spend_by_owner ON spend (tenant, owner, day);
CREATE INDEX spend_by_thread ON spend (tenant, agent, thread);
CREATE TABLE spend_cursors (
  tenant text NOT NULL,
  log text NOT NULL,
  seq integer NOT NULL,
  PRIMARY KEY (tenant, log)
);
CREATE TABLE price_overrides (
  tenant text NOT NULL,
  route text NOT NULL,
  version text NOT NULL,
  rates text NOT NULL,
  created_at integer NOT NULL,
  created_by text NOT NULL,
  retired_at integer,
  PRIMARY KEY (tenant, route, version)
);
