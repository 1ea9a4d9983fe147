/** The public address that events come in by: no credential but the sender's signature (P130). */
import type { Context, Hono } from "hono";
import { HookIntake, MAX_HOOK_BYTES, type HookIntakeDeps } from "#auth/hook-intake.ts";
import { readBytes } from "#protocols/rest/body.ts";
import { refuse, type RestEnv } from "#protocols/rest/context.ts";

const LIMIT = { maxBytes: MAX_HOOK_BYTES, code: "body_too_large" } as const;

export function mountHooks(app: Hono<RestEnv>, deps: HookIntakeDeps): void {
  const intake = new HookIntake(deps);
  app.post("/v1/hooks/:hook", async (c: Context<RestEnv>) => {
    c.set("route", "/v1/hooks/{hook}");
    const body = await readBytes(c.req.raw, LIMIT);
    if (!body.ok) return refuse(c, body.error);
    const header = (name: string): string | null => c.req.header(name) ?? null;
    const heard = await intake.receive(c.req.param("hook") ?? "", { header, body: body.value });
    if (!heard.ok) return refuse(c, heard.error);
    const { value } = heard;
    return value.type === "challenge"
      ? c.text(value.text)
      : c.json({ status: value.type }, value.type === "accepted" ? 202 : 200);
  });
}
