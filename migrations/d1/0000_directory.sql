CREATE TABLE tenants (
  id text PRIMARY KEY NOT NULL,
  name text NOT NULL,
  jurisdiction text,
  created_at integer NOT NULL
);
CREATE TABLE api_keys (
  id text PRIMARY KEY NOT NULL,
  tenant text NOT NULL REFERENCES tenants (id),
  kind text NOT NULL,
  name text NOT NULL,
  hash text NOT NULL,
  scopes text NOT NULL,
  created_at integer NOT NULL,
  expires_at integer,
  revoked_at integer,
  CONSTRAINT api_keys_kind CHECK (kind in ('service', 'operator'))
);
CREATE UNIQUE INDEX api_keys_hash_unique ON api_keys (hash);
CREATE INDEX api_keys_by_tenant ON api_keys (tenant);
CREATE TABLE agent_versions (
  agent text NOT NULL,
  definition text NOT NULL,
  manifest text NOT NULL,
  source text NOT NULL,
  created_at integer NOT NULL,
  PRIMARY KEY (agent, definition)
);
CREATE TABLE threads (
  tenant text NOT NULL,
  agent text NOT NULL,
  thread text NOT NULL,
  owner text NOT NULL,
  title text,
  created_at integer NOT NULL,
  last_seq integer NOT NULL,
  updated_at integer NOT NULL,
  PRIMARY KEY (tenant, agent, thread)
);
CREATE INDEX threads_by_owner ON threads (tenant, owner, created_at);
CREATE INDEX threads_by_tenant ON threads (tenant, created_at);
