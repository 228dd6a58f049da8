"""Apprise: one way, to a service that an administrator named by its URL (ntfy, Pushover, Gotify, Teams, SMS and more).

The URL may name any host, so only the settings hold it; the channel has one address, `NAME:all`, and users and agents
can name nothing else. Apprise does not say why a message was not taken, nor whether: each failure is tried again.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from homing.channels import Capabilities, Channel, Part, Receipt
from homing.channels.kinds import ChannelKind
from homing.model.errors import ChannelFailed
from homing.settings import CHANNEL_FIELDS

_PLACE = "all"
_SECONDS = 30.0
_SERVICE_SECONDS = 10.0


class AppriseChannel(Channel):
    """One service with one recipient, whatever its URL says. Its address is `NAME:all`."""

    # Services differ, and most take this much; a longer piece is split by Apprise where a service takes less.
    capabilities = Capabilities(max_length=1000, resend="duplicates")

    def __init__(self, *, name: str, url: str) -> None:
        self.name = name
        self._url = url

    async def check(self) -> str:
        """Name the service. Nothing is sent: only a test message shows that it takes one."""
        service = await asyncio.to_thread(self._open)
        return str(service.service_name)

    async def send(self, part: Part) -> Receipt:
        """Hand one part to the service."""
        if part.place != _PLACE:
            raise ChannelFailed(f"{self.name} has one address only, {self.name}:{_PLACE}.", permanent=True)
        service = await asyncio.to_thread(self._open)
        name = str(service.service_name)
        try:
            async with asyncio.timeout(_SECONDS):
                taken = await service.async_notify(body=part.text or "…")
        except TimeoutError:
            raise ChannelFailed(f"{name} did not answer within {_SECONDS:g} seconds.", unsure=True) from None
        except Exception as error:  # noqa: BLE001 - the rim: services are plugins, and fail in any way there is
            # Only its kind: what it says may hold the URL.
            raise ChannelFailed(f"{name} failed to send it ({type(error).__name__}).", unsure=True) from None
        if not taken:
            raise ChannelFailed(f"{name} did not accept the message. Apprise does not say why.", unsure=True)
        return Receipt(detail={"service": name})

    def _open(self) -> Any:
        """Make the service. Apprise is imported here: it costs half a second, and only those who send need it."""
        try:
            import apprise  # noqa: PLC0415 - see above
        except ImportError:
            raise ChannelFailed(
                f"The channel {self.name} needs Apprise, which is not installed here. Install homing[apprise]."
            ) from None
        # Its log may show URLs, and with them passwords.
        logging.getLogger("apprise").setLevel(logging.CRITICAL)
        asset = apprise.AppriseAsset(storage_mode="memory", service_timeout=_SERVICE_SECONDS)
        service: Any = apprise.Apprise.instantiate(self._url, asset=asset)  # pyright: ignore[reportUnknownMemberType]
        if not isinstance(service, apprise.NotifyBase):
            raise ChannelFailed(f"Apprise does not understand the url of {self.name}. Check its setting.")
        service.overflow_mode = apprise.OverflowMode.SPLIT
        return service


def make(name: str, fields: Mapping[str, str]) -> Channel:
    """Make the channel of one service."""
    if "://" not in fields["url"]:
        raise ValueError("url must be an Apprise URL such as ntfy://topic")
    return AppriseChannel(name=name, url=fields["url"])


KIND = ChannelKind(fields=CHANNEL_FIELDS["apprise"], make=make)
