#!/usr/bin/env python3
"""Verifies exports of Holdfast (holdfast-export/1, holdfast-log/1) with Python's standard library only.

Usage: verify_log.py [--keys KEYS.json] EXPORT.jsonl...

Prints one line per export: `ok` when every event fits its hash, its place, its predecessor and its payload, the chains
end where the file says, and every signed head holds; otherwise the first bad event and why. Exits 0 when all are sound,
1 when one is not, 2 when one cannot be read. An erased payload (salt and payload null) is no fault. The hashes cover the
exact bytes of the export.

KEYS.json is a JWKS, or one JWK, that you trust. Without it the keys of the file itself are used (`keys=file`): that shows
damage, and no forgery by whoever wrote the file. A holdfast-log/1 file has no signed heads at all.

src/audit/ holds the same checks in TypeScript; a change here is a change there.
"""

import base64
import hashlib
import itertools
import json
import re
import sys

LOG_FORMAT = "holdfast-log/1"
EXPORT_FORMAT = "holdfast-export/1"
GENESIS = "0" * 64
MAX_SAFE = 2**53 - 1
MAX_LINE_BYTES = 64 * 1024 * 1024
BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}\Z")
PRINTABLE = re.compile(r"[ -~]*\Z")
EVENT = re.compile(
    r'\{"hash":"([0-9a-f]{64})","header":"([ !#-\[\]-~]*(?:\\"[ !#-\[\]-~]*)*)"'
    r',"payload":(null|"[A-Za-z0-9+/=]*"),"salt":(null|"[A-Za-z0-9+/=]*"),"seq":(0|[1-9][0-9]{0,15})\}\Z'
)


class Fault(Exception):
    def __init__(self, seq, reason):
        super().__init__(reason)
        self.seq = seq
        self.reason = reason
        self.log_id = None


# JSON and bytes, strictly: what is read has one spelling.


def refuse(name):
    raise ValueError("not JSON here: " + name)


def parse_object(text, **options):
    try:
        value = json.loads(text, parse_constant=refuse, **options)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def canonical(value):
    """RFC 8785: keys by UTF-16 code unit, numbers as ECMAScript writes them, the shortest escapes."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(json.dumps(key, ensure_ascii=False) + ":" + canonical(value[key]) for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    if is_number(value):
        return number_text(value)
    return json.dumps(value, ensure_ascii=False)


def number_text(value):
    number = float(value)
    if number == 0:
        return "0"
    digits, exponent = ("%r" % abs(number)).lower(), 0
    if "e" in digits:
        digits, power = digits.split("e")
        exponent = int(power)
    whole, _, fraction = digits.partition(".")
    point = len(whole) + exponent
    digits = (whole + fraction).rstrip("0")
    point -= len(digits) - len(digits.lstrip("0"))
    digits = digits.lstrip("0")
    sign = "-" if number < 0 else ""
    if 0 < point <= 21:
        padded = digits.ljust(point, "0")
        return sign + padded[:point] + ("." + padded[point:] if len(padded) > point else "")
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    return "%s%s%se%+d" % (sign, digits[0], "." + digits[1:] if len(digits) > 1 else "", point - 1)


def well_formed(value):
    """Lone surrogates become U+FFFD, in keys and values."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, list):
        return [well_formed(item) for item in value]
    if isinstance(value, dict):
        return {well_formed(key): well_formed(item) for key, item in value.items()}
    return value


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_whole(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_SAFE


def is_text(value):
    return isinstance(value, str)


def is_name(value):
    return value is None or is_text(value)


def decode64(text):
    """None for anything but the one spelling of some bytes."""
    if len(text) % 4 != 0 or not BASE64.match(text):
        return None
    data = base64.b64decode(text)
    return data if base64.b64encode(data).decode("ascii") == text else None


def decode64url(text):
    if not is_text(text) or re.search(r"[+/=]", text):
        return None
    standard = text.replace("-", "+").replace("_", "/")
    return decode64(standard + "=" * (-len(standard) % 4))


def sha256(data):
    return hashlib.sha256(data).hexdigest()


# Ed25519 (RFC 8032), verification only.

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)
NEUTRAL = (0, 1, 1, 0)


