"""Approvals: what a person allowed begins once, what nobody allowed never, and the agent is told exactly once.

Effects are counted where they happen: a line that a command left, a memory that was kept.
"""

import json
from collections import Counter
from collections.abc import Iterator

from torture.checks.violation import Violation, broken
from torture.evidence import Evidence, Row

_NOT_DONE = {"pending", "denied", "expired"}
_OVER = {"done", "failed", "unknown", "denied", "expired"}


def actions_once(evidence: Evidence) -> Iterator[Violation]:
    """No approved action begins twice, and none without a yes."""
    lines = Counter(line["token"] for line in evidence.commands)
    memories = Counter(memory["text"] for memory in evidence["memory"])
    for approval in evidence["approval"]:
        args = json.loads(approval["args"])
        if approval["tool"] == "remember":
            count = memories[args["text"]]
        else:
            count = sum(times for token, times in lines.items() if token in args["command"])
        # A command is not begun again after a crash, so one that was taken up by a second worker has no known end.
        again = approval["tool"] == "run_command" and approval["state"] == "done" and approval["attempts"] > 1
        if count > 1 or again:
            yield broken("action_begun_twice", f"{approval['id']} ({approval['tool']}) was begun more than once")
        if count and (approval["state"] in _NOT_DONE or approval["answered_by"] is None):
            yield broken("action_without_yes", f"{approval['id']} is {approval['state']}, and it happened")
        if approval["state"] == "done" and approval["tool"] == "remember" and not count:
            yield broken("answer_lost", f"{approval['id']} is called done, and nothing happened")


def told_once(evidence: Evidence) -> Iterator[Violation]:
    """Every approval that is over leads to exactly one inbound; in a deleted conversation to one at most."""
    told = Counter(inbound["meta"].get("approval_id") for inbound in evidence["inbound"] if inbound["meta"])
    for approval in evidence["approval"]:
        gone = evidence.sessions[approval["session_id"]]["deleted_at"] is not None
        count = told[approval["id"]]
        wanted = 1 if approval["state"] in _OVER else 0
        if count != wanted and not (gone and count == 0):
            yield broken(
                "answer_not_told_once", f"{approval['id']} ({approval['state']}) led to {count} inbounds, not {wanted}"
            )


def answers_kept(evidence: Evidence) -> Iterator[Violation]:
    """An answer that a person heard of is the one that counts, and nothing that was answered yes is left lying."""
    found: dict[str, Row] = {row["id"]: row for row in evidence["approval"]}
    for answer in evidence.told("answered"):
        approval = found.get(answer["approval_id"])
        if approval is None or approval["answered_by"] != answer["user"]:
            yield broken("answer_lost", f"{answer['approval_id']} was answered, and the answer is gone")
        elif (answer["decision"] == "deny") != (approval["state"] == "denied"):
            yield broken("answer_lost", f"{approval['id']} is {approval['state']}; {answer['decision']} was heard")
    for approval in evidence["approval"]:
        if approval["state"] in ("approved", "running"):
            yield broken("stuck", f"{approval['id']} is still {approval['state']}")


CHECKS = (actions_once, told_once, answers_kept)
