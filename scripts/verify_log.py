#!/usr/bin/env python3
"""Verifies exports of Holdfast (holdfast-export/1, holdfast-log/1) with Python's standard library only.

Usage: verify_log.py [--keys KEYS.json] EXPORT.jsonl...

Prints one line per export: `ok` when every event fits its hash, its place, its predecessor and its payload, the chains
end where the file says, and every signed head holds; otherwise the first bad event and why. Exits 0 when all are sound,
1 when one is not, 2 when one cannot be read. An erased payload (salt and payload null) is no fault. The hashes cover the
exact bytes of the export.

KEYS.json is a JWKS, or one JWK, that you trust. Without it the keys of the file itself are used (`keys=file`): that shows
damage, and no forgery by whoever wrote the file. A holdfast-log/1 file has no signed heads at all.

The checks are in log_verifier/ beside this file. src/audit/ holds the same in TypeScript; a change here is a change there.
"""

import itertools
import sys

# Who audits runs this from a folder that stays as it is.
sys.dont_write_bytecode = True

from log_verifier.chain import check_event, check_head
from log_verifier.export import verify_export
from log_verifier.keys import read_keys
from log_verifier.strict import Fault, decode64, is_number, is_text, parse_object

LOG_FORMAT = "holdfast-log/1"
MAX_LINE_BYTES = 64 * 1024 * 1024


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
