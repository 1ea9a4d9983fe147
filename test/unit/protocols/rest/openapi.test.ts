/** The OpenAPI document: generated, complete, resolvable, and checked in without going stale. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTestApp } from "#test/support/test-app.ts";

const FILE = join(import.meta.dirname, "../../../../docs/openapi.json");

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly schema: { readonly type?: string };
  }[];
  readonly requestBody?: { readonly content: Record<string, unknown> };
  readonly responses: Record<string, unknown>;
  readonly security: readonly Record<string, readonly string[]>[];
}
interface Document {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, unknown> };
}

const { app, call } = createTestApp();
const text = JSON.stringify(await (await app.request("/v1/openapi.json")).json(), null, 2);
const document = JSON.parse(text) as Document;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

describe("OpenAPI document", () => {
  it("[P5] docs/openapi.json is what the schemas say (UPDATE=1 writes it)", () => {
    if (process.env["UPDATE"] === "1") writeFileSync(FILE, `${text}\n`);
    expect(readFileSync(FILE, "utf8")).toBe(`${text}\n`);
  });

  it("[P5] describes exactly the routes that are served", () => {
    const served = app.routes
      .filter(
        ({ method, path }) =>
          method !== "ALL" &&
          path.startsWith("/v1/") &&
          !/\/(openapi\.json|reference(\.js)?)$/.test(path),
      )
      .map(
        ({ method, path }) =>
          `${method.toLowerCase()} ${path.replace(/\/\*$/, "/:path").replace(/^\/v1/, "")}`,
      );
    const described = operations.map(
      ({ method, path }) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`,
    );
    expect(described.toSorted()).toEqual(served.toSorted());
    expect(described.length).toBeGreaterThan(20);
  });

  it("[P5] every reference resolves and every component is used", () => {
    const refs = new Set(
      [...text.matchAll(/"\$ref": "#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name),
    );
    expect([...refs].toSorted()).toEqual(Object.keys(document.components.schemas).toSorted());
  });

  it("[P5] every operation has a unique id, its path parameters, a scope and a described failure", () => {
    expect(document.openapi).toBe("3.1.0");
    expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(
      operations.length,
    );
    for (const { path, operation } of operations) {
      const declared = (operation.parameters ?? [])
        .filter((each) => each.in === "path")
        .map(({ name }) => name);
      expect(declared.toSorted(), path).toEqual(
        [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).toSorted(),
      );
      expect(operation.responses, path).toHaveProperty("default");
      // The one way in that needs no credential of ours: its sender signs.
      const credentials = operation.operationId === "receiveEvent" ? 0 : 1;
      expect(operation.security, path).toHaveLength(credentials);
      if (credentials > 0) expect(operation.security[0]?.["bearer"], path).toHaveLength(1);
    }
  });

  it("[P5] the document's own examples of bodies pass validation, and an unknown field is excluded by it too", async () => {
    const body = document.components.schemas["SendMessage"] as Record<string, unknown>;
    expect(body).toMatchObject({ additionalProperties: false, required: ["text"] });
    const example = (body["properties"] as Record<string, { example?: string }>)["text"]?.example;
    const response = await call("POST", "/v1/agents/analyst/threads/t1/messages", {
      json: { text: example },
    });
    expect(response.status).toBe(202);
  });

  it("[P5] the responses of a working thread fit what the document promises", async () => {
    const thread = "/v1/agents/analyst/threads/t9";
    await call("POST", `${thread}/messages`, { json: { text: "x" } });
    await call("PUT", `${thread}/files/a.txt`, { body: "x" });
    const required = (name: string) =>
      (document.components.schemas[name] as { required: string[] }).required.toSorted();
    const read = async (path: string) =>
      (await call("GET", path)).json<{ readonly items?: readonly object[] }>();
    const keysOf = async (path: string) => Object.keys(await read(path)).toSorted();
    const itemKeysOf = async (path: string) =>
      Object.keys((await read(path)).items?.[0] ?? {}).toSorted();
    expect(await keysOf(thread)).toEqual(required("Thread"));
    expect(await keysOf(`${thread}/runs/run_1`)).toEqual(required("Run"));
    expect(await itemKeysOf(`${thread}/messages`)).toEqual(required("Message"));
    expect(await itemKeysOf(`${thread}/files`)).toEqual(required("File"));
    expect(await itemKeysOf("/v1/threads")).toEqual(required("ThreadListItem"));
    expect(await keysOf("/v1/agents/analyst")).toEqual(required("Agent"));
    expect(await keysOf("/v1/agents/analyst/threads/none")).toEqual(required("Problem"));
  });
});

describe("public pages", () => {
  it("[P5] the reference page loads only files of this origin and holds no inline script", async () => {
    const response = await app.request("/v1/reference");
    const html = await response.text();
    expect(response.headers.get("content-type")).toMatch("text/html");
    expect(html).not.toMatch(/<script(?![^>]* src=)|javascript:|https?:\/\//);
    expect([...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url)).toEqual([
      "/swagger/swagger-ui.css",
      "/swagger/swagger-ui-bundle.js",
      "/v1/reference.js",
    ]);
    const script = await app.request("/v1/reference.js");
    expect(script.headers.get("content-type")).toMatch("text/javascript");
    expect(await script.text()).toContain('url: "/v1/openapi.json"');
  });

  it("[P5] the landing page needs no key and links only what is there", async () => {
    const html = await (await app.request("/")).text();
    for (const [, href] of html.matchAll(/href="([^"]+)"/g)) {
      expect([href, (await app.request(href ?? "")).status]).toEqual([href, 200]);
    }
  });
});
