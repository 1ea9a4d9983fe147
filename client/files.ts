/** The workspace of a thread. */
import type { CallOptions, Http, WriteOptions } from "./http.ts";
import type { Receipt, WorkspaceFile } from "./types.ts";

export class FilesClient {
  readonly #http: Http;
  readonly #path: string;

  constructor(http: Http, threadPath: string) {
    this.#http = http;
    this.#path = `${threadPath}/files`;
  }

  async list(options: CallOptions & { readonly prefix?: string } = {}) {
    const { prefix, ...call } = options;
    const request = { ...call, query: { prefix } };
    const found = await this.#http.json<{ items: readonly WorkspaceFile[] }>(this.#path, request);
    return found.items;
  }

  async write(
    path: string,
    content: Blob | Uint8Array | string,
    options: WriteOptions = {},
  ): Promise<WorkspaceFile> {
    const request = { ...options, method: "PUT", bytes: content } as const;
    return (await this.#http.json<{ file: WorkspaceFile }>(this.#at(path), request)).file;
  }

  /** As it was sent: `await blob.text()` for text. */
  async read(path: string, options: CallOptions = {}): Promise<Blob> {
    return (await this.#http.send(this.#at(path), options)).blob();
  }

  delete(path: string, options: WriteOptions = {}): Promise<Receipt> {
    return this.#http.json(this.#at(path), { ...options, method: "DELETE" });
  }

  #at(path: string): string {
    return `${this.#path}/${path.split("/").map(encodeURIComponent).join("/")}`;
  }
}
