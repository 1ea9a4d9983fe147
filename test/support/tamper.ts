/** Changes what a stopped local server has stored, as nobody may: for tests that the change is found. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Turns the last byte of the payload of event `seq` in the log of `thread`. */
export function tamperPayload(stateDirectory: string, thread: string, seq: number): void {
  const files = readdirSync(stateDirectory, { recursive: true, encoding: "utf8" });
  const changed = files
    .filter((file) => file.endsWith(".sqlite"))
    .filter((file) => tamper(new DatabaseSync(join(stateDirectory, file)), thread, seq));
  if (changed.length !== 1) throw new Error(`${changed.length} logs of ${thread} were found`);
}

function tamper(database: DatabaseSync, thread: string, seq: number): boolean {
  try {
    if (!isLogOf(database, thread)) return false;
    const row = database.prepare("SELECT payload FROM events WHERE seq = ?").get(seq);
    const payload = row?.["payload"];
    if (!(payload instanceof Uint8Array)) throw new Error(`event ${seq} has no payload`);
    const last = payload.length - 1;
    payload[last] = (payload[last] ?? 0) ^ 1;
    database.prepare("UPDATE events SET payload = ? WHERE seq = ?").run(payload, seq);
    return true;
  } finally {
    database.close();
  }
}

function isLogOf(database: DatabaseSync, thread: string): boolean {
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE name = 'events'").all();
  if (tables.length === 0) return false;
  const found = database.prepare("SELECT 1 FROM events WHERE header LIKE ? AND header LIKE ?");
  return found.get('%"thread.created"%', `%"${thread}"%`) !== undefined;
}
