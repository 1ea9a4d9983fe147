/** Addresses that may be called, in every spelling that a URL parser takes. */
import { describe, expect, test } from "vitest";
import { checkEgressUrl, describeRefusal, isPublicAddress } from "#shared/egress-address.ts";

const strict = { loopback: false };
const check = (text: string, rules = strict): string => {
  const checked = checkEgressUrl(text, rules);
  return checked.ok ? checked.value.href : checked.error;
};

describe("public addresses", () => {
  test.each([
    ["https://hooks.example.com/a?b=1#part", "https://hooks.example.com/a?b=1"],
    ["https://EXAMPLE.com.", "https://example.com./"],
    ["https://8.8.8.8:8443/x", "https://8.8.8.8:8443/x"],
    ["https://[2606:4700:4700::1111]/", "https://[2606:4700:4700::1111]/"],
    ["https://bücher.example.org/", "https://xn--bcher-kva.example.org/"],
  ])("%s", (text, href) => expect(check(text)).toBe(href));
});

describe("what is not called", () => {
  test.each([
    ["nothing", "not_a_url"],
    ["/relative", "not_a_url"],
    [`https://example.com/${"a".repeat(2_048)}`, "not_a_url"],
    ["http://example.com/", "scheme"],
    ["ftp://example.com/", "scheme"],
    ["file:///etc/passwd", "scheme"],
    ["gopher://127.0.0.1:25/", "scheme"],
    ["https://user:secret@example.com/", "credentials"],
    ["https://@127.0.0.1@example.com/", "credentials"],
    ["https://localhost/", "host"],
    ["https://LOCALHOST./", "host"],
    ["https://a.localhost/", "host"],
    ["https://metadata/", "host"],
    ["https://metadata.google.internal/computeMetadata/v1/", "host"],
    ["https://printer.local/", "host"],
    ["https://router.lan/", "host"],
    ["https://1.0.168.192.in-addr.arpa/", "host"],
    // Spellings of 127.0.0.1 and 169.254.169.254.
    ["https://127.0.0.1/", "address"],
    ["https://127.0.0.1./", "address"],
    ["https://127.1/", "address"],
    ["https://2130706433/", "address"],
    ["https://0x7f000001/", "address"],
    ["https://0x7f.1/", "address"],
    ["https://017700000001/", "address"],
    ["https://①②⑦.0.0.1/", "address"],
    ["https://%31%32%37.0.0.1/", "address"],
    ["https://0/", "address"],
    ["https://169.254.169.254/latest/meta-data/", "address"],
    ["https://2852039166/", "address"],
    ["https://0xA9FEA9FE/", "address"],
    ["https://100.100.100.200/", "address"],
    ["https://168.63.129.16/", "address"],
    ["https://192.0.0.192/", "address"],
    ["https://10.1.2.3/", "address"],
    ["https://172.31.255.255/", "address"],
    ["https://192.168.0.1/", "address"],
    ["https://224.0.0.1/", "address"],
    ["https://255.255.255.255/", "address"],
    ["https://[::1]/", "address"],
    ["https://[::]/", "address"],
    ["https://[::ffff:127.0.0.1]/", "address"],
    ["https://[::ffff:7f00:1]/", "address"],
    ["https://[::127.0.0.1]/", "address"],
    ["https://[64:ff9b::169.254.169.254]/", "address"],
    ["https://[64:ff9b:1::1]/", "address"],
    ["https://[fe80::1]/", "address"],
    ["https://[fd00:ec2::254]/", "address"],
    ["https://[2002:7f00:1::]/", "address"],
    ["https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "address"],
    ["https://[ff02::1]/", "address"],
  ])("%s", (text, refusal) => expect(check(text)).toBe(refusal));

  test("a refusal says what to do and quotes nothing", () => {
    expect(describeRefusal("address")).toContain("public internet");
    expect(describeRefusal("scheme")).toContain("https://");
  });
});

describe("development", () => {
  const dev = { loopback: true };
  test.each([
    "http://127.0.0.1:9999/",
    "http://localhost:1/",
    "https://[::1]:2/",
    "http://2130706433/",
  ])("%s", (text) => expect(check(text, dev)).toMatch(/^https?:/));
  test.each([
    ["http://192.168.0.1/", "scheme"],
    ["https://169.254.169.254/", "address"],
    ["http://example.com/", "scheme"],
    ["http://user@127.0.0.1/", "credentials"],
    ["ftp://127.0.0.1/", "scheme"],
    ["http://127.0.0.1.nip.io/", "scheme"],
  ])("%s is refused as ever", (text, refusal) => expect(check(text, dev)).toBe(refusal));
});

test.each([
  "",
  "example.com",
  "1.2.3",
  "1.2.3.256",
  "::ffff:1.2.3.4",
  ":::",
  "1::2::3",
  "2606:4700",
])("%s is no public address", (text) => expect(isPublicAddress(text)).toBe(false));
