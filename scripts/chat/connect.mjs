/**
 * The client as a terminal wants it: a server that is away is waited for, without end, because its work goes on when it
 * returns; that it is away, and back, is said once.
 */
import { Holdfast } from "../../client/client.ts";

/** A proxy in front of a server that is just restarting answers these. */
const AWAY = new Set([502, 503, 504]);
const RETRY = { attempts: Infinity, baseDelayMs: 250, maxDelayMs: 2_000 };

export function connect(options, renderer) {
  let away = false;
  const tell = (isAway) => {
    if (isAway && !away) renderer.note(`server is away at ${options.url()}, waiting ...`);
    if (!isAway && away) renderer.note("server is back");
    away = isAway;
  };
  const client = new Holdfast({
    url: options.url,
    key: options.key,
    retry: RETRY,
    fetch: async (url, init) => {
      try {
        const response = await fetch(url, init);
        tell(AWAY.has(response.status));
        return response;
      } catch (error) {
        if (!init.signal?.aborted) tell(true);
        throw error;
      }
    },
  });
  return client.agent(options.agent);
}
