"""Browsers with their keys, and their push service: it answers as told, and each browser reads what it was sent."""

import asyncio
import base64
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
import jwt
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from homing.channels.pinned import Network
from homing.channels.vapid import VapidKey, new_key, read_key
from support.internet import ADDRESS

SERVICE = "https://push.example.net"
KEY: VapidKey = read_key(new_key())


def to_text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def to_bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


class Browser:
    """One subscription: its keys, and what it reads of a body that was encrypted for it."""

    def __init__(self, name: str = "phone", private: ec.EllipticCurvePrivateKey | None = None, auth: str = "") -> None:
        self.name = name
        self.private = private or ec.generate_private_key(ec.SECP256R1())
        self.auth = auth or to_text(name.encode().ljust(16, b".")[:16])
        self.p256dh = to_text(point(self.private.public_key()))
        self.endpoint = f"{SERVICE}/to/{name}"

    @property
    def subscription(self) -> dict[str, Any]:
        keys = {"p256dh": self.p256dh, "auth": self.auth}
        return {"endpoint": self.endpoint, "keys": keys, "name": self.name}

    def read(self, body: bytes) -> bytes:
        """Decrypt as RFC 8291 says, step by step and apart from the code under test."""
        salt, size, theirs = body[:16], body[20], body[21 : 21 + body[20]]
        assert size == 65
        shared = self.private.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), theirs))
        info = b"WebPush: info\0" + point(self.private.public_key()) + theirs
        secret = _derive(to_bytes(self.auth), shared, info, 32)
        key = _derive(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _derive(salt, secret, b"Content-Encoding: nonce\0", 12)
        text = AESGCM(key).decrypt(nonce, body[21 + size :], None)
        assert text.endswith(b"\x02")
        return text[:-1]


def _derive(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


@dataclass(frozen=True, kw_only=True)
class Pushed:
    """One request that came to the push service."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    def shown(self, browser: Browser) -> dict[str, Any]:
        return json.loads(browser.read(self.body))


@dataclass
class PushService(httpx2.AsyncBaseTransport):
    """Takes pushes; `answers` are used up first, then it is 201. "die" takes it, and the one who sent it dies."""

    pushed: list[Pushed] = field(default_factory=list[Pushed])
    answers: list[int | str] = field(default_factory=list[int | str])
    address: str = ADDRESS

    @property
    def network(self) -> Network:
        return Network(connect=lambda: self, look_up=self._look_up)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        body = b"".join([piece async for piece in request.stream])
        self.pushed.append(Pushed(path=request.url.path, headers=dict(request.headers), body=body))
        answer = self.answers.pop(0) if self.answers else 201
        if answer == "die":
            raise asyncio.CancelledError
        return httpx2.Response(int(answer), stream=httpx2.ByteStream(b""))

    def _look_up(self, host: str, port: int, **_: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (self.address, port))]


def claims_of(pushed: Pushed, key: VapidKey = KEY) -> dict[str, Any]:
    """Verify the token as a push service does."""
    scheme, _, rest = pushed.headers["authorization"].partition(" ")
    fields = dict(part.strip().split("=", 1) for part in rest.split(","))
    assert (scheme, fields["k"]) == ("vapid", key.public)
    return jwt.decode(fields["t"], key.private.public_key(), ["ES256"], audience=SERVICE, options={"verify_exp": False})
