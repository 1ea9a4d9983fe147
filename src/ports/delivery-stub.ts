/** DeliveryStub: what may be asked of the deliveries that a thread sends; part of ThreadStub, and under its rules. */
import type { Caller, Reply } from "./thread-gateway.ts";

export interface DeliveryStub {
  /** Sends it again from the start, whatever became of it; callers with scope `operate`. */
  redeliver(caller: Caller, webhook: string, message: string): Promise<Reply<null>>;
}
