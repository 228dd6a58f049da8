"""A clock that stands still until a test moves it."""

from datetime import UTC, datetime, timedelta


class FakeClock:
    """A `homing.model.clock.Clock` for tests."""

    def __init__(self, start: datetime) -> None:
        self._now = _utc(start)
        self._monotonic = 1000.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, by: float | timedelta) -> None:
        """Let that much time pass, in seconds."""
        passed = by if isinstance(by, timedelta) else timedelta(seconds=by)
        if passed < timedelta(0):
            raise ValueError("Time does not pass backwards; to set the wall clock back, use jump().")
        self._now += passed
        self._monotonic += passed.total_seconds()

    def set(self, to: datetime) -> None:
        """Let time pass until then."""
        self.advance(_utc(to) - self._now)

    def jump(self, by: timedelta) -> None:
        """Set the wall clock forward or back, as an administrator would; monotonic time does not move."""
        self._now += by


def _utc(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        raise ValueError(
            "A clock needs an instant with a time zone, for example datetime(2026, 11, 16, 9, tzinfo=UTC)."
        )
    return instant.astimezone(UTC)
