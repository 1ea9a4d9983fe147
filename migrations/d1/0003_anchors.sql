CREATE TABLE anchors (
  tenant text NOT NULL,
  log_id text NOT NULL,
  seq integer NOT NULL,
  agent text,
  thread text,
  hash text NOT NULL,
  at integer NOT NULL,
  key_id text NOT NULL,
  signature text NOT NULL,
  PRIMARY KEY (tenant, log_id, seq)
);
CREATE INDEX anchors_by_thread ON anchors (tenant, agent, thread);
