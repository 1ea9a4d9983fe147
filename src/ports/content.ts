/**
 * Content: what a tool gives besides text, and what prompts and resources of an agent are made of.
 *
 * PERSISTED CONTRACT inside `tool.finished` (kernel/events.ts). Bytes are base64.
 */
import type { Json } from "#shared/json.ts";

export type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly data: string; readonly mimeType: string }
  | { readonly type: "resource"; readonly resource: ResourceContent }
  | {
      readonly type: "resource_link";
      readonly uri: string;
      readonly name: string;
      readonly mimeType?: string;
    };
/** Exactly one of `text` and `blob`. */
export interface ResourceContent {
  readonly uri: string;
  readonly mimeType: string;
  readonly text?: string;
  readonly blob?: string;
}

/** What a tool returns to give content parts: the model reads their text, a client gets them as they are. */
export class ToolContent {
  readonly parts: readonly ContentPart[];

  constructor(parts: readonly ContentPart[]) {
    this.parts = parts;
  }

  /** For the model: texts as they are, and a line for everything else, never its bytes. */
  toText(): string {
    return this.parts.map(describe).join("\n");
  }

  /** Where only JSON can go, such as a tool that code calls. */
  toJSON(): Json {
    return this.toText();
  }
}

function describe(part: ContentPart): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "image":
    case "audio":
      return `[${part.type} ${part.mimeType}, ${Math.floor((part.data.length * 3) / 4)} bytes]`;
    case "resource":
      return part.resource.text ?? `[resource ${part.resource.uri}, ${part.resource.mimeType}]`;
    case "resource_link":
      return `[${part.name}: ${part.uri}]`;
  }
}
