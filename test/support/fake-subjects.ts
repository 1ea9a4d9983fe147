/** SubjectGateway of tests without objects: what was asked, and a receipt. */
import type { SubjectErasureView, SubjectGateway } from "#ports/subject-gateway.ts";
import { ok } from "#shared/result.ts";

export class FakeSubjects implements SubjectGateway {
  readonly calls: string[] = [];

  subject(tenant: string, subject: string): ReturnType<SubjectGateway["subject"]> {
    const view: SubjectErasureView = {
      erasureId: "evt_subject",
      subject,
      status: "done",
      requestedAt: 1,
      completedAt: 2,
      threads: { done: 1, waiting: 0 },
      stores: [],
    };
    const called = (method: string): void => void this.calls.push(`${method} ${tenant}/${subject}`);
    return {
      eraseSubject: async () => {
        called("eraseSubject");
        return ok(view);
      },
      subjectErasure: async () => {
        called("subjectErasure");
        return ok(view);
      },
    };
  }
}
