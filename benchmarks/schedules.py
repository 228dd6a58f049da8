"""Next instants against croniter: the same expressions and zones, each expression read afresh, turns interleaved."""

import json
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from croniter import croniter

from homing.model.schedules import Cron, next_after
from homing.model.schedules.expression import parse_afresh
from homing.model.schedules.instants import cron_after

EXPRESSIONS = (
    "* * * * *", "*/5 * * * *", "0 * * * *", "0 9 * * 1-5", "30 2 * * *", "15,45 9-17 * * MON-FRI", "0 0 1 * *",
    "0 18 L * *", "0 0 29 2 *", "0 9 13 * 5", "0 9 * * 1,3,5", "23 0-20/2 * * *",
)  # fmt: skip
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Shanghai", "Australia/Lord_Howe")
START = datetime(2026, 11, 15, 12, 3, 4, tzinfo=UTC)
ROUNDS = 15
GOAL = 4.0


def main(argv: list[str]) -> None:
    """Print one line of JSON per result."""
    rounds = int(argv[0]) if argv else ROUNDS
    # One place on the calendar per round, winter and summer.
    starts = [START + timedelta(days=17 * n) for n in range(rounds)]
    ours, theirs, known = [list[float]() for _ in range(3)]
    for start in starts:
        ours.append(_timed(_ours, start))
        theirs.append(_timed(_theirs, start))
        known.append(_timed(_parsed_once, start))
    calls = len(EXPRESSIONS) * len(ZONES)
    fresh = statistics.median(t / o for o, t in zip(ours, theirs, strict=True))
    again = statistics.median(t / k for k, t in zip(known, theirs, strict=True))
    micros = {"ours_us": _micros(ours, calls), "croniter_us": _micros(theirs, calls), "rounds": rounds}
    _print("next_after_vs_croniter", fresh, goal=GOAL, **micros)
    _print("next_after_parsed_once_vs_croniter", again, ours_us=_micros(known, calls))


def _timed(work: Callable[[str, str, datetime], object], start: datetime) -> float:
    for zone in ZONES:  # zone files are read once by any program
        work(EXPRESSIONS[0], zone, start)
    begun = time.perf_counter()
    for expression in EXPRESSIONS:
        for zone in ZONES:
            work(expression, zone, start)
    return time.perf_counter() - begun


def _ours(expression: str, zone: str, start: datetime) -> object:
    return cron_after(parse_afresh(expression), ZoneInfo(zone), start)


def _theirs(expression: str, zone: str, start: datetime) -> object:
    return croniter(expression, start.astimezone(ZoneInfo(zone))).get_next(datetime)


def _parsed_once(expression: str, zone: str, start: datetime) -> object:
    return next_after(Cron(cron=expression, tz=zone), start)


def _micros(seconds: list[float], calls: int) -> float:
    return round(statistics.median(seconds) / calls * 1e6, 2)


def _print(metric: str, value: float, **more: float) -> None:
    print(json.dumps({"metric": metric, "value": round(value, 2), "unit": "x", **more}))


if __name__ == "__main__":
    main([])
