CREATE TABLE `events` (
	`seq` integer PRIMARY KEY NOT NULL,
	`header` text NOT NULL,
	`hash` text NOT NULL,
	`salt` blob,
	`payload` blob
) STRICT;
--> statement-breakpoint
CREATE TABLE `blobs` (
	`address` text PRIMARY KEY NOT NULL,
	`bytes` integer NOT NULL,
	`chunks` integer NOT NULL,
	`location` text NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `blob_chunks` (
	`address` text NOT NULL,
	`idx` integer NOT NULL,
	`content` blob NOT NULL,
	PRIMARY KEY(`address`, `idx`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `snapshots` (
	`fold` text NOT NULL,
	`seq` integer NOT NULL,
	`version` integer NOT NULL,
	`digest` text NOT NULL,
	`ref` text,
	`state` blob,
	PRIMARY KEY(`fold`, `seq`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `meta` (
	`key` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `outbox_cursors` (
	`name` text PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL,
	`required` integer NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `commands` (
	`key` text PRIMARY KEY NOT NULL,
	`body_digest` text NOT NULL,
	`receipt` text NOT NULL,
	`at` integer NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `runs` (
	`start_seq` integer PRIMARY KEY NOT NULL,
	`run_id` text NOT NULL UNIQUE,
	`status` text NOT NULL,
	`finish` text,
	`reason` text,
	`message` text,
	`definition` text,
	`steps` integer NOT NULL DEFAULT 0,
	`cost_micros` integer NOT NULL DEFAULT 0,
	`recovery_micros` integer NOT NULL DEFAULT 0,
	`tokens` integer NOT NULL DEFAULT 0,
	`created_at` integer NOT NULL,
	`ended_at` integer,
	`end_seq` integer,
	`text_seq` integer,
	`text_part` integer,
	`output_seq` integer
) STRICT;
--> statement-breakpoint
CREATE TABLE `files` (
	`path` text PRIMARY KEY NOT NULL,
	`digest` text NOT NULL,
	`bytes` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`seq` integer NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `stream_blocks` (
	`seq` integer NOT NULL,
	`attempt` integer NOT NULL,
	`idx` integer NOT NULL,
	`text` text NOT NULL,
	PRIMARY KEY(`seq`, `attempt`, `idx`)
) STRICT, WITHOUT ROWID;
