/** An operator's stop and its end, as commands of the kernel; nobody else may (B10). */
import type { Receipt } from "#kernel/commands.ts";
import type { Caller, Reply } from "#ports/thread-gateway.ts";
import { checkScope } from "./access.ts";
import type { ThreadHost } from "./thread-host.ts";

interface Asked<Reason> {
  readonly reason: Reason;
  readonly key: string | null;
}

export function halt(
  host: ThreadHost,
  caller: Caller,
  { reason, key }: Asked<string>,
): Reply<Receipt> {
  const allowed = checkScope(caller, "operate");
  if (!allowed.ok) return allowed;
  const command = { type: "halt_thread", reason, at: host.now } as const;
  return host.submit(caller, command, { idempotencyKey: key, body: { reason } });
}

export function resume(
  host: ThreadHost,
  caller: Caller,
  { reason, key }: Asked<string | null>,
): Reply<Receipt> {
  const allowed = checkScope(caller, "operate");
  if (!allowed.ok) return allowed;
  const command = { type: "resume_thread", reason } as const;
  return host.submit(caller, command, { idempotencyKey: key, body: { reason } });
}
