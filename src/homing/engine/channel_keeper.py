"""Keeps the channels of one process in line with its settings and the rows of added channels.

What an admin adds, changes or removes takes effect at once, and so does a new value in a file of `secrets`. A channel
is recreated only when one of its values changed; sends that are under way finish on the old one.
"""

import asyncio
from collections.abc import Callable, Mapping

import structlog

from homing.channels import Channel
from homing.model.errors import Invalid, NotReady
from homing.operations.kept_channels import with_kept
from homing.settings import ChannelSettings, Settings
from homing.store import Store
from homing.store.listeners import LISTENERS_BELL
from homing.store.maintenance import CHANNELS_BELL

log = structlog.get_logger(__name__)

# Files ring no bell.
_LOOK_SECONDS = 5.0

Values = Mapping[str, str]


class ChannelKeeper:
    """Holds the live channels by name: `channels` is one mapping that others look into."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        always: Mapping[str, Channel],
        *,
        read: Callable[[ChannelSettings, Settings], Values],
        make: Callable[[ChannelSettings, Settings, Values], Channel],
    ) -> None:
        """`always` are the built-in channels; `read` gives the fields of a channel, and `make` creates it from them."""
        self._store = store
        self._settings = settings
        self._always = always
        self._read = read
        self._make = make
        self._made: dict[str, tuple[str, Values]] = {}
        self._faults: dict[str, str] = {}
        self.channels: dict[str, Channel] = dict(always)

    def begin(self) -> None:
        """Make what the settings name."""
        self._follow(self._settings, self._read_all(self._settings))

    async def step(self) -> bool:
        """Look at rows and files once; say whether anything changed."""
        settings = await self._store.read(lambda tx: with_kept(tx, self._settings))
        changed = self._follow(settings, await asyncio.to_thread(self._read_all, settings))
        if changed:
            log.info("channels_changed", channels=changed)
            self._store.bell.ring_here([LISTENERS_BELL])
        return bool(changed)

    async def run(self) -> None:
        """Follow rows and files until cancelled."""
        ear = self._store.bell.listen(CHANNELS_BELL)
        try:
            while True:
                try:
                    await self.step()
                except NotReady as error:
                    log.warning("channels_wait", reason=str(error))
                await ear.wait(min(_LOOK_SECONDS, self._store.look_seconds))
        finally:
            ear.close()

    def _read_all(self, settings: Settings) -> dict[str, Values | Invalid]:
        found: dict[str, Values | Invalid] = {}
        for one in settings.channels:
            try:
                found[one.name] = self._read(one, settings)
            except Invalid as error:
                found[one.name] = error
        return found

    def _follow(self, settings: Settings, found: Mapping[str, Values | Invalid]) -> list[str]:
        gone = [name for name in self._made if name not in found]
        for name in gone:
            del self._made[name]
            self._faults.pop(name, None)
            if name in self._always:
                self.channels[name] = self._always[name]
            else:
                del self.channels[name]
        fresh = [one.name for one in settings.channels if self._renew(one, settings, found[one.name])]
        return [*gone, *fresh]

    def _renew(self, one: ChannelSettings, settings: Settings, values: Values | Invalid) -> bool:
        try:
            if isinstance(values, Invalid):
                raise values
            if self._made.get(one.name) == (one.kind, values):
                return False
            self.channels[one.name] = self._make(one, settings, values)
        except Invalid as error:
            # The channel that worked stays in use: a file may be half replaced.
            why = " ".join(fault.detail for fault in error.errors) or error.detail
            if self._faults.get(one.name) != why:
                log.warning("channel_unusable", channel=one.name, reason=why)
            self._faults[one.name] = why
            return False
        self._made[one.name] = (one.kind, values)
        self._faults.pop(one.name, None)
        return True
