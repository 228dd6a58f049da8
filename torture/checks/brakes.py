"""Loop brakes: every cause is counted one deeper, and nothing but a person keeps a conversation going for long."""

from collections.abc import Iterator

from torture.checks.violation import Violation, broken
from torture.evidence import Evidence, Row

_DEEPEST = 8
_MOST = 30
# Ten minutes, less what a worker may lie frozen between its look at the clock and its lock.
_WITHIN = 540_000_000


def one_deeper(evidence: Evidence) -> Iterator[Violation]:
    """A turn is as deep as what it took, a person's as their message; a report one deeper than its turn."""
    taken: dict[str, int] = {}
    for inbound in evidence["inbound"]:
        turn = evidence.turns.get(inbound["turn_id"])
        along = inbound["line"] == "note" and turn is not None and turn["source"] == "person"
        if inbound["state"] == "taken" and not inbound["injected"] and not along:
            taken[inbound["turn_id"]] = max(taken.get(inbound["turn_id"], 0), inbound["depth"])
        # An agent's answer beyond it is not lost: it waits as a note, and opens no turn.
        if inbound["depth"] > _DEEPEST and (inbound["source"], inbound["line"]) != ("agent", "note"):
            yield broken("too_deep", f"{inbound['id']} is {inbound['depth']} deep")
        if inbound["source"] == "report":
            yield from _reported(inbound, evidence)
    for turn in evidence["turn"]:
        if turn["depth"] != taken.get(turn["id"], turn["depth"]):
            yield broken("wrong_depth", f"{turn['id']} is {turn['depth']} deep, what it took {taken[turn['id']]}")


def _reported(inbound: Row, evidence: Evidence) -> Iterator[Violation]:
    run = evidence.runs.get(inbound["meta"]["cron_run_id"])
    turn = evidence.turns.get(run["turn_id"]) if run is not None else None
    if turn is not None and inbound["depth"] != turn["depth"] + 1:
        yield broken("wrong_depth", f"{inbound['id']} is {inbound['depth']} deep, its turn {turn['depth']}")


def not_too_many(evidence: Evidence) -> Iterator[Violation]:
    """Of the turns that one job, hook, grant or other agents' answers caused a session had only so many in so long."""
    openers = {inbound["turn_id"]: inbound for inbound in evidence["inbound"] if inbound["line"] == "machines"}
    caused: dict[tuple[int, str | None], list[int]] = {}
    for turn in evidence["turn"]:
        opener = openers.get(turn["id"], turn)
        if opener["depth"] > 0 and turn["source"] != "person":
            cause = turn["job_id"] or opener.get("hook_id") or opener.get("grant_id") or turn["source"]
            caused.setdefault((turn["session_id"], cause), []).append(turn["opened_at"])
    for (session_id, cause), opened in caused.items():
        opened.sort()
        for first, beyond in zip(opened, opened[_MOST:], strict=False):
            if beyond - first < _WITHIN and not evidence.clock_moved:
                yield broken("loop_not_braked", f"{cause} caused more than {_MOST} turns of session {session_id}")
                break


CHECKS = (one_deeper, not_too_many)
