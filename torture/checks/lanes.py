"""Lanes: one open turn at a time, first in, first out within a kind."""

from collections.abc import Iterator
from itertools import pairwise

from torture.checks.violation import Violation, broken
from torture.evidence import Evidence, Row


def one_at_a_time(evidence: Evidence) -> Iterator[Violation]:
    """Never two turns of a lane at once: by the numbers of their messages, and by the store's clock."""
    for line in evidence.seen:
        yield broken(line["rule"], f"seen while it was so: {line['id']}")
    for turns in _by_lane(evidence).values():
        last: dict[int, Row] = {}
        for turn in turns:
            before = last.get(turn["session_id"])
            if before is not None and _meet(before, turn):
                yield broken("two_turns_at_once", f"{before['id']} and {turn['id']}: their messages are interleaved")
            last[turn["session_id"]] = turn
        for one, other in pairwise(turns):
            late = one["closed_at"] is None or one["closed_at"] > other["opened_at"]
            if late and not evidence.clock_moved:
                yield broken("two_turns_at_once", f"{other['id']} opened before {one['id']} had closed")


def _by_lane(evidence: Evidence) -> dict[int, list[Row]]:
    lanes: dict[int, list[Row]] = {}
    for turn in sorted(evidence["turn"], key=lambda turn: turn["n"]):
        lanes.setdefault(turn["lane_id"], []).append(turn)
    return lanes


def _meet(one: Row, other: Row) -> bool:
    ended = one["closing_seq"] if one["closing_seq"] is not None else one["opening_seq"]
    return other["opening_seq"] <= ended


def in_order(evidence: Evidence) -> Iterator[Violation]:
    """First in, first out within a kind. A message that is injected passes only those that asked to be queued."""
    lines: dict[tuple[int, str], list[Row]] = {}
    for inbound in sorted(evidence["inbound"], key=lambda inbound: inbound["n"]):
        if inbound["state"] == "taken" and inbound["line"] != "note" and inbound["turn_id"] in evidence.turns:
            lines.setdefault((inbound["lane_id"], inbound["line"]), []).append(inbound)
    for line in lines.values():
        yield from _ordered([one for one in line if not one["injected"]], evidence)
        yield from _ordered([one for one in line if one["mode"] == "inject"], evidence)


def _ordered(line: list[Row], evidence: Evidence) -> Iterator[Violation]:
    for one, other in pairwise(line):
        if evidence.turns[one["turn_id"]]["n"] > evidence.turns[other["turn_id"]]["n"]:
            yield broken("out_of_order", f"{other['id']} came after {one['id']} and was taken before it")


CHECKS = (one_at_a_time, in_order)
