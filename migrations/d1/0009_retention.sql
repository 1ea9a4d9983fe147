CREATE TABLE retention (
  tenant text NOT NULL,
  agent text NOT NULL,
  max_age_days integer,
  max_events integer,
  updated_at integer NOT NULL,
  updated_by text NOT NULL,
  PRIMARY KEY (tenant, agent)
);
