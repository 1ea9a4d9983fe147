CREATE TABLE `approvals` (
	`seq` integer PRIMARY KEY NOT NULL,
	`approval_id` text NOT NULL UNIQUE,
	`decided_seq` integer,
	`refused` integer NOT NULL DEFAULT 0
) STRICT;
