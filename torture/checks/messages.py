"""People's words: each that was accepted is in exactly one turn, and shown once."""

from collections.abc import Iterator

from torture.checks.violation import Violation, broken
from torture.evidence import Evidence, Row


def none_lost(evidence: Evidence) -> Iterator[Violation]:
    """Every accepted message is in one turn of its own session; only a deleted session may give its up."""
    inbounds = {row["id"]: row for row in evidence["inbound"]}
    for line in evidence.told("message"):
        inbound = inbounds.get(line["inbound_id"])
        if inbound is None or inbound["text"] != line["text"]:
            yield broken("message_lost", f"{line['inbound_id']} ({line['text']}) was accepted and is nowhere")
        elif inbound["state"] == "waiting":
            yield broken("message_lost", f"{inbound['id']} still waits")
        elif inbound["state"] == "withdrawn" and evidence.sessions[inbound["session_id"]]["deleted_at"] is None:
            yield broken("message_lost", f"{inbound['id']} was withdrawn from a living session")


def taken_once(evidence: Evidence) -> Iterator[Violation]:
    """What was taken stands once in history, in the turn and the session that took it."""
    shown: dict[str, list[Row]] = {}
    for message in evidence["message"]:
        if message["inbound_id"] is not None:
            shown.setdefault(message["inbound_id"], []).append(message)
    for inbound in evidence["inbound"]:
        found = shown.get(inbound["id"], [])
        if inbound["state"] != "taken":
            if found:
                yield broken("message_in_two_turns", f"{inbound['id']} is {inbound['state']}, yet history shows it")
            continue
        turn = evidence.turns.get(inbound["turn_id"])
        if turn is None or turn["lane_id"] != inbound["lane_id"]:
            yield broken(
                "message_lost", f"{inbound['id']} was taken by {inbound['turn_id']}, which is no turn of its lane"
            )
        elif len(found) != 1 or not _stands(found[0], turn) or found[0]["session_id"] != inbound["session_id"]:
            rule = "message_in_two_turns" if len(found) > 1 else "message_lost"
            yield broken(rule, f"{inbound['id']} of {turn['id']} stands {len(found)} times in history")


def _stands(message: Row, turn: Row) -> bool:
    """A note that a turn without news took along stands for itself: that turn's own history is not told."""
    alone = message["kind"] == "note" and turn["source"] == "run" and turn["reason"] in {"quiet", "empty"}
    return message["turn_id"] == (None if alone else turn["id"])


def said_once(evidence: Evidence) -> Iterator[Violation]:
    """A request asked again under its key is one message; and nobody hears voices."""
    asked = {line["text"] for what in ("message", "unknown") for line in evidence.told(what)}
    known: dict[str, str] = {}
    for inbound in evidence["inbound"]:
        if inbound["source"] != "person":
            continue
        if inbound["text"] in known:
            yield broken("message_doubled", f"{known[inbound['text']]} and {inbound['id']} are one message")
        elif inbound["text"] not in asked:
            yield broken("message_doubled", f"{inbound['id']} was said by nobody: {inbound['text']!r}")
        known[inbound["text"]] = inbound["id"]
    for line in evidence.told("again"):
        if not line["same"]:
            yield broken("message_doubled", f"{line['inbound_id']} got another answer when asked again under its key")


CHECKS = (none_lost, taken_once, said_once)
