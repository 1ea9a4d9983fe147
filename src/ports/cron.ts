/**
 * Cron: when the next local time that an expression names comes, as the time zone data of this deployment has it.
 *
 * Contract (test/unit/adapters/cron.test.ts): five fields, minutes the smallest. An expression without wildcard or step in
 * minute and hour names local times of a day: each comes once a day; those that a day skips come as one, when the gap
 * ends; of those that a day has twice, the first. Any other follows the clock on the wall over time as it passes, so that
 * an hour that comes twice fires twice. What a time zone does is data: the answer is recorded, never computed again.
 */
export interface CronRule {
  readonly expression: string;
  /** IANA name. */
  readonly timeZone: string;
}

export interface Cron {
  /** Why it cannot be, in words for whoever wrote it; null where it can. */
  fault(rule: CronRule): string | null;
  /** The first time behind `after`, in epoch ms; null when there is none. The rule has no fault. */
  next(rule: CronRule, after: number): number | null;
}
