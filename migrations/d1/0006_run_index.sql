CREATE TABLE run_index (
  tenant text NOT NULL,
  run text NOT NULL,
  agent text NOT NULL,
  thread text NOT NULL,
  owner text NOT NULL,
  status text NOT NULL,
  at integer NOT NULL,
  seq integer NOT NULL,
  PRIMARY KEY (tenant, run)
);
CREATE INDEX run_index_by_owner ON run_index (tenant, agent, owner, at);
CREATE INDEX run_index_by_tenant ON run_index (tenant, agent, at);
