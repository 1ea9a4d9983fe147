/** What a request to the token endpoint says of its client and resource, read beside the package that judges it. */
import { fromBase64Url } from "#shared/base64.ts";
import { isJsonObject } from "#shared/json.ts";

/** The body can be read once; `again` is the request as it came. */
export async function readTokenForm(
  request: Request,
): Promise<{ readonly form: URLSearchParams; readonly again: Request }> {
  const body = await request.text();
  const { method, headers, url } = request;
  return { form: new URLSearchParams(body), again: new Request(url, { method, headers, body }) };
}

/** Every client id that the request could be understood to name. */
export function namedClients(form: URLSearchParams, headers: Headers): readonly string[] {
  const basic = /^basic +(\S+)$/i.exec(headers.get("authorization")?.trim() ?? "")?.[1];
  const claims = form.getAll("client_assertion").map((assertion) => assertion.split(".")[1] ?? "");
  return [
    ...form.getAll("client_id"),
    ...(basic === undefined ? [] : [toBasicUser(basic)]),
    ...claims.flatMap(toIssuers),
  ];
}

function toBasicUser(encoded: string): string {
  const [user = ""] = toText(encoded).split(":");
  try {
    return decodeURIComponent(user.replaceAll("+", " "));
  } catch {
    return user;
  }
}

function toIssuers(encoded: string): readonly string[] {
  try {
    const claims: unknown = JSON.parse(toText(encoded));
    if (!isJsonObject(claims)) return [];
    return [claims["iss"], claims["sub"]].filter((claim) => typeof claim === "string");
  } catch {
    return [];
  }
}

function toText(encoded: string): string {
  const bytes = fromBase64Url(encoded.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, ""));
  return bytes === null ? "" : new TextDecoder().decode(bytes);
}
