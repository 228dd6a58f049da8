"""Due instants, by a calendar of our own: each has one run row, or is counted in one."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from torture.checks.violation import Violation, broken
from torture.evidence import Evidence, Row

_SECOND = 1_000_000
_EVERY_SECONDS = re.compile(r"\*/(\d+) \* \* \* \* \*")


def every_instant_once(evidence: Evidence) -> Iterator[Violation]:
    """From its first instant on, an unedited job's runs and counted skips are its calendar, without gap or overlap."""
    edited = {line["job_id"] for line in evidence.told("edited")}
    runs: dict[str, list[Row]] = {}
    for run in evidence["run"]:
        if run["trigger"] in ("timer", "catch_up"):
            runs.setdefault(run["job_id"], []).append(run)
    for job in evidence["job"]:
        if job["id"] not in edited and job["kind"] == "user":
            yield from _covered(job, sorted(runs.get(job["id"], []), key=lambda run: run["scheduled_for"]))


def _covered(job: Row, runs: list[Row]) -> Iterator[Violation]:
    if not runs:
        return
    until = max(run["missed_until"] or run["scheduled_for"] for run in runs)
    grid = _grid(job, until)
    if grid is None:
        return
    place = 0
    for run in runs:
        first = bisect_left(grid, run["scheduled_for"])
        last = (
            bisect_right(grid, run["missed_until"]) if run["state"] == "skipped" and run["missed_until"] else first + 1
        )
        if first == len(grid) or grid[first] != run["scheduled_for"]:
            yield broken("instant_invented", f"{run['id']} stands for an instant that {job['id']} never had")
            return
        if first < place:
            yield broken("instant_twice", f"{run['id']} stands for an instant that is accounted for already")
            return
        if first > place:
            yield broken("instant_without_run", f"{job['id']}: {first - place} instants before {run['id']} have no row")
            return
        if run["state"] == "skipped" and (run["missed_count"] or 1) != last - first:
            yield broken(
                "instant_miscounted",
                f"{run['id']} counts {run['missed_count']} instants, and there were {last - first}",
            )
        place = last


def _grid(job: Row, until: int) -> list[int] | None:
    """Compute a job's instants after its creation; None for a schedule that is not of this load."""
    # Times are whole milliseconds, rounded up: what comes due within the one of its creation is no instant of its own.
    after = -(-job["created_at"] // 1000) * 1000
    match job["schedule_kind"]:
        case "at":
            return [job["at"]]
        case "every":
            step, anchor = job["every_ms"] * 1000, job["anchor"]
            # Anchored at its creation, in whole milliseconds: that is where it begins, and no instant of its own.
            after = anchor if 0 <= anchor - after < 1000 else after
            first = anchor + max(0, (after - anchor) // step + 1) * step
            return list(range(first, until + 1, step))
        case _:
            found = _EVERY_SECONDS.fullmatch(job["cron"])
            if found is None or job["tz"] != "UTC" or 60 % int(found[1]):
                return None
            step = int(found[1]) * _SECOND
            return list(range((after // step + 1) * step, until + 1, step))


CHECKS = (every_instant_once,)
