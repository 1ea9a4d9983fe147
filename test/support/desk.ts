/** A system outside as tools of a Worker reach it: one JSON request to `/desk` of test/support/outside.ts. */
import { AppError } from "#shared/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";

/** Answers the `value` of the reply; a `refused` becomes an error result of the tool. */
export async function askDesk(url: string, body: JsonObject): Promise<Json> {
  const response = await fetch(`${url}/desk`, { method: "POST", body: JSON.stringify(body) });
  const reply = await response.json<Json>();
  if (!isJsonObject(reply)) throw new Error("the desk answers no JSON object");
  if (typeof reply["refused"] === "string") throw new AppError("tool_failed", reply["refused"]);
  return reply["value"] ?? null;
}
