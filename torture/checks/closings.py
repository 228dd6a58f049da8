"""Closings and outbounds: every opened turn one closing, every closing owed, nothing owed without a cause."""

from collections.abc import Iterator

from torture.checks.violation import Violation, broken
from torture.evidence import Evidence, Row

_LAID_IN = {"note", "reminder", "report", "status"}


def every_turn_closes(evidence: Evidence) -> Iterator[Violation]:
    """One opening, one closing; only a deleted session's turn ends without a word."""
    said: dict[str, list[Row]] = {}
    for message in evidence["message"]:
        if message["turn_id"] is not None and message["role"] == "assistant":
            said.setdefault(message["turn_id"], []).append(message)
    for turn in evidence["turn"]:
        opening = evidence.messages.get((turn["session_id"], turn["opening_seq"]))
        if opening is None or opening["turn_id"] != turn["id"] or opening["role"] != "user":
            yield broken("turn_without_opening", f"{turn['id']} has no opening in history")
        closings = [message["seq"] for message in said.get(turn["id"], [])]
        gone = _gone(evidence, turn["session_id"])
        if turn["state"] != "closed":
            yield broken("turn_without_closing", f"{turn['id']} is still {turn['state']}")
        elif turn["closing_seq"] is None:
            if closings or not gone:
                yield broken("turn_without_closing", f"{turn['id']} closed {turn['outcome']} without a word")
        elif closings != [turn["closing_seq"]]:
            yield broken(
                "turn_without_closing", f"{turn['id']} closed at {turn['closing_seq']}; history has {closings}"
            )


def _gone(evidence: Evidence, session_id: int) -> bool:
    """Deleted, or the session of a run whose conversation was."""
    session = evidence.sessions[session_id]
    home = evidence.sessions.get(session["parent_id"], session)
    return session["deleted_at"] is not None or home["deleted_at"] is not None


def every_closing_is_owed(evidence: Evidence) -> Iterator[Violation]:
    """No closing without its outbound, no outbound without its closing."""
    owed: dict[str, list[Row]] = {}
    for outbound in evidence["outbound"]:
        if outbound["cause"] == "closing":
            owed.setdefault(outbound["turn_id"], []).append(outbound)
    for turn in evidence["turn"]:
        places = [(o["session_id"], o["seq"]) for o in owed.pop(turn["id"], [])]
        wanted = [] if turn["closing_seq"] is None else [(turn["session_id"], turn["closing_seq"])]
        if len(places) < len(wanted):
            yield broken("closing_without_outbound", f"{turn['id']} closed, and nobody is owed its closing")
        elif places != wanted:
            yield broken("outbound_without_cause", f"{turn['id']} is owed at {places}, and closed at {wanted}")
    for turn_id in owed:
        yield broken("outbound_without_cause", f"a closing is owed for {turn_id}, which is no turn")


def everything_owed_is_said(evidence: Evidence) -> Iterator[Violation]:
    """Each outbound is a message, each message of ours is owed once, and to somebody."""
    owed: dict[tuple[int, int], Row] = {}
    carried = {delivery["outbound_n"] for delivery in evidence["delivery"]}
    for outbound in evidence["outbound"]:
        place = (outbound["session_id"], outbound["seq"])
        message = evidence.messages.get(place)
        if message is None:
            yield broken("outbound_without_cause", f"outbound {outbound['n']} owes {place}, where nothing stands")
        elif outbound["cause"] == "note" and message["kind"] not in _LAID_IN:
            yield broken("outbound_without_cause", f"outbound {outbound['n']} owes a note, and {place} is none")
        if outbound["run_id"] is not None and outbound["run_id"] not in evidence.runs:
            yield broken(
                "outbound_without_cause", f"outbound {outbound['n']} is of {outbound['run_id']}, which is no run"
            )
        if place in owed:
            yield broken("outbound_without_cause", f"outbound {outbound['n']} owes {place} a second time")
        owed[place] = outbound
        session = evidence.sessions[outbound["session_id"]]
        # Where an agent is asked by others, its answer goes back to them.
        apart = session["parent_id"] is not None or session["key"].startswith("agent:")
        if outbound["n"] not in carried and not apart:
            yield broken("outbound_without_delivery", f"outbound {outbound['n']} is owed to nobody")
    for place, message in evidence.messages.items():
        if message["role"] == "assistant" and place not in owed:
            yield broken("closing_without_outbound", f"{place} was said in {message['turn_id']} and is owed to nobody")


def reminders_once(evidence: Evidence) -> Iterator[Violation]:
    """A reminder's run is one message on the screen."""
    shown: dict[str, int] = {}
    for message in evidence["message"]:
        if message["kind"] == "reminder":
            shown[message["run_id"]] = shown.get(message["run_id"], 0) + 1
    for run in evidence["run"]:
        if evidence.jobs[run["job_id"]]["payload_kind"] != "reminder":
            continue
        wanted = int(run["state"] == "ok")
        if shown.get(run["id"], 0) != wanted:
            yield broken(
                "reminder_not_once", f"{run['id']} is {run['state']} and was shown {shown.get(run['id'], 0)} times"
            )


CHECKS = (every_turn_closes, every_closing_is_owed, everything_owed_is_said, reminders_once)
