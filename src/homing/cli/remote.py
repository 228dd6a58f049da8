"""A running server, asked over HTTP. The standard library's client: a bigger one costs more than the whole answer."""

import http.client
import json
import secrets
import ssl
from typing import Any
from urllib.parse import urlsplit

from homing.cli.problems import answered, unreachable
from homing.cli.server import Json

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 150.0  # send_message may wait 120


class Remote:
    """One connection, kept for the commands that ask more than once."""

    alive = True

    def __init__(self, url: str, token: str | None) -> None:
        self.url = url
        self._token = token
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: Json | None = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        headers = {"Accept": "application/json", "User-Agent": "homing-cli"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if content is not None:
            headers["Content-Type"] = "application/json"
        if method == "POST":
            # Asked again after a lost answer, the same thing is done once.
            headers["Idempotency-Key"] = secrets.token_hex(16)
        status, raw = self._exchange(method, path, content, headers)
        answer = _parsed(raw)
        if status >= 400:
            raise answered(status, answer)
        return answer

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _exchange(self, method: str, path: str, content: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        again = self._connection is not None or method in ("GET", "POST")
        for last in (False, True) if again else (True,):
            connection = self.connect()
            try:
                connection.request(method, urlsplit(self.url).path + path, body=content, headers=headers)
                response = connection.getresponse()
                return response.status, response.read()
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if last:
                    raise unreachable(f"{self.url} broke off: {_reason(error)}.") from None
        raise AssertionError

    def connect(self) -> http.client.HTTPConnection:
        """Connect unless connected; Unreachable when nobody listens."""
        if self._connection is not None:
            return self._connection
        at = urlsplit(self.url)
        kind = http.client.HTTPSConnection if at.scheme == "https" else http.client.HTTPConnection
        connection = kind(at.hostname or "", at.port, timeout=CONNECT_SECONDS)
        try:
            connection.connect()
        except (OSError, ssl.SSLError) as error:
            hint = "Check HOMING_URL, and that the server runs there (`homing up`)."
            raise unreachable(f"No server answers at {self.url}: {_reason(error)}.", hint=hint) from None
        if connection.sock is not None:
            connection.sock.settimeout(ANSWER_SECONDS)
        self._connection = connection
        return connection


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw) if raw else None
    except ValueError:
        return None


def _reason(error: BaseException) -> str:
    if isinstance(error, ssl.SSLError):
        return "it does not speak https, or its certificate is not trusted"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
