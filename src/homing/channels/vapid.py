"""The cryptography of Web Push: the server's key, its token (RFC 8292), and bodies for one browser (RFC 8188, 8291).

Apart from the channel, because it takes a tenth of a second to import, and most homes have no browser to push to.
"""

import os
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

import jwt
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from homing.model.push import PushDevice, read_base64url, write_base64url

_CURVE = ec.SECP256R1()
_RECORD = 4096


@dataclass(frozen=True, kw_only=True)
class VapidKey:
    """The key that this server's pushes are signed with, and its public half as browsers are given it."""

    private: ec.EllipticCurvePrivateKey
    public: str


def new_key() -> str:
    """Make a key, as it is kept: the private number in base64url, as other programs for Web Push write it."""
    number = ec.generate_private_key(_CURVE).private_numbers().private_value
    return write_base64url(number.to_bytes(32))


def read_key(text: str) -> VapidKey:
    """Read a kept key; ValueError says what it must be."""
    number = read_base64url(text.strip())
    if number is None or len(number) != 32:
        raise ValueError("it must be the 32 bytes of a private P-256 key in base64url")
    private = ec.derive_private_key(int.from_bytes(number), _CURVE)
    return VapidKey(private=private, public=write_base64url(_point(private.public_key())))


def sign(key: VapidKey, endpoint: str, *, subject: str, until: datetime) -> str:
    """Write the header that tells a push service whose notification it is."""
    service = urlsplit(endpoint)
    claims = {"aud": f"{service.scheme}://{service.netloc}", "exp": int(until.timestamp()), "sub": subject}
    return f"vapid t={jwt.encode(claims, key.private, 'ES256')}, k={key.public}"


def encrypt(device: PushDevice, text: bytes) -> bytes:
    """Encrypt for one browser, as one record. Its keys were judged when it was added."""
    theirs, auth = read_base64url(device.p256dh), read_base64url(device.auth)
    assert theirs is not None
    assert auth is not None
    once, salt = ec.generate_private_key(_CURVE), os.urandom(16)
    ours = _point(once.public_key())
    shared = once.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, theirs))
    secret = _derive(auth, shared, b"WebPush: info\0" + theirs + ours, 32)
    key = _derive(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive(salt, secret, b"Content-Encoding: nonce\0", 12)
    header = salt + _RECORD.to_bytes(4) + bytes([len(ours)]) + ours
    return header + AESGCM(key).encrypt(nonce, text + b"\x02", None)


def _point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def _derive(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)
