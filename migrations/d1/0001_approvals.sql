CREATE TABLE approvals (
  tenant text NOT NULL,
  approval text NOT NULL,
  agent text NOT NULL,
  thread text NOT NULL,
  owner text NOT NULL,
  run text NOT NULL,
  call text NOT NULL,
  kind text NOT NULL,
  tool text NOT NULL,
  requested_at integer NOT NULL,
  expires_at integer NOT NULL,
  decision text,
  decided_by text,
  decided_at integer,
  PRIMARY KEY (tenant, approval)
);
CREATE INDEX approvals_by_owner ON approvals (tenant, owner, requested_at);
CREATE INDEX approvals_by_tenant ON approvals (tenant, requested_at);
