"""Webhooks: a CloudEvent, POSTed to a URL of the user's, signed as Standard Webhooks says.

For each attempt the name is resolved and judged once, and the request goes to the address that was judged, without
proxies or redirects: nothing in between can lead it elsewhere.
"""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TypeAlias

import httpx2
from standardwebhooks import Webhook

from homing.channels import Capabilities, Channel, Part, Receipt
from homing.channels.pinned import Network, PinnedTransport, direct
from homing.channels.retry_after import LATER, read_retry_after
from homing.model.addresses import Address, names_loopback, refused_because
from homing.model.brakes import DEPTH_HEADER
from homing.model.clock import Clock
from homing.model.errors import ChannelFailed
from homing.model.messages import Message

FindWebhook: TypeAlias = Callable[[str], Awaitable[tuple[str, str] | None]]
ShowMessage: TypeAlias = Callable[[Message], Mapping[str, object]]
"""Gives a message as the API shows it: a webhook's data is the public JSON, whose home is not here."""
"""Gives url and secret of a webhook's id; None when it was removed."""


class WebhookChannel(Channel):
    """Sends to `webhook:wh_…`: one part per delivery, under the delivery's id, by which receivers know a repeat."""

    name = "webhook"
    capabilities = Capabilities(max_length=None, markdown=True, resend="deduplicated")

    def __init__(
        self,
        find: FindWebhook,
        *,
        show: ShowMessage,
        clock: Clock,
        loopback: bool,
        timeout_seconds: float = 10.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._find = find
        self._show = show
        self._clock = clock
        self._loopback = loopback
        self._timeout_seconds = timeout_seconds
        self._tls = tls or httpx2.create_ssl_context()

    async def check(self) -> str:
        """Each user has their own; there is nothing to sign in to."""
        return "signed webhooks"

    async def send(self, part: Part) -> Receipt:
        """POST a part; whatever is not a 2xx in time has failed."""
        known = await self._find(part.place)
        if known is None:
            raise ChannelFailed("This webhook was removed.", permanent=True)
        url, secret = known
        body = cloud_event(part, self._show(part.message))
        headers = {**self._sign(secret, part.delivery_id, body), DEPTH_HEADER: str(part.depth)}
        try:
            async with asyncio.timeout(self._timeout_seconds):
                status, retry_after = await self._post(httpx2.URL(url), headers, body)
        except (TimeoutError, httpx2.TimeoutException) as error:
            detail = f"The receiver did not answer within {self._timeout_seconds:g} seconds."
            raise ChannelFailed(detail, unsure=True) from error
        except httpx2.ConnectError as error:
            raise ChannelFailed(f"The receiver could not be reached: {_short(error)}.") from error
        except httpx2.InvalidURL as error:
            raise ChannelFailed("This webhook's URL cannot be used.", permanent=True) from error
        except httpx2.HTTPError as error:
            raise ChannelFailed(f"The receiver broke off: {_short(error)}.", unsure=True) from error
        return _judge(status, read_retry_after(retry_after, self._clock.now()))

    async def _post(self, url: httpx2.URL, headers: dict[str, str], body: bytes) -> tuple[int, str | None]:
        if url.userinfo or url.scheme not in ("http", "https"):
            raise ChannelFailed("This webhook's URL cannot be used.", permanent=True)
        transport = PinnedTransport(self._check_address, Network(connect=partial(direct, self._tls)))
        # The answer's body is left unread.
        async with (
            httpx2.AsyncClient(transport=transport, trust_env=False, follow_redirects=False) as client,
            client.stream("POST", url, headers=headers, content=body, timeout=self._timeout_seconds) as response,
        ):
            return response.status_code, response.headers.get("retry-after")

    def _check_address(self, host: str, port: int, address: Address) -> None:
        allowed = self._loopback and names_loopback(host) and address.is_loopback
        if why := None if allowed else refused_because(address):
            raise ChannelFailed(f"Webhooks are not sent to {why}; {host} leads there.", permanent=True)

    def _sign(self, secret: str, delivery_id: str, body: bytes) -> dict[str, str]:
        now = self._clock.now()
        return {
            "content-type": "application/cloudevents+json; charset=utf-8",
            "user-agent": "Homing",
            "webhook-id": delivery_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(secret).sign(delivery_id, now, body.decode()),
        }


def cloud_event(part: Part, data: Mapping[str, object]) -> bytes:
    """Write a message as a CloudEvent."""
    event: dict[str, object] = {
        "specversion": "1.0",
        "type": "homing.message",
        "id": part.delivery_id,
        "source": f"/api/sessions/{part.session_key}",
    }
    if part.job_id is not None:
        event["subject"] = part.job_id
    event |= {"time": _instant(part.created_at), "data": data}
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def _judge(status: int, retry_after: float | None) -> Receipt:
    if 200 <= status < 300:
        return Receipt(detail={"status": status})
    if 300 <= status < 400:
        raise ChannelFailed(
            f"The receiver answered {status}, and redirects are not followed: add the webhook with its final URL.",
            permanent=True,
        )
    permanent = 400 <= status < 500 and status not in LATER
    raise ChannelFailed(f"The receiver answered {status}.", permanent=permanent, retry_after=retry_after)


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _short(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:200].rstrip(".")
