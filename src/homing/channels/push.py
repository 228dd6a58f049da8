"""Web Push: notifications of a browser, encrypted for it alone (RFC 8291) and signed by this server (RFC 8292).

A repeat under the same part id replaces the first: at the push service by its topic, in the browser by its tag. As with
webhooks, the name of the push service is resolved and judged once per attempt, and the request goes to the address that
was judged. Endpoint and keys of a browser stand in no receipt, error or log.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

import httpx2

from homing.channels import Capabilities, Channel, Part, Receipt
from homing.channels.http_log import hide_in_http_log
from homing.channels.pinned import Network, PinnedTransport
from homing.channels.retry_after import LATER, read_retry_after
from homing.model.addresses import Address, refused_because
from homing.model.clock import Clock
from homing.model.errors import ChannelFailed
from homing.model.push import PUSH, PushDevice, write_base64url

if TYPE_CHECKING:
    from homing.channels.vapid import VapidKey

MAX_BODY = 4096
# Header, tag and end mark of the one record.
_OVERHEAD = 16 + 4 + 1 + 65 + 16 + 1
_TTL = timedelta(days=1)
_TOKEN_FOR = timedelta(hours=12)
_TITLE, _WORDS = 100, 240
_GONE = (404, 410)
_URGENT = ("reminder", "question", "approval")
_PATH_IN_URL = re.compile(r"(https?://[^/\s]+/)\S+")
_pushing: ContextVar[bool] = ContextVar("_pushing", default=False)

# No line shows whether its URL is an endpoint: what is being done tells.
hide_in_http_log(lambda said: _PATH_IN_URL.sub(r"\1…", said) if _pushing.get() else said)


@dataclass(frozen=True, kw_only=True)
class Target:
    """A browser, and the title of the conversation that something is pushed from."""

    device: PushDevice
    title: str | None


FindTarget: TypeAlias = Callable[[Part], Awaitable[Target | None]]
"""Gives the browser of a part's address; None when it was removed."""
ReadKey: TypeAlias = "Callable[[], VapidKey]"
"""Gives the server's key; raises ChannelFailed if it is not here."""


class PushChannel(Channel):
    """Sends to `push:push_…`: one part per delivery, the first words of the message."""

    name = PUSH
    capabilities = Capabilities(max_length=None, resend="deduplicated")

    def __init__(
        self,
        find: FindTarget,
        *,
        key: ReadKey,
        subject: str,
        clock: Clock,
        network: Network,
        timeout_seconds: float = 10.0,
    ) -> None:
        """`subject`: whom a push service may ask about this server's pushes, an https or mailto URL."""
        self._find = find
        self._key = key
        self._subject = subject
        self._clock = clock
        self._network = network
        self._timeout_seconds = timeout_seconds

    async def check(self) -> str:
        """Each user has their own browsers; there is nothing to sign in to."""
        return f"signs with the key {self._key().public[:12]}…"

    async def send(self, part: Part) -> Receipt:
        """POST a part to its browser's push service; whatever is not a 2xx in time has failed."""
        target = await self._find(part)
        if target is None:
            raise ChannelFailed("This browser was removed.", permanent=True, blocked=True)
        # In a thread: the first time imports what it needs.
        headers, body = await asyncio.to_thread(self._seal, part, target)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                status, retry_after = await self._post(target.device.endpoint, headers, body)
        except (TimeoutError, httpx2.TimeoutException) as error:
            detail = f"The push service did not answer within {self._timeout_seconds:g} seconds."
            raise ChannelFailed(detail, unsure=True) from error
        except httpx2.ConnectError as error:
            # Not in its words: they may hold the endpoint.
            raise ChannelFailed("The push service could not be reached.") from error
        except httpx2.InvalidURL as error:
            raise ChannelFailed("This browser's endpoint cannot be used.", permanent=True) from error
        except httpx2.HTTPError as error:
            raise ChannelFailed("The push service broke off.", unsure=True) from error
        return _judge(status, read_retry_after(retry_after, self._clock.now()))

    async def _post(self, endpoint: str, headers: dict[str, str], body: bytes) -> tuple[int, str | None]:
        transport = PinnedTransport(_check_address, self._network)
        before = _pushing.set(True)
        try:
            # The answer's body is left unread.
            async with (
                httpx2.AsyncClient(transport=transport, trust_env=False, follow_redirects=False) as client,
                client.stream("POST", endpoint, headers=headers, content=body, timeout=self._timeout_seconds) as answer,
            ):
                return answer.status_code, answer.headers.get("retry-after")
        finally:
            _pushing.reset(before)

    def _seal(self, part: Part, target: Target) -> tuple[dict[str, str], bytes]:
        from homing.channels.vapid import encrypt, sign  # noqa: PLC0415 - slow to import; only pushes need it

        device, key, until = target.device, self._key(), self._clock.now() + _TOKEN_FOR
        if device.public_key != key.public:
            raise ChannelFailed(
                "This browser subscribed with another key than this engine has. Set HOMING_SECRET_VAPID to the same"
                " value for every server and engine, or turn notifications off and on again in that browser."
            )
        headers = {
            "authorization": sign(key, device.endpoint, subject=self._subject, until=until),
            "content-encoding": "aes128gcm",
            "content-type": "application/octet-stream",
            "ttl": str(int(_TTL.total_seconds())),
            "urgency": "high" if part.message.kind in _URGENT else "normal",
            # At most 32 characters of base64url, which a part's id is not.
            "topic": write_base64url(hashlib.sha256(part.id.encode()).digest()[:24]),
            "user-agent": "Homing",
        }
        return headers, encrypt(device, notification(part, target.title))


def notification(part: Part, title: str | None) -> bytes:
    """Write what the page's service worker shows: a title, the first words, and where a click leads."""
    job = part.message.meta.get("cron_job_name")
    shown = {
        "title": _first(str(job or title or "Homing"), _TITLE),
        "body": _first(part.text, _WORDS),
        "url": f"/chat/{quote(part.session_key, safe=':@')}?at={part.message.seq}",
        "tag": part.id,
    }
    written = json.dumps(shown, ensure_ascii=False).encode()
    if len(written) > MAX_BODY - _OVERHEAD:
        raise ChannelFailed("The key of this conversation is too long for a notification.", permanent=True)
    return written


def _first(text: str, most: int) -> str:
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _check_address(host: str, port: int, address: Address) -> None:
    if why := refused_because(address):
        raise ChannelFailed(f"Notifications are not pushed to {why}, where this push service is.", permanent=True)


def _judge(status: int, retry_after: float | None) -> Receipt:
    if 200 <= status < 300:
        return Receipt(detail={"status": status})
    if status in _GONE:
        raise ChannelFailed("The push service does not know this browser any more.", permanent=True, blocked=True)
    permanent = status < 500 and status not in LATER
    raise ChannelFailed(f"The push service answered {status}.", permanent=permanent, retry_after=retry_after)
