/** The tables that a thread's log keeps beside itself, each rebuilt from it when its version changes (L12). */
import { ApprovalsProjection } from "#adapters/projections/approvals-projection.ts";
import { ErasuresProjection } from "#adapters/projections/erasures-projection.ts";
import { FilesProjection } from "#adapters/projections/files-projection.ts";
import { RunsProjection } from "#adapters/projections/runs-projection.ts";
import type { ThreadEvents } from "#kernel/events.ts";
import { TOTALS_RULE } from "#kernel/run-totals.ts";
import type { Projection } from "#ports/event-log.ts";
import type { SqlDatabase } from "#ports/sql.ts";

export function threadProjections(database: SqlDatabase): readonly Projection<ThreadEvents>[] {
  return [
    new RunsProjection(database, TOTALS_RULE),
    new FilesProjection(database),
    new ApprovalsProjection(database),
    new ErasuresProjection(database),
  ];
}
