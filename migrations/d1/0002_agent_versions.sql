-- Nothing has written the table of 0000, which had no tenant.
DROP TABLE agent_versions;
CREATE TABLE agent_versions (
  tenant text NOT NULL,
  agent text NOT NULL,
  definition text NOT NULL,
  manifest text NOT NULL,
  created_at integer NOT NULL,
  created_by text NOT NULL,
  promoted_at integer,
  retired_at integer,
  PRIMARY KEY (tenant, agent, definition)
);
CREATE INDEX agent_versions_by_age ON agent_versions (tenant, agent, created_at);
