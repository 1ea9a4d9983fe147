/**
 * The second home of anchors: an R2 object each, so that whoever can write D1 still cannot make a signed head unsaid.
 *
 * The key counts seq in sixteen digits, so that R2's order of keys is the log's order. The anchor lies in the object and
 * in its metadata: one listing reads a thousand.
 */
import type { Anchor, AnchorRange, AnchorStore } from "#ports/anchors.ts";
import { AppError } from "#shared/errors.ts";
import { canonicalJson, utf8 } from "#shared/json.ts";

interface Listed {
  readonly key: string;
  readonly customMetadata?: Record<string, string>;
}
/** The part of R2Bucket that is used, typed by structure. */
export interface AnchorBucket {
  put(
    key: string,
    content: Uint8Array,
    options: {
      readonly onlyIf: { readonly etagDoesNotMatch: string };
      readonly customMetadata: Record<string, string>;
    },
  ): Promise<unknown>;
  list(options: {
    readonly prefix: string;
    readonly startAfter?: string;
    readonly limit: number;
    readonly include: ["customMetadata"];
  }): Promise<{ readonly objects: readonly Listed[]; readonly truncated: boolean }>;
}

const PAGE = 500;

export class R2AnchorCopies implements Pick<AnchorStore, "put" | "list"> {
  readonly #bucket: AnchorBucket;

  constructor(bucket: AnchorBucket) {
    this.#bucket = bucket;
  }

  async put(anchors: readonly Anchor[]): Promise<readonly Anchor[]> {
    return Promise.all(anchors.map((anchor) => this.#putOne(anchor)));
  }

  async #putOne(anchor: Anchor): Promise<Anchor> {
    const text = canonicalJson({ ...anchor });
    // Null where the key is taken: what stands there stays.
    const written = await this.#bucket.put(keyOf(anchor), utf8(text), {
      onlyIf: { etagDoesNotMatch: "*" },
      customMetadata: { anchor: text },
    });
    if (written !== null) return anchor;
    const { tenant, logId, seq } = anchor;
    const [standing] = await this.list({ tenant, logId, from: seq, to: seq, limit: 1 });
    return standing ?? anchor;
  }

  async list({ tenant, logId, from, to, limit }: AnchorRange): Promise<readonly Anchor[]> {
    const found: Anchor[] = [];
    let startAfter = from <= 1 ? undefined : keyOf({ tenant, logId, seq: from - 1 });
    for (;;) {
      const page = await this.#bucket.list({
        prefix: prefixOf({ tenant, logId }),
        ...(startAfter === undefined ? {} : { startAfter }),
        limit: PAGE,
        include: ["customMetadata"],
      });
      for (const listed of page.objects) {
        startAfter = listed.key;
        const anchor = parse(listed);
        if (anchor.seq > to || found.length === limit) return found;
        found.push(anchor);
      }
      if (!page.truncated || page.objects.length === 0) return found;
    }
  }
}

function parse({ key, customMetadata }: Listed): Anchor {
  try {
    return JSON.parse(customMetadata?.["anchor"] ?? "") as Anchor;
  } catch (cause) {
    throw new AppError("storage_failed", `the anchor ${key} cannot be read`, {
      kind: "faulted",
      cause,
    });
  }
}

function prefixOf({ tenant, logId }: Pick<Anchor, "tenant" | "logId">): string {
  return `anchors/${tenant}/${logId}/`;
}

function keyOf(anchor: Pick<Anchor, "tenant" | "logId" | "seq">): string {
  return `${prefixOf(anchor)}${String(anchor.seq).padStart(16, "0")}.json`;
}
