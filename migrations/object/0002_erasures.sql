CREATE TABLE `erasures` (
	`seq` integer PRIMARY KEY NOT NULL,
	`erasure_id` text NOT NULL,
	`run_id` text,
	`origin` text,
	`requested_at` integer NOT NULL,
	`completed_at` integer,
	`completed_seq` integer,
	`stores` text NOT NULL DEFAULT '[]'
) STRICT;
