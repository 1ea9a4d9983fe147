"""JSON and bytes, strictly: what is read has one spelling."""

import base64
import hashlib
import json
import re

MAX_SAFE = 2**53 - 1
BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}\Z")


class Fault(Exception):
    def __init__(self, seq, reason):
        super().__init__(reason)
        self.seq = seq
        self.reason = reason
        self.log_id = None


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
