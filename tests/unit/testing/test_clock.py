from datetime import UTC, datetime, timedelta, timezone

import pytest

from homing.model.clock import Clock
from homing.testing import FakeClock

NINE = datetime(2026, 11, 16, 9, tzinfo=UTC)


def test_time_passes_only_when_told() -> None:
    clock: Clock = FakeClock(NINE)
    assert (clock.now(), clock.monotonic()) == (NINE, clock.monotonic())


def test_passing_time_moves_both_clocks() -> None:
    clock = FakeClock(NINE)
    before = clock.monotonic()
    clock.advance(1.5)
    clock.advance(timedelta(minutes=1))
    clock.set(NINE + timedelta(hours=1))
    assert clock.now() == NINE + timedelta(hours=1)
    assert clock.monotonic() - before == 3600


def test_a_jump_moves_the_wall_clock_only() -> None:
    clock = FakeClock(NINE)
    before = clock.monotonic()
    clock.jump(timedelta(hours=-2))
    assert clock.now() == NINE - timedelta(hours=2)
    assert clock.monotonic() == before


def test_time_cannot_pass_backwards() -> None:
    with pytest.raises(ValueError, match="jump"):
        FakeClock(NINE).set(NINE - timedelta(seconds=1))


def test_it_always_tells_utc_and_wants_a_zone() -> None:
    clock = FakeClock(datetime(2026, 11, 16, 10, tzinfo=timezone(timedelta(hours=1))))
    assert clock.now() == NINE
    assert clock.now().tzinfo is UTC
    with pytest.raises(ValueError, match="time zone"):
        FakeClock(datetime(2026, 11, 16))  # noqa: DTZ001 - the mistake under test
