"""Every spelling of a schedule object ends in one of three values."""

from datetime import UTC, datetime, timedelta

import pytest

from homing.model.errors import Invalid
from homing.model.schedules import At, Cron, Every, Schedule, next_after, read_schedule

NOW = datetime(2026, 11, 15, 19, 40, 12, tzinfo=UTC)
LATER = datetime(2026, 11, 20, 17, 0, tzinfo=UTC)
LATER_MS = int(LATER.timestamp() * 1000)
ZONE = "Europe/Berlin"


def read(raw: object) -> Schedule:
    return read_schedule(raw, now=NOW, zone=ZONE).schedule  # pyright: ignore[reportArgumentType]


def refusal(raw: object) -> Invalid:
    with pytest.raises(Invalid) as caught:
        read(raw)
    return caught.value


@pytest.mark.parametrize(
    "raw",
    [
        {"kind": "at", "at": "2026-11-20T18:00", "tz": ZONE},
        {"kind": "at", "at": "2026-11-20T18:00:00+01:00"},
        {"at": "2026-11-20T17:00:00Z"},
        {"atMs": LATER_MS},
        {"at_ms": str(LATER_MS)},
        {"at-ms": float(LATER_MS)},
        {"kind": "AT", "at": LATER_MS},
        {"at": str(LATER_MS), "cron": "", "everyMs": None},
        {"when": "2026-11-20 18:00"},
        {"when": "on friday at 18:00", "timezone": "europe/berlin"},
        "2026-11-20T18:00",
    ],
)
def test_all_spellings_of_an_at_are_one(raw: object):
    assert read(raw) == At(at=LATER, tz=ZONE)


def test_an_at_may_be_relative():
    assert read({"at": "10m"}) == At(at=NOW + timedelta(minutes=10), tz=ZONE)


@pytest.mark.parametrize(
    "raw",
    [
        {"kind": "every", "every_ms": 1_800_000},
        {"everyMs": "1800000"},
        {"every": "30m"},
        {"every": "every 30 minutes"},
        {"every": 1_800_000},
        {"every": "1800000"},
        {"every_seconds": 1800},
        {"everySeconds": "1800"},
        {"every-seconds": 1800.0},
        {"when": "every 30 minutes"},
        "every 30m",
    ],
)
def test_all_spellings_of_an_interval_are_one(raw: object):
    assert read(raw) == Every(every_ms=1_800_000, anchor=NOW, tz=ZONE)


def test_an_interval_without_an_anchor_first_fires_one_step_after_its_creation():
    assert next_after(read({"everyMs": 60_000}), NOW) == NOW + timedelta(minutes=1)


@pytest.mark.parametrize(
    "anchor",
    [
        {"anchor": "2026-11-20T18:00"},
        {"anchorMs": LATER_MS},
        {"anchor_ms": str(LATER_MS)},
        {"anchor": "2026-11-20T17:00Z"},
    ],
)
def test_all_spellings_of_an_anchor_are_one(anchor: dict[str, object]):
    assert read({"every": "2h", **anchor}) == Every(every_ms=7_200_000, anchor=LATER, tz=ZONE)


@pytest.mark.parametrize(
    "raw",
    [
        {"kind": "cron", "cron": "0 9 * * 1-5", "tz": "Asia/Shanghai"},
        {"kind": "Cron", "expr": "0  9 * * 1-5", "timezone": "asia/shanghai"},
        {"cron_expr": "0 9 * * 1-5", "tz": "Asia/Shanghai", "timezone": "Asia/Shanghai"},
        {"cronExpr": " 0 9 * * 1-5 ", "tz": "Asia/Shanghai"},
        {"when": "0 9 * * 1-5", "tz": "Asia/Shanghai"},
        "0 9 * * 1-5 Asia/Shanghai",
    ],
)
def test_all_spellings_of_a_cron_are_one(raw: object):
    assert read(raw) == Cron(cron="0 9 * * 1-5", tz="Asia/Shanghai")


