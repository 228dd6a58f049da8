"""Agents that write to each other: what one sent is taken once, what the other closed with comes back once."""

from collections import Counter
from collections.abc import Iterator

from torture.checks.violation import Violation, broken
from torture.evidence import Evidence, Row

# How the tool begins its result when the message is on its way.
_SENT = "Sent to "


def asked_once(evidence: Evidence) -> Iterator[Violation]:
    """Each message that a step says was sent is one inbound, and a turn of the asked conversation took it."""
    sent = Counter(
        step["turn_id"]
        for step in evidence["step"]
        if step["name"] == "send_message" and step["state"] == "done" and _said(step).startswith(_SENT)
    )
    asked = _asked(evidence)
    came = Counter(inbound["meta"]["asking_turn_id"] for inbound in asked)
    for turn_id in sent.keys() | came.keys():
        if sent[turn_id] != came[turn_id]:
            yield broken(
                "agent_message_not_once", f"{turn_id} sent {sent[turn_id]} messages, and {came[turn_id]} came in"
            )
    for inbound in asked:
        living = evidence.sessions[inbound["session_id"]]["deleted_at"] is None
        if inbound["state"] != "taken" and living:
            yield broken("agent_message_not_once", f"{inbound['id']} of another agent is {inbound['state']}")
        asking = evidence.turns.get(inbound["meta"]["asking_turn_id"])
        if asking is not None and inbound["depth"] != asking["depth"] + 1:
            yield broken("wrong_depth", f"{inbound['id']} is {inbound['depth']} deep, its sender {asking['depth']}")


def answered_once(evidence: Evidence) -> Iterator[Violation]:
    """What each asked turn closed with is one inbound of the conversation that asked, unless that was deleted."""
    back: Counter[tuple[str, int]] = Counter()
    for inbound in evidence["inbound"]:
        if inbound["source"] == "agent" and "answers_turn_id" in inbound["meta"]:
            back[inbound["meta"]["answers_turn_id"], inbound["depth"]] += 1
            living = evidence.sessions[inbound["session_id"]]["deleted_at"] is None
            if inbound["state"] == "withdrawn" and living:
                yield broken("agent_answer_not_once", f"{inbound['id']} was withdrawn from a living session")
    wanted: Counter[tuple[str, int]] = Counter()
    for inbound in _asked(evidence):
        turn = evidence.turns.get(inbound["turn_id"])
        if turn is not None and turn["state"] == "closed":
            wanted[inbound["meta"]["asking_turn_id"], turn["depth"] + 1] += 1
    for asking_id, depth in wanted.keys() | back.keys():
        asking = evidence.turns.get(asking_id)
        gone = asking is None or evidence.sessions[asking["session_id"]]["deleted_at"] is not None
        count, owed = back[asking_id, depth], wanted[asking_id, depth]
        if count > owed or (count < owed and not gone):
            yield broken(
                "agent_answer_not_once", f"{asking_id} got {count} answers of depth {depth} to {owed} messages"
            )


def _asked(evidence: Evidence) -> list[Row]:
    return [row for row in evidence["inbound"] if row["source"] == "agent" and "asking_turn_id" in row["meta"]]


def _said(step: Row) -> str:
    return step["result"] if isinstance(step["result"], str) else ""


CHECKS = (asked_once, answered_once)
