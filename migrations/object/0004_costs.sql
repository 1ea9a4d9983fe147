ALTER TABLE `runs` ADD COLUMN `estimated_micros` integer NOT NULL DEFAULT 0;
--> statement-breakpoint
ALTER TABLE `runs` ADD COLUMN `unpriced` integer NOT NULL DEFAULT 0;
