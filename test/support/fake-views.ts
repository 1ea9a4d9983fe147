/** What the gateway in memory shows of branches and runs: it has one of the former and runs none of the latter. */

export const MAIN = {
  branch: "main",
  parent: null,
  reason: null,
  active: true,
  keepTo: 0,
  startSeq: 1,
  headSeq: 1,
  createdAt: 1,
} as const;
export function runView(runId: string) {
  return {
    runId,
    status: "completed" as const,
    finish: "stop",
    reason: null,
    message: null,
    loop: null,
    text: "done",
    output: null,
    steps: 1,
    costMicros: 0,
    recoveryMicros: 0,
    estimatedMicros: 0,
    unpriced: 0,
    tokens: 1,
    definition: null,
    createdAt: 1,
    endedAt: 2,
    startSeq: 1,
    endSeq: 2,
  };
}
