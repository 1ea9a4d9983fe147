"""Ed25519 (RFC 8032), verification only."""

import hashlib

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
