"""How often one may ask: a bucket of tokens for each caller, kept in this process."""

import hashlib
import ipaddress
from collections import OrderedDict
from dataclasses import dataclass

from homing.model.clock import Clock
from homing.model.errors import SlowDown

_CALLERS_KEPT = 10_000


@dataclass(frozen=True, kw_only=True)
class Limits:
    """High enough for every program that behaves; low enough that one which does not cannot starve the rest."""

    requests_per_second: float = 500.0
    requests_at_once: float = 5000.0
    sign_ins_per_minute: float = 10.0
    wrong_proofs_per_minute: float = 30.0


class Buckets:
    """One bucket a caller: it fills steadily, and every request takes one token out."""

    def __init__(self, clock: Clock, *, per_second: float, at_once: float) -> None:
        self._clock = clock
        self._per_second = per_second
        self._at_once = at_once
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """Take one token, or say when there will be one."""
        level = self._level(caller)
        self._levels.pop(caller, None)
        self._levels[caller] = (level - 1 if level >= 1 else level, self._clock.monotonic())
        if len(self._levels) > _CALLERS_KEPT:
            self._levels.popitem(last=False)
        self._check(level)

    def _level(self, caller: str) -> float:
        now = self._clock.monotonic()
        level, at = self._levels.get(caller, (self._at_once, now))
        return min(self._at_once, level + (now - at) * self._per_second)

    def _check(self, level: float) -> None:
        if level < 1:
            wait = (1 - level) / self._per_second
            raise SlowDown("Too many requests. Wait a moment, then try again.", retry_after=wait)


class Proofs:
    """Counts wrong secrets of one kind per address. A right one is never refused for others' guesses."""

    def __init__(self, clock: Clock, *, per_minute: float) -> None:
        self._wrong = Buckets(clock, per_second=per_minute / 60, at_once=per_minute)

    def wrong(self, address: str) -> None:
        """Count a wrong guess, and refuse an address that made too many."""
        self._wrong.take(_neighbourhood(address))


def _neighbourhood(address: str) -> str:
    """Name whose address this is: with IPv6 everybody has 2^64 of them."""
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((number, 64), strict=False)) if number.version == 6 else address


def shadow(secret: str) -> str:
    """Name the bucket of a secret without keeping the secret."""
    return hashlib.sha256(secret.encode()).hexdigest()[:16]
