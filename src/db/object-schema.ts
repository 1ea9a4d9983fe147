/**
 * Tables of an object's SQLite, as drizzle describes them. PERSISTED CONTRACT; docs/storage.md says who writes and reads each.
 *
 * drizzle can express neither STRICT nor WITHOUT ROWID, so the SQL under migrations/object is written by hand and
 * test/architecture/object-schema.test.ts compares it with this file. No secondary index on hot tables: each doubles
 * the rows that are billed.
 */
import { blob, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

export const events = sqliteTable("events", {
  seq: integer("seq").primaryKey().notNull(),
  header: text("header").notNull(),
  hash: text("hash").notNull(),
  salt: blob("salt"),
  payload: blob("payload"),
});

export const blobs = sqliteTable("blobs", {
  address: text("address").primaryKey().notNull(),
  bytes: integer("bytes").notNull(),
  chunks: integer("chunks").notNull(),
  location: text("location").notNull(),
});

export const blobChunks = sqliteTable(
  "blob_chunks",
  {
    address: text("address").notNull(),
    idx: integer("idx").notNull(),
    content: blob("content").notNull(),
  },
  (table) => [primaryKey({ columns: [table.address, table.idx] })],
);

export const snapshots = sqliteTable(
  "snapshots",
  {
    fold: text("fold").notNull(),
    seq: integer("seq").notNull(),
    version: integer("version").notNull(),
    digest: text("digest").notNull(),
    ref: text("ref"),
    state: blob("state"),
  },
  (table) => [primaryKey({ columns: [table.fold, table.seq] })],
);

export const meta = sqliteTable("meta", {
  key: text("key").primaryKey().notNull(),
  value: text("value").notNull(),
});

export const outboxCursors = sqliteTable("outbox_cursors", {
  name: text("name").primaryKey().notNull(),
  seq: integer("seq").notNull(),
  required: integer("required").notNull(),
});

export const commands = sqliteTable("commands", {
  key: text("key").primaryKey().notNull(),
  bodyDigest: text("body_digest").notNull(),
  receipt: text("receipt").notNull(),
  at: integer("at").notNull(),
});

export const runs = sqliteTable("runs", {
  startSeq: integer("start_seq").primaryKey().notNull(),
  runId: text("run_id").notNull().unique(),
  status: text("status").notNull(),
  finish: text("finish"),
  reason: text("reason"),
  message: text("message"),
  definition: text("definition"),
  steps: integer("steps").notNull().default(0),
  costMicros: integer("cost_micros").notNull().default(0),
  recoveryMicros: integer("recovery_micros").notNull().default(0),
  tokens: integer("tokens").notNull().default(0),
  createdAt: integer("created_at").notNull(),
  endedAt: integer("ended_at"),
  endSeq: integer("end_seq"),
  textSeq: integer("text_seq"),
  textPart: integer("text_part"),
  outputSeq: integer("output_seq"),
  estimatedMicros: integer("estimated_micros").notNull().default(0),
  /** Model attempts whose price nobody knew. */
  unpriced: integer("unpriced").notNull().default(0),
});

export const approvals = sqliteTable("approvals", {
  seq: integer("seq").primaryKey().notNull(),
  approvalId: text("approval_id").notNull().unique(),
  decidedSeq: integer("decided_seq"),
  refused: integer("refused").notNull().default(0),
});

export const erasures = sqliteTable("erasures", {
  seq: integer("seq").primaryKey().notNull(),
  erasureId: text("erasure_id").notNull(),
  runId: text("run_id"),
  origin: text("origin"),
  requestedAt: integer("requested_at").notNull(),
  completedAt: integer("completed_at"),
  completedSeq: integer("completed_seq"),
  stores: text("stores").notNull().default("[]"),
});

/** Of a tenant's ledger: every lease it ever granted. */
export const leases = sqliteTable("leases", {
  leaseId: text("lease_id").primaryKey().notNull(),
  agent: text("agent").notNull(),
  thread: text("thread").notNull(),
  run: text("run").notNull(),
  user: text("user"),
  grantedAt: integer("granted_at").notNull(),
  open: integer("open").notNull(),
  seq: integer("seq").notNull(),
  costMicros: integer("cost_micros").notNull(),
  tokens: integer("tokens").notNull(),
  steps: integer("steps").notNull(),
  wallMs: integer("wall_ms").notNull(),
});

export const files = sqliteTable("files", {
  path: text("path").primaryKey().notNull(),
  digest: text("digest").notNull(),
  bytes: integer("bytes").notNull(),
  updatedAt: integer("updated_at").notNull(),
  seq: integer("seq").notNull(),
});

export const streamBlocks = sqliteTable(
  "stream_blocks",
  {
    seq: integer("seq").notNull(),
    attempt: integer("attempt").notNull(),
    idx: integer("idx").notNull(),
    text: text("text").notNull(),
  },
  (table) => [primaryKey({ columns: [table.seq, table.attempt, table.idx] })],
);
