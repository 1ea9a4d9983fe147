/**
 * The files of a real server after an erasure: databases of objects and of D1, write-ahead logs, R2. What was erased is in
 * none of them (H36). The search is seen to find: before the erasure the same canary is there.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDevServer, type DevServer } from "../../support/dev-server.ts";

const CANARY = "canary-8d21f0";
const LARGE = `${CANARY} ${"row,1\n".repeat(60_000)}`;
const DEADLINE_MS = 120_000;

let server: DevServer;
beforeAll(async () => {
  server = await createDevServer();
  await server.start();
}, 400_000);
afterAll(() => server.dispose());

async function call(method: string, path: string, body?: unknown): Promise<unknown> {
  const isText = typeof body === "string";
  const response = await fetch(`${server.url}/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${server.key}`,
      ...(body === undefined || isText ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`);
  return response.json();
}

async function until<T>(read: () => Promise<T | null>): Promise<T> {
  for (const deadline = Date.now() + DEADLINE_MS; Date.now() < deadline;) {
    const value = await read();
    if (value !== null) return value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the condition did not come true in time");
}

const FILES = { recursive: true, withFileTypes: true } as const;

/** Files in which the canary lies, each by the end of its path, with how often. */
function findings(): readonly string[] {
  return (
    readdirSync(server.stateDirectory, FILES)
      // What the local server itself logs and traces of requests is not the product's.
      .filter((entry) => entry.isFile() && entry.name !== "server.log")
      .filter(({ parentPath }) => !parentPath.includes("observability"))
      .map(({ parentPath, name }) => join(parentPath, name))
      .flatMap((path) => {
        const times = readFileSync(path).toString("latin1").split(CANARY).length - 1;
        return times === 0 ? [] : [`${relative(server.stateDirectory, path)}: ${times}`];
      })
  );
}

/** Objects, D1 and R2, by the names of their folders. */
function storesWithFindings(): readonly string[] {
  const stores = findings().map((path) => /^state\/v3\/(\w+)\//.exec(path)?.[1] ?? path);
  return [...new Set(stores)].toSorted();
}

/** D1 is one database of all tenants, and its log is its own: what is still in it is written back as it will be. */
function checkpointD1(): void {
  for (const { parentPath, name } of readdirSync(server.stateDirectory, FILES)) {
    if (!parentPath.includes("d1") || !name.endsWith(".sqlite")) continue;
    const database = new DatabaseSync(join(parentPath, name));
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    database.close();
  }
}

describe("the files of a server after an erasure", () => {
  it("[H36] hold nothing of what was erased, after a stop by SIGKILL", async () => {
    const thread = "/agents/analyst/threads/raw";
    await call("POST", "/agents/analyst/threads", { id: "raw", title: `title ${CANARY}` });
    await call("PUT", `${thread}/files/${CANARY}.csv`, LARGE);
    await call("PUT", `${thread}/files/small.txt`, `small ${CANARY}`);
    await call("PUT", `${thread}/state`, { note: CANARY });
    for (let turn = 0; turn < 8; turn += 1) {
      const text = `${CANARY} how many lines does ${CANARY}.csv have? (${turn})`;
      const { runId } = (await call("POST", `${thread}/messages`, { text })) as { runId: string };
      await until(async () => {
        const run = (await call("GET", `${thread}/runs/${runId}`)) as { endedAt: number | null };
        return run.endedAt === null ? null : run;
      });
    }
    // The outbox brings the title to D1 and a copy of the large file to R2 after the answer.
    await expect.poll(storesWithFindings, { timeout: DEADLINE_MS }).toEqual(["d1", "do", "r2"]);

    await call("POST", `${thread}/erase`, {});
    const receipt = await until(async () => {
      const view = (await call("GET", `${thread}/erasure`)) as { status: string };
      return view.status === "done" ? view : null;
    });
    expect(receipt).toMatchObject({ status: "done" });
    await server.kill();
    checkpointD1();
    expect(existsSync(server.stateDirectory)).toBe(true);
    expect(findings()).toEqual([]);
  });
});
