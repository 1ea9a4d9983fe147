"""Files of holdfast-export/1: many chains, with the signed heads of each."""

import re

from log_verifier.chain import check_event, check_head, owner_of
from log_verifier.keys import check_signed, published
from log_verifier.strict import Fault, MAX_SAFE, canonical, decode64, is_name, is_text, is_whole, parse_object, refuse, sha256

EXPORT_FORMAT = "holdfast-export/1"
GENESIS = "0" * 64
PRINTABLE = re.compile(r"[ -~]*\Z")
EVENT = re.compile(
    r'\{"hash":"([0-9a-f]{64})","header":"([ !#-\[\]-~]*(?:\\"[ !#-\[\]-~]*)*)"'
    r',"payload":(null|"[A-Za-z0-9+/=]*"),"salt":(null|"[A-Za-z0-9+/=]*"),"seq":(0|[1-9][0-9]{0,15})\}\Z'
)
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
