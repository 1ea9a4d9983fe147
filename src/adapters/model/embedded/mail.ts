/** A mail that a sentence asks for, in the sentence's own words: rules invent none. */
import type { JsonObject } from "#shared/json.ts";

const ADDRESS = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/;
const ASKS = /\b(?:e-?mail|mail|send|write|ask|tell|invite|remind)\b/i;
/** What stands between the address and what is to be said. */
const LEAD =
  /^[\s,:;.–-]*(?:(?:an?\s+|the\s+)?(?:e-?mail|message|note)\s+)?(?:(?:that|which)\s+says|saying|to\s+say|and\s+(?:say|ask|tell)(?:\s+(?:her|him|them))?|with|about|that)?\s*/i;
/** What stands before an address and is no part of the words. */
const VERBS =
  /^\W*(?:please\s+|can you\s+|could you\s+)*(?:e-?mail|mail|send|write|ask|tell|invite|remind)\s+/i;
const TITLE_WORDS = 6;
const MAX_TITLE = 120;

export function readMail(text: string): JsonObject | null {
  const found = ADDRESS.exec(text);
  if (found === null || !ASKS.test(text)) return null;
  const [to] = found;
  const after = text.slice(found.index + to.length).replace(LEAD, "");
  const before = text
    .slice(0, found.index)
    .replace(VERBS, "")
    .replace(/\s*\bto\s*$/i, "");
  const said = /[\p{L}\p{N}]/u.test(after) ? after : before;
  const body = toSentence(
    said.replace(/^(?:an?\s+|the\s+)?(?:e-?mail|message|note)\s*$/i, "Hello"),
  );
  return { to, subject: toTitle(body), body };
}

function toSentence(said: string): string {
  const text = said.trim().replace(/^["“'](.*)["”']$/s, "$1");
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(capital) ? capital : `${capital || "Hello"}.`;
}

function toTitle(body: string): string {
  const words = body.split(/\s+/).slice(0, TITLE_WORDS).join(" ");
  return words.slice(0, MAX_TITLE).replace(/[.,;:!?]+$/, "");
}
