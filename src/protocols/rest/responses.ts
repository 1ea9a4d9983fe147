/** Response entries of the OpenAPI document. */
import type { RouteConfig } from "@hono/zod-openapi";
import type { z } from "@hono/zod-openapi";

type Responses = RouteConfig["responses"];

export function json(
  status: 200 | 201 | 202,
  schema: z.ZodType,
  description = "Success.",
): Responses {
  return { [status]: { description, content: { "application/json": { schema } } } };
}

export function withEventStream(responses: Responses, status: 200): Responses {
  const entry = responses[status];
  const content = entry !== undefined && "content" in entry ? entry.content : {};
  return {
    ...responses,
    [status]: {
      description: "JSON, or with Accept: text/event-stream the live stream.",
      content: { ...content, "text/event-stream": { schema: { type: "string" } } },
    },
  };
}

export function binary(mediaType: string, description: string): Responses {
  return {
    200: {
      description,
      content: { [mediaType]: { schema: { type: "string", format: "binary" } } },
    },
  };
}
