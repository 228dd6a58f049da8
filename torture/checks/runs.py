"""Runs: one active a job, each with the outcome of its turn, nothing fired twice."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from torture.checks.violation import Violation, broken
from torture.evidence import Evidence, Row

# A tick reads the clock before it takes its jobs, and may be frozen in between.
_SLACK = 15_000_000
_STATES = {"answered": "ok", "empty": "ok", "failed": "error", "cancelled": "cancelled"}


def one_active(evidence: Evidence) -> Iterator[Violation]:
    """Never two active runs of a job."""
    jobs: dict[str, list[Row]] = {}
    for run in sorted(evidence["run"], key=lambda run: run["n"]):
        if run["state"] != "skipped":
            jobs.setdefault(run["job_id"], []).append(run)
    for runs in jobs.values():
        for one, other in pairwise(runs):
            active = one["finished_at"] is None or one["finished_at"] > other["queued_at"] + _SLACK
            if active and not evidence.clock_moved:
                yield broken("two_active_runs", f"{other['id']} was queued while {one['id']} was active")
            if _turned_over(one, other, evidence):
                yield broken("two_active_runs", f"the turn of {other['id']} opened before that of {one['id']} closed")


def _turned_over(one: Row, other: Row, evidence: Evidence) -> bool:
    first, second = evidence.turns.get(one["turn_id"]), evidence.turns.get(other["turn_id"])
    if first is None or second is None:
        return False
    if first["session_id"] == second["session_id"]:
        return first["closing_seq"] is not None and second["opening_seq"] <= first["closing_seq"]
    late = first["closed_at"] is None or first["closed_at"] > second["opened_at"]
    return late and not evidence.clock_moved


def outcome_of_its_turn(evidence: Evidence) -> Iterator[Violation]:
    """A run that opened ended as its turn did; a turn of a run is that run's only one."""
    for turn in evidence["turn"]:
        if turn["run_id"] is None:
            continue
        run = evidence.runs.get(turn["run_id"])
        if run is None or run["turn_id"] != turn["id"]:
            yield broken("run_without_turn", f"{turn['id']} says it is of {turn['run_id']}, which knows nothing of it")
        elif turn["state"] == "closed" and run["state"] != _STATES[turn["outcome"]]:
            yield broken("run_without_outcome", f"{run['id']} is {run['state']}, its turn {turn['outcome']}")
    for run in evidence["run"]:
        if run["state"] in ("queued", "running"):
            yield broken("run_without_outcome", f"{run['id']} is still {run['state']}")
        job = evidence.jobs[run["job_id"]]
        ran = run["state"] == "ok" and job["payload_kind"] == "agent_turn"
        if ran and run["turn_id"] not in evidence.turns and not _edited(job, evidence):
            yield broken("run_without_turn", f"{run['id']} is ok, and no turn was opened for it")


def _edited(job: Row, evidence: Evidence) -> bool:
    return any(line["job_id"] == job["id"] for line in evidence.told("edited"))


def waits_for_its_run(evidence: Evidence) -> Iterator[Violation]:
    """What stood in a lane for a run and was withdrawn ends that run without a turn."""
    for inbound in evidence["inbound"]:
        if inbound["source"] != "run":
            continue
        run = evidence.runs.get(inbound["run_id"])
        if run is None:
            yield broken("run_without_turn", f"{inbound['id']} waits for {inbound['run_id']}, which is no run")
            continue
        if inbound["state"] == "withdrawn" and run["state"] in ("ok", "error") and run["turn_id"] is None:
            yield broken("run_without_turn", f"{run['id']} is {run['state']}, yet {inbound['id']} was withdrawn")
        if inbound["state"] == "taken" and run["turn_id"] != inbound["turn_id"]:
            yield broken("run_without_turn", f"{inbound['id']} opened {inbound['turn_id']}, {run['id']} another turn")


def reports_come_home(evidence: Evidence) -> Iterator[Violation]:
    """Each answer of an isolated run is in one report to its conversation, or counted in one."""
    told: Counter[str] = Counter()
    for inbound in evidence["inbound"]:
        if inbound["source"] == "report" and inbound["state"] != "withdrawn":
            told[inbound["job_id"]] += inbound["meta"].get("count", 1)
    for message in evidence["message"]:
        # Laid in by a brake instead of opening a turn.
        if message["kind"] == "report" and message["role"] == "user" and message["turn_id"] is None:
            told[message["job_id"]] += message["meta"].get("count", 1)
    answered: Counter[str] = Counter()
    for turn in evidence["turn"]:
        session = evidence.sessions[turn["session_id"]]
        # An agent without news says so in a status line instead.
        told_something = turn["outcome"] == "answered" and turn["reason"] != "quiet"
        if turn["run_id"] and session["parent_id"] is not None and told_something:
            answered[turn["job_id"]] += 1
    for job_id, count in answered.items():
        job = evidence.jobs[job_id]
        home = evidence.sessions[job["session_id"]]
        whole = job["continues"] and job["write_back"] == "full" and home["deleted_at"] is None
        if whole and not _edited(job, evidence) and told[job_id] != count:
            yield broken("report_lost", f"{job_id} answered {count} times apart, and reported {told[job_id]} of them")


CHECKS = (one_active, outcome_of_its_turn, waits_for_its_run, reports_come_home)
