/** The page that asks a person whether an app may act for them. No script; everything of the app is escaped (P88). */
import type { ConsentPage } from "#ports/oauth-server.ts";

const MEANING: { readonly [scope: string]: string } = {
  "threads:read": "read your conversations with the agent",
  "threads:write": "start conversations, send messages and cancel work",
  "files:read": "read files of your conversations",
  "files:write": "write files of your conversations",
  "approvals:decide": "decide approvals of others in your organisation",
};

/** A form may lead to the app's own address and nowhere else. */
export function consentCsp(redirectOrigin: string): string {
  return (
    `default-src 'none'; style-src 'unsafe-inline'; form-action 'self' ${redirectOrigin}; ` +
    "base-uri 'none'; frame-ancestors 'none'"
  );
}

export const MESSAGE_CSP =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const STYLE =
  "body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}" +
  "fieldset{border:1px solid #767676;margin:1rem 0}input[type=password]{width:100%;font:inherit;padding:.4rem;box-sizing:border-box}" +
  "button{font:inherit;padding:.5rem 1rem;margin-right:.5rem}.warn{border-left:.25rem solid #8a4b00;padding-left:.75rem}";

export function consentHtml({ facts, handle }: ConsentPage, scopes: readonly string[]): string {
  const name = escape(facts.clientName);
  const origin =
    facts.clientDomain === null
      ? "It registered itself; nobody has verified its name."
      : `It is published by <strong>${escape(facts.clientDomain)}</strong>.`;
  const local = facts.redirectIsLocal
    ? '<p class="warn">Access is sent to an app on your own computer. Go on only if you have just begun to sign in from it.</p>'
    : "";
  const agent = facts.resource === null ? "an agent" : `<strong>${escape(facts.resource)}</strong>`;
  return document(
    `Connect ${name}`,
    `<h1>May ${name} use ${agent} for you?</h1>
<p>${origin} Access is sent to <strong>${escape(facts.redirectHost)}</strong>.</p>
${local}
<form method="post" action="/oauth/authorize">
<input type="hidden" name="handle" value="${escape(handle)}">
<input type="hidden" name="resource" value="${escape(facts.resource ?? "")}">
<fieldset><legend>What it may do</legend>
${scopes.map(toCheckbox).join("\n")}
</fieldset>
<p><label for="credential">Your key or token, to prove who you are</label>
<input id="credential" name="credential" type="password" autocomplete="off" aria-describedby="credential-note">
<span id="credential-note">It is checked once and not kept. The app never sees it.</span></p>
<p><button name="decision" value="approve">Allow</button><button name="decision" value="deny">Deny</button></p>
</form>`,
  );
}

export function messageHtml(title: string, message: string): string {
  return document(escape(title), `<h1>${escape(title)}</h1>\n<p>${escape(message)}</p>`);
}

function toCheckbox(scope: string): string {
  const id = `scope-${escape(scope)}`;
  const meaning = escape(MEANING[scope] ?? scope);
  return `<div><input type="checkbox" id="${id}" name="scope" value="${escape(scope)}" checked> <label for="${id}">${meaning}</label></div>`;
}

function document(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><style>${STYLE}</style></head>
<body><main>
${body}
</main></body>
</html>
`;
}

function escape(value: string): string {
  return value.replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
