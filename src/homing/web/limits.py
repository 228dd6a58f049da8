"""How often one may ask: a bucket of tokens for each caller, kept in this process."""

import hashlib
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


class Buckets:
    """One bucket a caller: it fills steadily, and every request takes one token out."""

    def __init__(self, clock: Clock, *, per_second: float, at_once: float) -> None:
        self._clock = clock
        self._per_second = per_second
        self._at_once = at_once
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """Take one token, or say when there will be one."""
        now = self._clock.monotonic()
        level, at = self._levels.pop(caller, (self._at_once, now))
        level = min(self._at_once, level + (now - at) * self._per_second)
        allowed = level >= 1
        self._levels[caller] = (level - 1 if allowed else level, now)
        if len(self._levels) > _CALLERS_KEPT:
            self._levels.popitem(last=False)
        if not allowed:
            wait = (1 - level) / self._per_second
            raise SlowDown("Too many requests. Wait a moment, then try again.", retry_after=wait)


def shadow(secret: str) -> str:
    """Name the bucket of a secret without keeping the secret."""
    return hashlib.sha256(secret.encode()).hexdigest()[:16]
