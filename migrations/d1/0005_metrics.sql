CREATE TABLE metrics (
  tenant text NOT NULL,
  agent text NOT NULL,
  counter text NOT NULL,
  label text NOT NULL,
  value integer NOT NULL,
  PRIMARY KEY (tenant, agent, counter, label)
);
CREATE TABLE metrics_cursors (
  tenant text NOT NULL,
  log text NOT NULL,
  seq integer NOT NULL,
  PRIMARY KEY (tenant, log)
);
CREATE TABLE thread_health (
  tenant text NOT NULL,
  log text NOT NULL,
  agent text NOT NULL,
  thread text NOT NULL,
  wakes integer NOT NULL,
  hour integer NOT NULL,
  wakes_in_hour integer NOT NULL,
  trips integer NOT NULL,
  stalled_wakes integer NOT NULL,
  stalled_since integer,
  lag_events integer NOT NULL,
  lag_since integer,
  PRIMARY KEY (tenant, log)
);
CREATE INDEX approvals_open ON approvals (tenant, agent) WHERE decided_at IS NULL;
