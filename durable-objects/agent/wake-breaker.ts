/**
 * WakeBreaker: a thread that its alarm wakes again and again without getting anywhere is woken ever less often (H50).
 *
 * Counted in meta `wakes`, because a process that dies at each wake remembers nothing. Asked only by wakes that take up
 * what an earlier one did not finish, so honest use, however frequent, costs no row. What a caller asks for is never held
 * up: only alarms are.
 */
import type { SqlDatabase } from "#ports/sql.ts";

/** Wakes in a row without progress that are nobody's business: retries of what is away for a moment. */
const TOLERATED = 10;
const MAX_DELAY_MS = 3_600_000;
const KEY = "wakes";

export interface Wake {
  /** Shortest time until the next alarm. 0: as usual. */
  readonly delayMs: number;
  /** Set with the wake that begins, or doubles, the delay: an operator should know. */
  readonly incident: string | null;
}
interface Counted {
  readonly mark: string;
  readonly count: number;
}

export class WakeBreaker {
  readonly #sql: SqlDatabase;
  readonly #baseMs: number;

  constructor(sql: SqlDatabase, baseMs: number) {
    this.#sql = sql;
    this.#baseMs = baseMs;
  }

  /** `mark` differs from the one of the wake before exactly when something was appended or delivered since. */
  woken(mark: string): Wake {
    const known = this.#read();
    if (known?.mark !== mark) {
      this.#write({ mark, count: 1 });
      return { delayMs: 0, incident: null };
    }
    const count = known.count + 1;
    this.#write({ mark, count });
    if (count <= TOLERATED) return { delayMs: 0, incident: null };
    const delayMs = Math.min(MAX_DELAY_MS, this.#baseMs * 2 ** (count - TOLERATED));
    const incident = `woken ${count} times without progress; next in ${Math.round(delayMs / 1_000)} s`;
    return { delayMs, incident };
  }

  #read(): Counted | null {
    const [row] = this.#sql.exec("SELECT value FROM meta WHERE key = ?", KEY);
    // Written by this class, under a key nothing else uses.
    return row === undefined ? null : (JSON.parse(String(row["value"])) as Counted);
  }

  #write(counted: Counted): void {
    this.#sql.exec(
      "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
      KEY,
      JSON.stringify(counted),
    );
  }
}
