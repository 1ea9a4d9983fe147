/**
 * Which addresses the service may call on a caller's word: webhooks, push notifications, peers. Pure, so that it is asked
 * when an address is given and again before each delivery.
 *
 * E1 https to a public host, and nothing else: no address of a private, link-local, loopback, metadata or otherwise special
 *    network, in any spelling, and no name that only such a network resolves.
 * E2 With `loopback` (a setting of development) also http and https to this machine itself.
 * A name may still resolve to such an address: who resolves asks `isPublicAddress` of each answer, and no sender follows
 * redirects.
 */
import { err, ok, type Result } from "./result.ts";

export interface EgressRules {
  /** Allows this machine itself, over http too. Never set where strangers may name addresses. */
  readonly loopback: boolean;
}
export type EgressRefusal = "not_a_url" | "scheme" | "credentials" | "host" | "address";

const MAX_URL_CHARS = 2_048;
/** Suffixes that public DNS does not hold (RFC 6761, 6762, 8375, 9476) and common ones of private networks. */
const INNER_NAMES = new Set(
  "localhost local localdomain internal intranet private corp home lan arpa onion alt test invalid".split(
    " ",
  ),
);

/** The URL as it is to be called, without its fragment, or why it is not called. */
export function checkEgressUrl(text: string, rules: EgressRules): Result<URL, EgressRefusal> {
  if (text.length > MAX_URL_CHARS || !URL.canParse(text)) return err("not_a_url");
  const url = new URL(text);
  url.hash = "";
  if (url.username !== "" || url.password !== "") return err("credentials");
  // The parser has made one spelling of decimal, octal, hexadecimal, short, full-width and escaped hosts.
  const host = url.hostname.toLowerCase().replace(/\.$/, "");
  if (rules.loopback && isLoopback(host) && /^https?:$/.test(url.protocol)) return ok(url);
  if (url.protocol !== "https:") return err("scheme");
  if (isAddress(host)) return isPublicAddress(host) ? ok(url) : err("address");
  return isPublicName(host) ? ok(url) : err("host");
}

/** In words for whoever gave the address; nothing of it is quoted. */
export function describeRefusal(refusal: EgressRefusal): string {
  switch (refusal) {
    case "not_a_url":
      return `The address must be an absolute URL of at most ${MAX_URL_CHARS} characters.`;
    case "scheme":
      return "The address must begin with https://.";
    case "credentials":
      return "The address must not hold a user name or password; give credentials in their own field.";
    case "host":
      return "The address must name a public host.";
    case "address":
      return "The address must be on the public internet; private, local and reserved ones are not called.";
  }
}

/** Of an IPv4 or IPv6 address as text, with or without brackets. False for anything else. */
export function isPublicAddress(text: string): boolean {
  const four = parseIpv4(text);
  if (four !== null) return !IPV4_SPECIAL.some((block) => isWithin(four, block));
  const six = parseIpv6(text.replace(/^\[(.*)\]$/, "$1"));
  if (six === null) return false;
  // Only global unicast is handed out; what embeds an IPv4 address lies outside it, or is named below.
  return isWithin(six, GLOBAL_UNICAST) && !IPV6_SPECIAL.some((block) => isWithin(six, block));
}

function isLoopback(host: string): boolean {
  const four = parseIpv4(host);
  return (
    host === "localhost" ||
    host.endsWith(".localhost") ||
    host === "[::1]" ||
    (four !== null && four[0] === 127)
  );
}

function isAddress(host: string): boolean {
  return host.startsWith("[") || parseIpv4(host) !== null;
}

/** A name without a dot is one of the network the service runs in. */
function isPublicName(host: string): boolean {
  const labels = host.split(".");
  return (
    labels.length > 1 &&
    !labels.some((label) => label === "") &&
    !INNER_NAMES.has(labels.at(-1) ?? "")
  );
}

interface Block {
  readonly bytes: readonly number[];
  readonly bits: number;
}

function isWithin(address: readonly number[], { bytes, bits }: Block): boolean {
  return bytes.every((byte, index) => {
    const free = Math.max(0, (index + 1) * 8 - bits);
    if (free >= 8) return true;
    return ((address[index] ?? 0) ^ byte) >> free === 0;
  });
}

/** Four decimal parts, which is what the URL parser makes of any spelling. */
function parseIpv4(text: string): readonly number[] | null {
  if (!/^\d{1,3}(\.\d{1,3}){3}$/.test(text)) return null;
  const bytes = text.split(".").map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : null;
}

function parseIpv6(text: string): readonly number[] | null {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const four = dotted === null ? null : parseIpv4(dotted[2] ?? "");
  if (dotted !== null && four === null) return null;
  const plain =
    dotted === null || four === null
      ? text
      : `${dotted[1]}${four
          .map((byte) => byte.toString(16).padStart(2, "0"))
          .join("")
          .replace(/^(.{4})/, "$1:")}`;
  const halves = plain.split("::");
  if (halves.length > 2) return null;
  const [head = [], tail = []] = halves.map((half) => (half === "" ? [] : half.split(":")));
  const gap = 8 - head.length - tail.length;
  if (halves.length === 1 ? gap !== 0 : gap < 1) return null;
  const groups = [...head, ...Array.from({ length: gap }, () => "0"), ...tail];
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return null;
  return groups.flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 255];
  });
}

function block(text: string): Block {
  const [address = "", bits = ""] = text.split("/");
  return { bytes: parseIpv4(address) ?? parseIpv6(address) ?? [], bits: Number(bits) };
}

/** The IANA registry of special IPv4 addresses, multicast, and the one public address that a cloud's hosts answer at. */
const IPV4_SPECIAL = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "168.63.129.16/32",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
].map(block);
const GLOBAL_UNICAST = block("2000::/3");
/** Protocol assignments with Teredo, documentation, 6to4, which embeds an IPv4 address, and documentation again. */
const IPV6_SPECIAL = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"].map(block);