def test_an_alias_stays_as_the_person_gave_it():
    assert read({"cron": "@daily"}) == Cron(cron="@daily", tz=ZONE)


@pytest.mark.parametrize(
    ("raw", "code", "field"),
    [
        ({"at": "10m", "every": "10m"}, "schedule_twice", "schedule"),
        ({"cron": "0 9 * * *", "at": "2026-11-20T18:00"}, "schedule_twice", "schedule"),
        ({"at": "2026-11-20T18:00", "atMs": LATER_MS}, "schedule_twice", "schedule"),
        ({"when": "every day at 9", "cron": "0 9 * * *"}, "schedule_twice", "schedule"),
        ({"kind": "every", "cron": "0 9 * * *"}, "schedule_twice", "schedule.kind"),
        ({"cron": "0 9 * * *", "tz": "UTC", "timezone": "Asia/Tokyo"}, "schedule_twice", "schedule.timezone"),
        ({}, "missing", "schedule"),
        ({"kind": "at"}, "missing", "schedule.at"),
        ({"kind": "every", "every_ms": None}, "missing", "schedule.every_ms"),
        ({"kind": "cron", "cron": ""}, "missing", "schedule.cron"),
        ({"tz": "UTC"}, "missing", "schedule"),
        ({"kind": "weekly", "cron": "0 9 * * *"}, "out_of_range", "schedule.kind"),
        ({"kind": 3, "cron": "0 9 * * *"}, "wrong_type", "schedule.kind"),
        ({"cron": "0 9 * * *", "tz": "Mars/Olympus"}, "unknown_timezone", "schedule.tz"),
        ({"cron": "0 9 * * *", "tz": 7}, "wrong_type", "schedule.tz"),
        ({"cron": 9}, "wrong_type", "schedule.cron"),
        ({"when": "61 * * * *"}, "schedule_unreadable", "when"),
        ({"cron": "nine o'clock"}, "schedule_unreadable", "schedule.cron"),
        ({"every_ms": "soon"}, "wrong_type", "schedule.every_ms"),
        ({"every_ms": True}, "wrong_type", "schedule.every_ms"),
        ({"every_ms": [1]}, "wrong_type", "schedule.every_ms"),
        ({"every_ms": float("nan")}, "wrong_type", "schedule.every_ms"),
        ({"every": "day at 9"}, "schedule_unreadable", "schedule.every"),
        ({"every_ms": 0}, "out_of_range", "schedule.every_ms"),
        ({"every_ms": -5}, "out_of_range", "schedule.every_ms"),
        ({"every_seconds": 1e15}, "out_of_range", "schedule.every_seconds"),
        ({"at": "every day at 9"}, "wrong_type", "schedule.at"),
        ({"atMs": "tomorrow"}, "wrong_type", "schedule.at_ms"),
        ({"atMs": 10**30}, "out_of_range", "schedule.at"),
        ({"at": ["2026"]}, "wrong_type", "schedule.at"),
        ({"at": "2027-03-28T02:30"}, "time_does_not_exist", "schedule.at"),
        ({"cron": "0 9 * * *", "anchor": "2026-11-20T18:00"}, "unknown_field", "schedule.anchor"),
        ({"crom": "0 9 * * *"}, "unknown_field", "schedule.crom"),
    ],
)
def test_a_schedule_that_cannot_be_taken_is_refused_by_field_and_code(raw: dict[str, object], code: str, field: str):
    assert [(error.code, error.field) for error in refusal(raw).errors] == [(code, field)]


def test_an_unknown_field_is_answered_with_the_nearest_known_one():
    assert "'cron'" in refusal({"crom": "0 9 * * *"}).detail


def test_two_schedules_are_named_as_people_write_them() -> None:
    with pytest.raises(Invalid, match="'cron' and 'every_ms' are 2 schedules"):
        read({"cron": "0 9 * * *", "everyMs": 5})
