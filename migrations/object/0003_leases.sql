CREATE TABLE `leases` (
	`lease_id` text PRIMARY KEY NOT NULL,
	`agent` text NOT NULL,
	`thread` text NOT NULL,
	`run` text NOT NULL,
	`user` text,
	`granted_at` integer NOT NULL,
	`open` integer NOT NULL,
	`seq` integer NOT NULL,
	`cost_micros` integer NOT NULL,
	`tokens` integer NOT NULL,
	`steps` integer NOT NULL,
	`wall_ms` integer NOT NULL
) STRICT, WITHOUT ROWID;
