"""A running server, asked over HTTP. The standard library's client: a bigger one costs more than the whole answer."""

import http.client
import json
import os
import re
import secrets
import ssl
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

from homing.client.base import BaseClient
from homing.client.home import known_token, server_url
from homing.client.problems import answered, unreachable
from homing.model.contract import Json, Operation
from homing.settings import load

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 30.0
LONG_SECONDS = 330.0
"""For what may take its time: a server or a script (300 s) that is tried, and files."""
_KEY = "Idempotency-Key"
_PIECE = 256 << 10


class Client(BaseClient):
    """Asks a server over one connection, which is kept. Without a URL, HOMING_URL's or this home's."""

    alive = True

    def __init__(self, url: str | None = None, token: str | None = None, *, user_agent: str = "homing-python") -> None:
        if url is None:
            settings = load()
            url, token = server_url(settings), token or known_token(settings)
        if url is None:
            raise unreachable("Homing isn't running.", hint="Start it: `homing up`.")
        _check(url)
        self.url = url
        self.headers = {"User-Agent": user_agent} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._connection: http.client.HTTPConnection | None = None
        self._has_answered = False
        """Whether the kept connection gave an answer: then it may have been closed since, which is not a failure."""

    def _answer(self, operation: Operation, fields: Mapping[str, Any]) -> Any:
        path, body = operation.spelled(fields)
        # Asked again after a lost answer, the same thing is done once.
        headers = {_KEY: secrets.token_hex(16)} if operation.method == "POST" else {}
        status, answer = self.exchange(operation.method, path, body, headers, seconds=_patience(operation, fields))
        if status >= 400:
            raise answered(status, answer)
        return answer

    def _send_file(self, operation: Operation, name: str, file: BinaryIO) -> Json:
        boundary = secrets.token_hex(16)
        # As browsers spell it; what else a name may hold is cleaned at the other end.
        plain = re.sub(r"[\r\n]+", " ", name).replace('"', "%22")
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{plain}"\r\n\r\n'.encode()
        tail = f"\r\n--{boundary}--\r\n".encode()
        size = len(head) + os.fstat(file.fileno()).st_size + len(tail)
        kind = {"Content-Type": f"multipart/form-data; boundary={boundary}", "Content-Length": str(size)}
        headers = kind | {_KEY: secrets.token_hex(16)}
        response = self._sent(
            operation, operation.path, headers, chain([head], iter(lambda: file.read(_PIECE), b""), [tail])
        )
        status, answer = response.status, parsed(response.read())
        if status >= 400:
            raise answered(status, answer)
        return answer

    def _fetch(self, operation: Operation, fields: Mapping[str, Any], into: BinaryIO) -> str:
        path, _ = operation.spelled(fields)
        response = self._sent(operation, path, {}, None)
        if response.status >= 400:
            raise answered(response.status, parsed(response.read()))
        try:
            while piece := response.read(_PIECE):
                into.write(piece)
            if response.length:
                raise http.client.IncompleteRead(b"", response.length)
        except (TimeoutError, http.client.HTTPException) as error:
            self.close()
            raise unreachable(f"{self.url} broke off: {_reason(error)}.") from None
        extended = re.search(r"filename\*=UTF-8''(\S+)", response.headers.get("content-disposition", ""))
        return unquote(extended[1]) if extended else str(fields.get("file_id", "download"))

    def _sent(
        self, operation: Operation, path: str, headers: Mapping[str, str], body: Iterable[bytes] | None
    ) -> http.client.HTTPResponse:
        """Send a request whose body, or answer, is bytes; over a connection of its own time."""
        self.close()
        connection = self.connect()
        connection.sock.settimeout(LONG_SECONDS)
        try:
            at = urlsplit(self.url).path.rstrip("/") + path
            connection.request(operation.method, at, body=body, headers=self.headers | dict(headers))
            return connection.getresponse()
        except TimeoutError:
            self.close()
            raise unreachable(f"{self.url} did not answer within {LONG_SECONDS:.0f} seconds.") from None
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise unreachable(f"{self.url} broke off: {_reason(error)}.") from None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection, self._has_answered = None, False

    def exchange(
        self,
        method: str,
        path: str,
        body: Json | None,
        headers: Mapping[str, str],
        *,
        seconds: float = LONG_SECONDS,
    ) -> tuple[int, Any]:
        """Send one request as it is; give the answer's status and its JSON, None for what is not JSON."""
        content = None if body is None else json.dumps(body).encode()
        sent = {"Accept": "application/json", "Content-Type": "application/json"} | self.headers | dict(headers)
        again = self._has_answered or method == "GET" or _KEY in headers
        for last in (False, True) if again else (True,):
            connection = self.connect()
            if connection.sock is not None:
                connection.sock.settimeout(seconds)
            try:
                connection.request(method, urlsplit(self.url).path.rstrip("/") + path, body=content, headers=sent)
                response = connection.getresponse()
                status, answer = response.status, parsed(response.read())
            except TimeoutError:
                # A slow server may still do what was asked: asking again could do it twice.
                self.close()
                hint = "It may be stuck or very busy: look at its log, or start it again."
                hint += "" if method == "GET" else " It may still do what you asked."
                raise unreachable(f"{self.url} did not answer within {seconds:.0f} seconds.", hint=hint) from None
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if last:
                    raise unreachable(f"{self.url} broke off: {_reason(error)}.") from None
            else:
                self._has_answered = True
                return status, answer
        raise AssertionError

    def connect(self) -> http.client.HTTPConnection:
        """Connect unless connected; Unreachable when nobody listens."""
        if self._connection is None:
            connection = connection_to(self.url, CONNECT_SECONDS)
            try:
                connection.connect()
            except (OSError, ssl.SSLError) as error:
                hint = "Check HOMING_URL, and that the server runs there (`homing up`)."
                raise unreachable(f"No server answers at {self.url}: {_reason(error)}.", hint=hint) from None
            self._connection = connection
        return self._connection


def _patience(operation: Operation, fields: Mapping[str, Any]) -> float:
    wait = fields.get("wait")
    if isinstance(wait, int | float):
        return wait + ANSWER_SECONDS
    if operation.kind == "prepared" and operation.tag == "jobs":
        # Of a job only its script is tried.
        return LONG_SECONDS if any(name.startswith("script") for name in fields) else ANSWER_SECONDS
    return ANSWER_SECONDS if operation.kind in ("read", "write") and wait is None else LONG_SECONDS


def _check(url: str) -> None:
    try:
        at = urlsplit(url)
        whole = at.scheme in ("http", "https") and bool(at.hostname) and at.port != 0
    except ValueError:
        whole = False
    if not whole:
        raise unreachable(f"{url} is not the address of a server.", hint="Write it as http://127.0.0.1:4664.")


def connection_to(url: str, seconds: float) -> http.client.HTTPConnection:
    """Make a connection, not yet connected."""
    at = urlsplit(url)
    kind = http.client.HTTPSConnection if at.scheme == "https" else http.client.HTTPConnection
    return kind(at.hostname or "", at.port, timeout=seconds)


def parsed(raw: bytes) -> Any:
    """Read JSON; None for anything else."""
    try:
        return json.loads(raw) if raw else None
    except ValueError:
        return None


def _reason(error: BaseException) -> str:
    if isinstance(error, ssl.SSLError):
        return "it does not speak https, or its certificate is not trusted"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