def recover(y, sign):
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P != 0:
        x = x * ROOT % P
    if (x * x - square) % P != 0 or (x == 0 and sign == 1):
        return None
    return (P - x if x & 1 != sign else x, y)


def decompress(data):
    number = int.from_bytes(data, "little")
    y = number & ((1 << 255) - 1)
    point = recover(y, number >> 255)
    return None if point is None else (point[0], y, 1, point[0] * y % P)


def add(p, q):
    a = (p[1] - p[0]) * (q[1] - q[0]) % P
    b = (p[1] + p[0]) * (q[1] + q[0]) % P
    c = 2 * p[3] * q[3] * D % P
    d = 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def double(p):
    a, b = p[0] * p[0] % P, p[1] * p[1] % P
    c = 2 * p[2] * p[2] % P
    h = a + b
    e = h - (p[0] + p[1]) ** 2 % P
    g = a - b
    f = c + g
    return (e * f % P, g * h % P, f * g % P, e * h % P)


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE = decompress(BASE_Y.to_bytes(32, "little"))


def compress(p):
    inverse = pow(p[2], P - 2, P)
    x, y = p[0] * inverse % P, p[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def verify_signature(key, message, signature):
    if len(key) != 32 or len(signature) != 64:
        return False
    point = decompress(key)
    scalar = int.from_bytes(signature[32:], "little")
    if point is None or scalar >= L:
        return False
    challenge = hashlib.sha512(signature[:32] + key + message).digest()
    other = int.from_bytes(challenge, "little") % L
    minus = (P - point[0], point[1], 1, P - point[3])
    both = add(BASE, minus)
    result = NEUTRAL
    # Both products in one pass: s times the base minus h times the key.
    for bit in range(max(scalar.bit_length(), other.bit_length()) - 1, -1, -1):
        result = double(result)
        pair = (scalar >> bit & 1, other >> bit & 1)
        if pair != (0, 0):
            result = add(result, both if pair == (1, 1) else BASE if pair == (1, 0) else minus)
    return compress(result) == signature[:32]


# Keys.


def key_id(x):
    digest = hashlib.sha256(canonical({"crv": "Ed25519", "kty": "OKP", "x": x}).encode("ascii")).digest()
    return base64.urlsafe_b64encode(digest).decode("ascii").rstrip("=")


def parse_jwk(jwk):
    """(id, bytes, not before, not after) in milliseconds, or None."""
    if not isinstance(jwk, dict) or jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519":
        return None
    x = jwk.get("x")
    data = decode64url(x)
    if data is None or len(data) != 32 or jwk.get("kid", key_id(x)) != key_id(x):
        return None
    for name in ("nbf", "exp"):
        if name in jwk and not (is_whole(jwk[name]) and jwk[name] * 1000 <= MAX_SAFE):
            return None
    times = [jwk[name] * 1000 if name in jwk else None for name in ("nbf", "exp")]
    return (key_id(x), data, times[0], times[1])


def published(jwk):
    key = parse_jwk(jwk)
    if key is None:
        return None
    shape = {"alg": "Ed25519", "crv": "Ed25519", "kid": key[0], "kty": "OKP", "use": "sig", "x": jwk["x"]}
    shape.update({name: jwk[name] for name in ("nbf", "exp") if name in jwk})
    return key if canonical(shape) == canonical(jwk) else None


def read_keys(path):
    with open(path, encoding="utf-8") as file:
        value = json.load(file)
    entries = value["keys"] if isinstance(value, dict) and isinstance(value.get("keys"), list) else [value]
    keys = [parse_jwk(entry) for entry in entries]
    if None in keys or len({key[0] for key in keys}) != len(keys):
        raise ValueError("not a set of Ed25519 keys")
    return {key[0]: key for key in keys}


def check_signed(ring, record, message):
    key = ring.get(record["keyId"])
    if key is None:
        return "key_unknown"
    if (key[2] is not None and record["at"] < key[2]) or (key[3] is not None and record["at"] >= key[3]):
        return "key_not_valid"
    signature = decode64url(record["signature"])
    is_valid = signature is not None and verify_signature(key[1], canonical(message).encode("utf-8"), signature)
    return None if is_valid else "signature_invalid"


# One chain.


def parse_header(text):
    header = parse_object(text)
    payload = header.get("payload") if header is not None else None
    if not isinstance(payload, dict):
        return None
    texts = (header.get("logId"), header.get("prev"), payload.get("digest"))
    numbers = (header.get("seq"), payload.get("bytes"))
    if not all(is_text(value) for value in texts) or not all(is_number(value) for value in numbers):
        return None
    return header


def header_fits(header, digest):
    try:
        return sha256(header.encode("utf-8")) == digest
    except UnicodeEncodeError:
        return False


def check_event(event, last, log_id, owner=None):
    """True where its payload is erased."""
    seq, text, digest, salt, payload = event
    expected = last[0] + 1
    if seq != expected:
        raise Fault(expected, "seq_unexpected")
    if not header_fits(text, digest):
        raise Fault(expected, "hash_mismatch")
    header = parse_header(text)
    if header is None:
        raise Fault(expected, "header_invalid")
    if header["seq"] != seq:
        raise Fault(expected, "seq_mismatch")
    if header["logId"] != log_id:
        raise Fault(expected, "log_mismatch")
    if header["prev"] != last[1]:
        raise Fault(expected, "prev_mismatch")
    if owner is not None and not is_own(header, owner):
        raise Fault(expected, "log_mismatch")
    if salt is None and payload is None:
        return True
    if salt is None or payload is None:
        raise Fault(expected, "payload_incomplete")
    descriptor = header["payload"]
    if len(payload) != descriptor["bytes"] or sha256(salt + payload) != descriptor["digest"]:
        raise Fault(expected, "payload_mismatch")
    return False


def is_own(header, owner):
    """A log that is no thread's, such as a ledger, may speak of threads in its headers; its log id says whose it is."""
    return header.get("tenant") == owner[0] and (owner[2] is None or owner_of(header) == owner)


def owner_of(record):
    return tuple(record.get(name) for name in ("tenant", "agent", "thread"))


def check_head(last, head):
    if head[0] > last[0]:
        raise Fault(last[0] + 1, "head_mismatch")
    if head != last:
        raise Fault(last[0], "head_mismatch")


# holdfast-log/1.


def parse_log_head(value):
    if not isinstance(value, dict):
        return None
    seq, digest = value.get("seq"), value.get("hash")
    if not is_number(seq) or not float(seq).is_integer() or not is_text(digest):
        return None
    return int(seq), digest


def parse_log_event(line):
    fields = parse_object(line)
    if fields is None or "salt" not in fields or "payload" not in fields:
        return None
    seq, header, digest = fields.get("seq"), fields.get("header"), fields.get("hash")
    if not is_number(seq) or not is_text(header) or not is_text(digest):
        return None
    parts = []
    for value in (fields["salt"], fields["payload"]):
        data = decode64(value) if is_text(value) else None
        if data is None and value is not None:
            return None
        parts.append(data)
    return (seq, header, digest, parts[0], parts[1])


def verify_log(manifest, lines):
    if not is_text(manifest.get("logId")):
        raise Fault(0, "manifest_invalid")
    base, head = parse_log_head(manifest.get("base")), parse_log_head(manifest.get("head"))
    if base is None or head is None:
        raise Fault(0, "manifest_invalid")
    last, erased = base, 0
    for line in lines:
        event = None if line is None else parse_log_event(line)
        if event is None:
            raise Fault(last[0] + 1, "line_invalid")
        erased += check_event(event, last, manifest["logId"])
        last = (last[0] + 1, event[2])
    check_head(last, head)
    told = (manifest["logId"], last[0] - base[0], erased, last[0], last[1])
    return "ok log=%s events=%d erased=%d head=%d:%s" % told


# holdfast-export/1.

ANCHOR = ("agent", "at", "hash", "keyId", "logId", "seq", "signature", "tenant", "thread")
END = ("anchors", "at", "digest", "events", "keyId", "logs", "signature")


def has_keys(value, names):
    return isinstance(value, dict) and set(value) == set(names)


def has_owner(value):
    return is_text(value["tenant"]) and is_name(value["agent"]) and is_name(value["thread"])


def is_head(value):
    return has_keys(value, ("hash", "seq")) and is_whole(value["seq"]) and is_text(value["hash"])


def is_record(kind, value):
    if kind == "head":
        known = has_keys(value, ("at", "format", "scope")) and value["format"] == EXPORT_FORMAT
        scope = value["scope"] if known else None
        return known and is_whole(value["at"]) and has_keys(scope, ("agent", "tenant", "thread")) and has_owner(scope)
    if kind in ("index", "anchor"):
        known = has_keys(value, ANCHOR) and has_owner(value) and is_whole(value["at"]) and is_whole(value["seq"])
        return known and all(is_text(value[name]) for name in ("hash", "keyId", "logId", "signature"))
    if kind == "log":
        known = has_keys(value, ("agent", "base", "head", "logId", "tenant", "thread")) and has_owner(value)
        return known and is_text(value["logId"]) and is_head(value["base"]) and is_head(value["head"])
    if kind == "end":
        known = has_keys(value, END) and all(is_whole(value[name]) for name in ("anchors", "at", "events", "logs"))
        known = known and is_text(value["digest"]) and is_name(value["keyId"]) and is_name(value["signature"])
        return known and (value["keyId"] is None) == (value["signature"] is None)
    return kind == "key" and isinstance(value, dict)


def parse_line(line):
    if line is None:
        return None
    if line.startswith('{"hash":'):
        return parse_event(line)
    fields = parse_object(line, parse_float=refuse)
    if fields is None or not PRINTABLE.match(line) or canonical(fields) != line or len(fields) != 1:
        return None
    kind, value = next(iter(fields.items()))
    return (kind, value) if is_record(kind, value) else None


def parse_event(line):
    match = EVENT.match(line)
    if match is None:
        return None
    digest, header, payload, salt, seq = match.groups()
    parts = []
    for text in (salt, payload):
        data = None if text == "null" else decode64(text[1:-1])
        if data is None and text != "null":
            return None
        parts.append(data)
    if int(seq) > MAX_SAFE:
        return None
    return ("event", (int(seq), header.replace('\\"', '"'), digest, parts[0], parts[1]))


class Export:
    """The verifier of src/audit/export-verifier.ts, in the same order of checks."""

    def __init__(self, keys):
        self.trusted = keys
        self.ring = {} if keys is None else keys
        self.file_keys = {}
        self.scope = None
        self.phase = "keys"
        self.log = None
        self.end = None
        self.expected = {}
        self.seen = set()
        self.total = {"logs": 0, "events": 0, "erased": 0, "anchors": 0, "unanchored": 0}
        self.digest = GENESIS
        self.line = 0

    def fault(self, reason, log_id=None, seq=None):
        fault = Fault(seq, reason)
        fault.log_id = log_id
        if seq is None:
            fault.log_id = None if self.log is None else self.log["id"]
            fault.seq = 0 if self.log is None else self.log["last"][0] + 1
        return fault

    def since(self):
        return 0 if self.log is None or self.log["anchored"] is None else self.log["anchored"]

    def take(self, text):
        self.line += 1
        parsed = parse_line(text)
        if self.scope is None and (parsed is None or parsed[0] != "head"):
            raise self.fault("manifest_invalid")
        if parsed is None or self.phase == "done":
            raise self.fault("line_invalid")
        kind, value = parsed
        if kind != "end":
            self.digest = sha256((self.digest + text + "\n").encode("ascii"))
        getattr(self, "take_" + kind)(value)

    def finish(self):
        if self.scope is None:
            raise self.fault("manifest_invalid")
        self.close_log()
        if self.end is None:
            raise self.fault("end_missing")
        keys = "given" if self.trusted is not None else "file" if self.file_keys else "none"
        told = tuple(self.total[name] for name in ("logs", "events", "erased", "anchors", "unanchored"))
        signed = "no" if self.end["keyId"] is None else "yes"
        return "ok logs=%d events=%d erased=%d anchors=%d unanchored=%d" % told + " keys=%s signed=%s" % (keys, signed)

    def take_head(self, value):
        if self.scope is not None:
            raise self.fault("line_invalid")
        self.scope = value["scope"]

    def take_key(self, jwk):
        if self.phase != "keys":
            raise self.fault("line_invalid")
        key = published(jwk)
        if key is None or key[0] in self.file_keys:
            raise self.fault("key_invalid")
        self.file_keys[key[0]] = key
        if self.trusted is None:
            self.ring = self.file_keys

    def check_anchor(self, anchor):
        message = {name: anchor[name] for name in ANCHOR if name != "signature"}
        message["format"] = "holdfast-anchor/1"
        reason = check_signed(self.ring, anchor, message)
        if reason is not None:
            raise self.fault(reason, anchor["logId"], anchor["seq"])

    def is_of_scope(self, record):
        if record["tenant"] != self.scope["tenant"]:
            return False
        return self.scope["thread"] is None or owner_of(record) == owner_of(self.scope)

    def take_index(self, anchor):
        if self.phase == "logs":
            raise self.fault("line_invalid")
        self.phase = "index"
        place = (anchor["logId"], anchor["seq"])
        if not self.is_of_scope(anchor):
            raise self.fault("anchor_misplaced", *place)
        if anchor["logId"] in self.expected:
            raise self.fault("log_repeated", *place)
        self.check_anchor(anchor)
        self.expected[anchor["logId"]] = anchor

    def take_log(self, log):
        self.phase = "logs"
        self.close_log()
        log_id, base = log["logId"], (log["base"]["seq"], log["base"]["hash"])
        if log_id in self.seen:
            raise self.fault("log_repeated", log_id, 0)
        if not self.is_of_scope(log):
            raise self.fault("log_mismatch", log_id, 0)
        if base[0] == 0 and base[1] != GENESIS:
            raise self.fault("base_unanchored", log_id, 0)
        self.seen.add(log_id)
        self.log = {
            "id": log_id,
            "owner": owner_of(log),
            "base": base,
            "head": (log["head"]["seq"], log["head"]["hash"]),
            "last": base,
            "erased": 0,
            "index": self.expected.pop(log_id, None),
            "anchored": 0 if base[0] == 0 else None,
        }
        self.total["logs"] += 1
        self.check_index()

    def check_index(self):
        index, last = self.log["index"], self.log["last"]
        if index is not None and index["seq"] == last[0] and index["hash"] != last[1]:
            raise self.fault("anchor_mismatch", self.log["id"], last[0])

    def take_event(self, event):
        log = self.log
        if log is None:
            raise self.fault("line_invalid")
        if log["anchored"] is None:
            raise self.fault("base_unanchored", log["id"], log["last"][0])
        try:
            log["erased"] += check_event(event, log["last"], log["id"], log["owner"])
        except Fault as fault:
            raise self.fault(fault.reason, log["id"], fault.seq)
        log["last"] = (event[0], event[2])
        self.check_index()

    def take_anchor(self, anchor):
        log = self.log
        if log is None:
            raise self.fault("line_invalid")
        seq, digest = log["last"]
        is_of_log = anchor["logId"] == log["id"] and owner_of(anchor) == log["owner"]
        is_next = anchor["seq"] >= seq and (log["anchored"] is None or anchor["seq"] > log["anchored"])
        if not is_of_log or not is_next:
            raise self.fault("anchor_misplaced", log["id"], anchor["seq"])
        if anchor != log["index"]:
            self.check_anchor(anchor)
        if anchor["seq"] > seq:
            raise self.fault("head_mismatch", log["id"], seq + 1)
        if anchor["hash"] != digest:
            raise self.fault("anchor_mismatch", log["id"], anchor["seq"])
        log["anchored"] = seq
        self.total["anchors"] += 1

    def close_log(self):
        log = self.log
        if log is None:
            return
        if log["anchored"] is None:
            raise self.fault("base_unanchored", log["id"], log["last"][0])
        try:
            check_head(log["last"], log["head"])
        except Fault as fault:
            raise self.fault(fault.reason, log["id"], fault.seq)
        if log["index"] is not None and log["index"]["seq"] > log["last"][0]:
            raise self.fault("head_mismatch", log["id"], log["last"][0] + 1)
        self.log = None
        self.total["events"] += log["last"][0] - log["base"][0]
        self.total["erased"] += log["erased"]
        self.total["unanchored"] += log["last"][0] - log["anchored"]

    def take_end(self, end):
        self.close_log()
        self.phase = "done"
        for log_id in self.expected:
            raise self.fault("log_missing", log_id, 1)
        is_told = all(end[name] == self.total[name] for name in ("logs", "events", "anchors"))
        if not is_told or end["digest"] != self.digest:
            raise self.fault("end_mismatch")
        self.end = end
        if end["keyId"] is None:
            if self.trusted is not None or self.file_keys:
                raise self.fault("end_unsigned")
            return
        message = {name: end[name] for name in END if name != "signature"}
        message["format"] = "holdfast-export-end/1"
        reason = check_signed(self.ring, end, message)
        if reason is not None:
            raise self.fault(reason)


def verify_export(lines, keys):
    export = Export(keys)
    try:
        for line in lines:
            export.take(line)
        return export.finish()
    except Fault as fault:
        place = (fault.log_id or "-", fault.seq, fault.reason, export.line, export.since())
        return "bad log=%s seq=%d reason=%s line=%d since=%d" % place


def read_lines(path):
    """Each line without its line feed, and whether it had one: the rest of a file that was cut, or is no text, has none."""
    with open(path, "rb") as export:
        for line in iter(lambda: export.readline(MAX_LINE_BYTES), b""):
            is_line = line.endswith(b"\n")
            yield (line[:-1] if is_line else line), is_line


def report(path, keys):
    lines = read_lines(path)
    first = next(lines, (b"", False))
    manifest = parse_object(first[0].decode("latin-1"))
    if manifest is not None and manifest.get("format") == LOG_FORMAT:
        try:
            return verify_log(manifest, (line.decode("utf-8") for line, _ in lines))
        except Fault as fault:
            return "bad seq=%d reason=%s" % (fault.seq, fault.reason)
    # One byte is one character: what is not ASCII fits no line.
    return verify_export((line.decode("latin-1") if ended else None for line, ended in itertools.chain([first], lines)), keys)


def main(arguments):
    paths = list(arguments)
    keys = None
    if paths[:1] == ["--keys"] and len(paths) > 1:
        try:
            keys = read_keys(paths[1])
        except (OSError, ValueError, KeyError) as error:
            print("the keys cannot be read: %s" % error, file=sys.stderr)
            return 2
        paths = paths[2:]
    if not paths:
        print("usage: verify_log.py [--keys KEYS.json] EXPORT.jsonl...", file=sys.stderr)
        return 2
    worst = 0
    for path in paths:
        try:
            line = report(path, keys)
        except (OSError, UnicodeDecodeError) as error:
            line = "unreadable %s: %s" % (path, error)
        print(line)
        worst = max(worst, 0 if line.startswith("ok ") else 1 if line.startswith("bad ") else 2)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
