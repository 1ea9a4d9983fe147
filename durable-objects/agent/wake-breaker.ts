/**
 * WakeBreaker: counts the wakes of a thread by its alarm, and wakes one that gets nowhere ever less often (H50, H53).
 *
 * Counted in meta `wakes`, because a process that dies at each wake remembers nothing. Written at wakes that take up what
 * an earlier one did not finish, and with each report of health; a wake that only looks after live work costs no row.
 * What a caller asks for is never held up: only alarms are.
 */
import type { SqlDatabase } from "#ports/sql.ts";
import type { WakeState } from "#ports/metrics.ts";

/** Wakes in a row without progress that are nobody's business: retries of what is away for a moment. */
const TOLERATED = 10;
const HOUR_MS = 3_600_000;
const MAX_DELAY_MS = HOUR_MS;
const KEY = "wakes";

export interface Wake {
  /** Shortest time until the next alarm. 0: as usual. */
  readonly delayMs: number;
  /** Set with the wake that begins, or doubles, the delay: an operator should know. */
  readonly incident: string | null;
  /** Whether the breaker was open until this wake found progress. */
  readonly isOver: boolean;
}
/** Alarms since they were last written, and the time. */
export interface Seen {
  readonly alarms: number;
  readonly at: number;
}
/** PERSISTED CONTRACT. What came later than `mark` and `count` may be absent. */
interface Counted {
  readonly mark: string;
  /** Wakes in a row under this mark, and when the first was. */
  readonly count: number;
  readonly since: number;
  readonly wakes: number;
  readonly hour: number;
  readonly wakesInHour: number;
  readonly trips: number;
}
const NONE: Counted = {
  mark: "",
  count: 0,
  since: 0,
  wakes: 0,
  hour: 0,
  wakesInHour: 0,
  trips: 0,
};

export class WakeBreaker {
  readonly #sql: SqlDatabase;
  readonly #baseMs: number;

  constructor(sql: SqlDatabase, baseMs: number) {
    this.#sql = sql;
    this.#baseMs = baseMs;
  }

  /** `mark` differs from the one of the wake before exactly when something was appended or delivered since. */
  woken(mark: string, seen: Seen): Wake {
    const known = add(this.#read(), seen);
    const isStuck = known.count > 0 && known.mark === mark;
    if (!isStuck) {
      this.#write({ ...known, mark, count: 1, since: seen.at });
      return { delayMs: 0, incident: null, isOver: known.count > TOLERATED };
    }
    const count = known.count + 1;
    const trips = known.trips + (count === TOLERATED + 1 ? 1 : 0);
    this.#write({ ...known, count, trips });
    if (count <= TOLERATED) return { delayMs: 0, incident: null, isOver: false };
    const delayMs = Math.min(MAX_DELAY_MS, this.#baseMs * 2 ** (count - TOLERATED));
    const incident = `woken ${count} times without progress; next in ${Math.round(delayMs / 1_000)} s`;
    return { delayMs, incident, isOver: false };
  }

  /** What is to be reported; alarms that were seen since are written first, so that totals never go back. */
  state(mark: string, seen: Seen): WakeState {
    const known = add(this.#read(), seen);
    if (seen.alarms > 0) this.#write(known);
    const { wakes, hour, wakesInHour, trips } = known;
    const isOpen = known.mark === mark && known.count > TOLERATED;
    return {
      wakes,
      hour,
      wakesInHour,
      trips,
      stalledWakes: isOpen ? known.count : 0,
      stalledSince: isOpen ? known.since : null,
    };
  }

  #read(): Counted {
    const [row] = this.#sql.exec("SELECT value FROM meta WHERE key = ?", KEY);
    if (row === undefined) return NONE;
    // Written by this class, under a key nothing else uses.
    return { ...NONE, ...(JSON.parse(String(row["value"])) as Partial<Counted>) };
  }

  #write(counted: Counted): void {
    this.#sql.exec(
      "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
      KEY,
      JSON.stringify(counted),
    );
  }
}

function add(known: Counted, { alarms, at }: Seen): Counted {
  const hour = Math.floor(at / HOUR_MS);
  const before = known.hour === hour ? known.wakesInHour : 0;
  return { ...known, wakes: known.wakes + alarms, hour, wakesInHour: before + alarms };
}
