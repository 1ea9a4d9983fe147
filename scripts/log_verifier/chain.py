"""One chain: each event behind its predecessor, as it was stored."""

from log_verifier.strict import Fault, is_number, is_text, parse_object, sha256


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
