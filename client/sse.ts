/**
 * Server-sent events of one body, by the rules of the HTML standard, with lines that end in LF or CRLF. Comments keep a
 * connection alive and are no event.
 */
export interface SseEvent {
  readonly id: string | null;
  readonly event: string;
  readonly data: string;
}

/** Text in chunks, cut anywhere, to whole events. */
export class SseParser {
  #rest = "";
  /** Up to where `#rest` holds no line's end. */
  #scanned = 0;
  #id: string | null = null;
  #event = "";
  #data: string[] = [];

  *push(chunk: string): Generator<SseEvent, void, undefined> {
    const text = this.#rest + chunk;
    let start = 0;
    for (let end = text.indexOf("\n", this.#scanned); end >= 0; end = text.indexOf("\n", start)) {
      const line = text.slice(start, text[end - 1] === "\r" && end > start ? end - 1 : end);
      start = end + 1;
      const found = line === "" ? this.#flush() : this.#field(line);
      if (found !== null) yield found;
    }
    this.#rest = text.slice(start);
    this.#scanned = this.#rest.length;
  }

  #field(line: string): null {
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id") this.#id = value;
    return null;
  }

  #flush(): SseEvent | null {
    const [id, event, data] = [this.#id, this.#event, this.#data];
    this.#id = null;
    this.#event = "";
    this.#data = [];
    if (data.length === 0) return null;
    return { id, event: event === "" ? "message" : event, data: data.join("\n") };
  }
}
