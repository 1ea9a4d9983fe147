#!/usr/bin/env python3
"""Verifies an exported Holdfast log (format holdfast-log/1) with Python's standard library only.

Usage: verify_log.py EXPORT.jsonl...

Prints one line per export: `ok` when every event fits its hash, its place, its predecessor and its payload, and the
chain ends where the manifest says; otherwise the first bad event and why. Exits 0 when all are sound, 1 when one is
not, 2 when one cannot be read. An erased payload (salt and payload null) is no fault. Nothing is re-serialised: the hashes cover the exact bytes of the export.
"""

import base64
import binascii
import hashlib
import json
import re
import sys

FORMAT = "holdfast-log/1"
BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}\Z")


class Fault(Exception):
    def __init__(self, seq, reason):
        super().__init__(reason)
        self.seq = seq
        self.reason = reason


def refuse_constant(name):
    raise ValueError("not JSON: " + name)


def parse_object(text):
    try:
        value = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def parse_head(value):
    if not isinstance(value, dict):
        return None
    seq, digest = value.get("seq"), value.get("hash")
    if not is_number(seq) or not float(seq).is_integer() or not isinstance(digest, str):
        return None
    return int(seq), digest


def parse_bytes(fields, name):
    if name not in fields:
        raise ValueError(name + " is missing")
    value = fields[name]
    if value is None:
        return None
    if not isinstance(value, str) or len(value) % 4 != 0 or not BASE64.match(value):
        raise ValueError(name + " is not base64")
    return base64.b64decode(value)


def parse_event(line):
    fields = parse_object(line)
    if fields is None:
        return None
    seq, header, digest = fields.get("seq"), fields.get("header"), fields.get("hash")
    if not is_number(seq) or not isinstance(header, str) or not isinstance(digest, str):
        return None
    try:
        return seq, header, digest, parse_bytes(fields, "salt"), parse_bytes(fields, "payload")
    except (ValueError, binascii.Error):
        return None


def parse_header(text):
    header = parse_object(text)
    payload = header.get("payload") if header is not None else None
    if not isinstance(payload, dict):
        return None
    texts = (header.get("logId"), header.get("prev"), payload.get("digest"))
    numbers = (header.get("seq"), payload.get("bytes"))
    if not all(isinstance(value, str) for value in texts) or not all(is_number(value) for value in numbers):
        return None
    return header


def header_fits(header, digest):
    try:
        return hashlib.sha256(header.encode("utf-8")).hexdigest() == digest
    except UnicodeEncodeError:
        return False


def check_event(event, expected, last_hash, log_id):
    seq, text, digest, salt, payload = event
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
    if header["prev"] != last_hash:
        raise Fault(expected, "prev_mismatch")
    if salt is None and payload is None:
        return True
    if salt is None or payload is None:
        raise Fault(expected, "payload_incomplete")
    descriptor = header["payload"]
    if len(payload) != descriptor["bytes"] or hashlib.sha256(salt + payload).hexdigest() != descriptor["digest"]:
        raise Fault(expected, "payload_mismatch")
    return False


def verify(lines):
    manifest = parse_object(next(lines, ""))
    if manifest is None or manifest.get("format") != FORMAT or not isinstance(manifest.get("logId"), str):
        raise Fault(0, "manifest_invalid")
    base, head = parse_head(manifest.get("base")), parse_head(manifest.get("head"))
    if base is None or head is None:
        raise Fault(0, "manifest_invalid")
    last_seq, last_hash = base
    erased = 0
    for line in lines:
        event = parse_event(line)
        if event is None:
            raise Fault(last_seq + 1, "line_invalid")
        erased += check_event(event, last_seq + 1, last_hash, manifest["logId"])
        last_seq, last_hash = last_seq + 1, event[2]
    if head[0] > last_seq:
        raise Fault(last_seq + 1, "head_mismatch")
    if head != (last_seq, last_hash):
        raise Fault(last_seq, "head_mismatch")
    return "ok log=%s events=%d erased=%d head=%d:%s" % (manifest["logId"], last_seq - base[0], erased, last_seq, last_hash)


def read_lines(path):
    # Split at line feeds alone: other separators may stand inside a JSON string.
    with open(path, encoding="utf-8", newline="\n") as export:
        for line in export:
            yield line[:-1] if line.endswith("\n") else line


def report(path):
    try:
        return verify(read_lines(path)), 0
    except Fault as fault:
        return "bad seq=%d reason=%s" % (fault.seq, fault.reason), 1
    except (OSError, UnicodeDecodeError) as error:
        return "unreadable %s: %s" % (path, error), 2


def main(paths):
    if not paths:
        print("usage: verify_log.py EXPORT.jsonl...", file=sys.stderr)
        return 2
    worst = 0
    for path in paths:
        line, status = report(path)
        print(line)
        worst = max(worst, status)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
