/**
 * defineClientTool: a tool that the server declares and the client carries out: it knows where the user is, or what is
 * on the screen. The call waits, durably, for the one result that a client sends (P25).
 *
 * `read`: what happens here is that a recorded answer is handed on. Whether the client acted is the client's to know.
 */
import { z } from "zod";
import { AppError } from "#shared/errors.ts";
import type { JsonObject } from "#shared/json.ts";
import type { ToolLimits } from "#ports/tool.ts";
import { defineTool, type TypedTool } from "./define-tool.ts";

export interface ClientToolSpec<S extends z.ZodObject, Name extends string = string> {
  readonly name: Name;
  /** For the model: what it does, when to use it, what it answers. */
  readonly description: string;
  readonly version: string;
  readonly input: S;
  /** What the client's result has to fit; anything by default. */
  readonly output?: z.ZodType;
  readonly limits?: Partial<ToolLimits>;
}

export function defineClientTool<S extends z.ZodObject, const Name extends string>(
  spec: ClientToolSpec<S, Name>,
): TypedTool<Name, z.output<S>> {
  const { name, description, version, input, output, limits } = spec;
  // What zod writes is JSON by definition.
  const answerSchema = (output === undefined ? {} : z.toJSONSchema(output)) as JsonObject;
  return defineTool({
    name,
    description,
    version,
    input,
    effect: "read",
    approval: "question",
    question: () => ({ text: `${name}: ${description}`, answerSchema }),
    execute: (_args, { approval }) => {
      if (approval === null) throw new AppError("internal", "No client was asked.");
      return approval.answer;
    },
    ...(limits === undefined ? {} : { limits }),
  });
}
