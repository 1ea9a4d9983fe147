import { describe, expect, it } from "vitest";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { THREAD, createTestApp, problemOf } from "#test/support/test-app.ts";

const FILES = `${THREAD}/files`;
const MIB = 1024 * 1024;

async function withFile(content: BodyInit = "0123456789", name = "a.txt") {
  const test = createTestApp();
  const written = await test.call("PUT", `${FILES}/${name}`, { body: content });
  expect(written.status).toBe(200);
  return {
    ...test,
    etag: written.headers.get("etag") ?? "",
    read: (headers = {}) => test.call("GET", `${FILES}/${name}`, { headers }),
  };
}

describe("files", () => {
  it("[P8] come back byte for byte, with their digest", async () => {
    const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => (index * 31) % 256);
    const { read, etag } = await withFile(bytes, "raw.bin");
    const response = await read();
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes);
    expect(response.headers.get("etag")).toBe(etag);
    expect(response.headers.get("content-type")).toBe("application/octet-stream");
  });

  it("[P8] an empty file is a file", async () => {
    const { read } = await withFile("");
    const response = await read();
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });

  it("[P8] a large file is read slice by slice and is whole", async () => {
    const bytes = new Uint8Array(9 * MIB).map((_, index) => index % 251);
    const digest = (content: Uint8Array) => new NodeHasher().sha256(content);
    const { read, gateway } = await withFile(bytes, "big.bin");
    gateway.calls.length = 0;
    expect(digest(new Uint8Array(await (await read()).arrayBuffer()))).toBe(digest(bytes));
    expect(gateway.calls).toHaveLength(3);
  });

  it("[P8] a file that changes while it is sent breaks off instead of mixing two versions", async () => {
    const { read, gateway } = await withFile(new Uint8Array(9 * MIB).fill(1), "big.bin");
    gateway.rewriteAfterReads = 1;
    await expect((await read()).arrayBuffer()).rejects.toThrow("changed");
  });

  it.each([
    ["bytes=2-4", 206, "234", "bytes 2-4/10"],
    ["bytes=7-", 206, "789", "bytes 7-9/10"],
    ["bytes=-2", 206, "89", "bytes 8-9/10"],
    ["bytes=0-1,3-4", 200, "0123456789", null],
    ["lines=1-2", 200, "0123456789", null],
  ])("[P8] Range %s gives %d", async (range, status, text, contentRange) => {
    const { read } = await withFile();
    const response = await read({ range });
    expect([response.status, await response.text(), response.headers.get("content-range")]).toEqual(
      [status, text, contentRange],
    );
  });

  it("[P8] a range outside the file is 416 with its size, as a problem", async () => {
    const { read } = await withFile();
    const response = await read({ range: "bytes=10-" });
    expect([response.status, response.headers.get("content-range")]).toEqual([416, "bytes */10"]);
    expect(await problemOf(response)).toMatchObject({ code: "invalid_request", status: 416 });
  });

  it("[P8] If-Range takes the range only of the version it names; If-None-Match saves the transfer", async () => {
    const { read, etag } = await withFile();
    expect((await read({ range: "bytes=0-1", "if-range": etag })).status).toBe(206);
    expect((await read({ range: "bytes=0-1", "if-range": '"other"' })).status).toBe(200);
    const unchanged = await read({ "if-none-match": `"x", W/${etag}` });
    expect([unchanged.status, await unchanged.text()]).toEqual([304, ""]);
    expect((await read({ "if-none-match": '"x"' })).status).toBe(200);
  });

  it("[P4] HEAD tells the size and reads no content", async () => {
    const { call } = await withFile();
    const response = await call("HEAD", `${FILES}/a.txt`);
    expect([
      response.status,
      response.headers.get("content-length"),
      await response.text(),
    ]).toEqual([200, "10", ""]);
  });

  it.each([
    ["page.html", "text/html; charset=utf-8", "attachment"],
    ["image.SVG", "image/svg+xml", "attachment"],
    ["feed.xml", "application/xml", "attachment"],
    ["noextension", "application/octet-stream", "attachment"],
    ["report.md", "text/markdown; charset=utf-8", "inline"],
    ["photo.png", "image/png", "inline"],
  ])("[P8] %s is %s as %s, and no browser runs it", async (name, type, disposition) => {
    const { read } = await withFile("<script>alert(1)</script>", name);
    const { headers } = await read();
    expect(headers.get("content-type")).toBe(type);
    expect(headers.get("content-disposition")).toMatch(
      new RegExp(`^${disposition}; filename\\*=UTF-8''`),
    );
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
  });

  it("[P8] no file name breaks out of its header", async () => {
    const { call } = createTestApp();
    const name = encodeURIComponent(`a"; x='y'(1)*€.html`);
    await call("PUT", `${FILES}/${name}`, { body: "x" });
    const { headers } = await call("GET", `${FILES}/${name}`);
    expect(headers.get("content-disposition")).toBe(
      "attachment; filename*=UTF-8''a%22%3B%20x%3D%27y%27%281%29%2A%E2%82%AC.html",
    );
  });

  it.each([
    "..%2Fsecret",
    "a%2F..%2F..%2Fb",
    "..%5Csecret",
    "a%5Cb",
    "%2Fetc%2Fpasswd",
    "a%00b",
    "a%2F%2Fb",
    "a%2F.%2Fb",
    "C%3A%2Fx",
    "a%0Ab",
    "%ED%A0%80",
    "e%CC%81.txt",
    "a%2F",
    `${"a".repeat(513)}`,
    "%E0%A4%A",
    "...",
  ])("[T7] %s is refused as file_path_invalid and writes nothing", async (path) => {
    const { call, gateway } = createTestApp();
    await call("POST", `${THREAD}/messages`, { json: { text: "x" } });
    for (const method of ["GET", "PUT"]) {
      const response = await call(
        method,
        `${FILES}/${path}`,
        method === "PUT" ? { body: "x" } : {},
      );
      expect([method, response.status]).toEqual([method, 400]);
      expect(await problemOf(response)).toMatchObject({ code: "file_path_invalid" });
    }
    expect(gateway.threads.get("v1/acme/analyst/t1")?.files.size).toBe(0);
  });

  it.each(["../secret", "%2e%2e/secret", "%2E%2e/%2e./x", "./../../x"])(
    "[T7] %s climbs out of the files and never into another one",
    async (path) => {
      const { call, gateway } = createTestApp();
      const response = await call("PUT", `${FILES}/${path}`, { body: "x" });
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(gateway.calls.filter((each) => each.startsWith("writeFile"))).toEqual([]);
    },
  );

  it("[T8] more than the limit is refused while it arrives, and nothing is written", async () => {
    const { call, gateway } = createTestApp();
    const response = await call("PUT", `${FILES}/big.bin`, { body: new Uint8Array(32 * MIB) });
    expect(response.status).toBe(413);
    expect(await problemOf(response)).toMatchObject({ code: "file_too_large" });
    expect(gateway.calls).toEqual([]);
  });

  it("[Z7] a file may come before the first message, and starts the thread of its writer", async () => {
    const { call, mint, gateway, directory } = createTestApp();
    await call("PUT", `${FILES}/a.txt`, { as: await mint("u1"), body: "x" });
    expect(gateway.threads.get("v1/acme/analyst/t1")?.owner).toBe("u1");
    expect(directory.calls).toBe(1);
  });

  it("[P8] are listed by prefix and deleted once", async () => {
    const { call } = await withFile("x", "out/a.txt");
    const list = async (prefix: string) =>
      (await (await call("GET", `${FILES}?prefix=${prefix}`)).json<{ items: { path: string }[] }>())
        .items;
    expect((await list("out/")).map(({ path }) => path)).toEqual(["out/a.txt"]);
    expect(await list("in/")).toEqual([]);
    expect((await call("DELETE", `${FILES}/out/a.txt`)).status).toBe(200);
    expect((await call("DELETE", `${FILES}/out/a.txt`)).status).toBe(404);
  });
});
