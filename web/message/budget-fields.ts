/** What a person is asked for at a budget's limit, in words. */
import type { Approval } from "#client/types.ts";
import { formatAmount, formatTime } from "../app/format.ts";

type Asked = NonNullable<Approval["budget"]>;

export function toBudgetFields({ stop, amount }: Asked): { readonly [name: string]: string } {
  const { unit, limit, raised = 0, spent, leased, needed, resetsAt } = stop;
  const say = (value: number): string => formatAmount(value, unit);
  return {
    Limit: raised === 0 ? say(limit) : `${say(limit)}, and ${say(raised)} granted before`,
    Spent: say(spent),
    ...(leased === 0 ? {} : { "Held by other runs": say(leased) }),
    "Next call at most": say(needed),
    "A yes grants": `${say(amount)} more, once${resetsAt === null ? "" : `, until ${formatTime(resetsAt)}`}`,
  };
}
