/** Entry of the comparison: three contenders in one isolate, each at `/agents/{contender}/{thread}`. */
import { SOCKET_PASS_HEADER, type SocketPass } from "../../src/ports/socket-pass.ts";
import { routeAgentRequest } from "agents";
import { type Caller, type ThreadStub } from "../../src/ports/thread-gateway.ts";
import { toUiMessages } from "../../src/protocols/websocket/ui-messages.ts";
import { SCOPES } from "../../src/auth/principal.ts";
import type { TenantId } from "../../src/shared/ids.ts";
import { startCounting, stopCounting } from "./count-rows.ts";

export { HoldfastPeer } from "./holdfast-object.ts";
export { ChatPeer, ThinkPeer } from "./peer-objects.mjs";

interface Peer {
  prefill(messages: readonly unknown[]): Promise<void>;
  shown(): Promise<readonly unknown[]>;
}
interface PeersEnv extends Cloudflare.Env {
  readonly HoldfastPeer: DurableObjectNamespace;
  readonly ChatPeer: DurableObjectNamespace;
  readonly ThinkPeer: DurableObjectNamespace;
}

const CALLER: Caller = {
  tenant: "bench" as TenantId,
  kind: "service",
  id: "bench",
  // As the gateway spells `admin` out: a socket is asked for each of them again (P37).
  scopes: SCOPES,
};

const PASS: SocketPass = {
  type: "caller",
  caller: CALLER,
  credential: { keyId: "key_bench", expiresAt: null },
};

function threadOf(env: PeersEnv, thread: string): ThreadStub {
  const id = env.HoldfastPeer.idFromName(`v1/bench/holdfast/${thread}`);
  return env.HoldfastPeer.get(id) as unknown as ThreadStub;
}

function peerOf(env: PeersEnv, contender: string, thread: string): Peer {
  const namespace = contender === "chat-peer" ? env.ChatPeer : env.ThinkPeer;
  return namespace.get(namespace.idFromName(thread)) as unknown as Peer;
}

/** As the product's gateway does it, without its key: who may come in is no part of what is measured. */
async function connect(request: Request, env: PeersEnv, thread: string): Promise<Response> {
  const headers = new Headers(request.headers);
  headers.set(SOCKET_PASS_HEADER, JSON.stringify(PASS));
  const stub = threadOf(env, thread);
  const open = () => stub.fetch(new Request("https://thread.invalid/socket", { headers }));
  const first = await open();
  if (first.status === 101) return first;
  await stub.create(CALLER, null, null);
  return open();
}

async function shown(env: PeersEnv, contender: string, thread: string): Promise<Response> {
  if (contender !== "holdfast") return Response.json(await peerOf(env, contender, thread).shown());
  const snapshot = await threadOf(env, thread).chatSnapshot(CALLER);
  if (!snapshot.ok) return Response.json(snapshot.error, { status: 500 });
  return Response.json(toUiMessages(snapshot.value.views, snapshot.value.open));
}

async function control(request: Request, env: PeersEnv, path: readonly string[]) {
  const [what = "", contender = "", thread = ""] = path;
  switch (what) {
    case "up":
      return new Response("up");
    case "count":
      startCounting();
      return new Response("counting");
    case "counted":
      return Response.json(stopCounting());
    case "shown":
      return shown(env, contender, thread);
    case "prefill":
      await peerOf(env, contender, thread).prefill(await request.json());
      return new Response("done");
    default:
      return null;
  }
}

export default {
  async fetch(request: Request, env: PeersEnv): Promise<Response> {
    const path = new URL(request.url).pathname.split("/").slice(1);
    if (path[0] === "agents" && path[1] === "holdfast") return connect(request, env, path[2] ?? "");
    const answer = (await control(request, env, path)) ?? (await routeAgentRequest(request, env));
    return answer ?? new Response("no such bench", { status: 404 });
  },
} satisfies ExportedHandler<PeersEnv>;
