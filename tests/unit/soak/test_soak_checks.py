"""A soak must be able to fail: each bound is broken once, and its sentence is found."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from soak.hostile import ATTACKS, TOO_LONG, TOO_PATIENT
from soak.run import JOBS, PERIOD_MS, Seen, left_out

START = datetime(2026, 11, 18, tzinfo=UTC)
PERIOD = timedelta(milliseconds=PERIOD_MS)
SOUND = Seen(
    reads_ms=[1.0] * 100,
    turns_ms=[2.0] * 100,
    rss_mb=[200.0] * 100,
    events=10,
    instants=JOBS * 10,
    log_bytes=40_000,
    stop_seconds=1.0,
    hostile=dict.fromkeys(ATTACKS, 3),
)


def test_a_sound_soak_breaks_no_bound_and_tells_its_percentiles() -> None:
    assert SOUND.violations() == []
    assert (SOUND.told()["read_p99_ms"], SOUND.told()["turn_p99_ms"]) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"failures": ["GET /api/me: 500"]}, "1 normal requests failed"),
        ({"missed": 2}, "2 instants were missed"),
        ({"instants": 0}, "no instant came"),
        ({"rss_mb": [200.0] * 75 + [300.0] * 25}, "memory grew from 200 to 300 MB"),
        ({"log_bytes": 1_000_000}, "the log has 1,000,000 bytes"),
        ({"accept_failures": 1}, "descriptors ran out 1 times"),
        ({"events": 0}, "the stream brought nothing"),
        ({"turns_ms": []}, "no normal load"),
        ({"hostile": SOUND.hostile | {TOO_LONG: 1}}, f"hostile: {TOO_LONG}"),
        ({"hostile": SOUND.hostile | {TOO_PATIENT: 1}}, f"hostile: {TOO_PATIENT}"),
        ({"hostile": SOUND.hostile | {"bodies 500": 1}}, "hostile: bodies 500"),
        ({"stop_seconds": None}, "it ended by itself"),
    ],
)
def test_each_bound_that_is_broken_is_named(broken: dict[str, Any], said: str) -> None:
    [sentence] = replace(SOUND, **broken).violations()
    assert sentence.startswith(said)


@pytest.mark.parametrize("kind", ATTACKS)
def test_an_attack_that_never_took_place_is_named(kind: str) -> None:
    hostile = {what: count for what, count in SOUND.hostile.items() if what != kind}
    assert f"hostile: no {kind}" in replace(SOUND, hostile=hostile).violations()


def test_an_instant_without_a_run_is_counted_also_when_none_came_after_it() -> None:
    every = [START + n * PERIOD for n in range(20)]
    end = every[-1] + PERIOD
    assert left_out(every, end) == 0
    assert left_out([at for at in every if at != every[7]], end) == 1
    assert left_out(every[:5], end) == 16, "a scheduler that stopped leaves no gap, only nothing"
