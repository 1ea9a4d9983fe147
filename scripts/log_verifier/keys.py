"""The keys that a reader trusts, and what they signed."""

import base64
import hashlib
import json

from log_verifier.ed25519 import verify_signature
from log_verifier.strict import MAX_SAFE, canonical, decode64url, is_whole


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
