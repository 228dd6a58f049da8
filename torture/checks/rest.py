"""At the end nothing is stuck: nobody waits, nothing is due, no claim is held."""

from collections.abc import Iterator

from torture.checks.violation import Violation, broken
from torture.evidence import Evidence


def nothing_stuck(evidence: Evidence) -> Iterator[Violation]:
    """Whoever waited had their turn; every job is at rest, for all were paused."""
    for inbound in evidence["inbound"]:
        if inbound["state"] == "waiting" and inbound["line"] != "note":
            yield broken("stuck", f"{inbound['id']} ({inbound['source']}) still waits in lane {inbound['lane_id']}")
    for job in evidence["job"]:
        if job["next_run_at"] is not None:
            yield broken("stuck", f"{job['id']} is still due, at {job['next_run_at']}")
    for turn in evidence["turn"]:
        if turn["state"] != "closed" or turn["claimed_until"] is not None or turn["worker_id"] is not None:
            yield broken("stuck", f"{turn['id']} is still held by {turn['worker_id']}")


def nothing_of_ours_broke(evidence: Evidence) -> Iterator[Violation]:
    """No tool of this load fails for good and no schedule is bad: whatever ends so is a bug of ours."""
    for turn in evidence["turn"]:
        if turn["outcome"] == "failed" and turn["reason"] == "tool":
            why = (turn["error"] or "").strip().rpartition("\n")[2]
            yield broken("broke_inside", f"{turn['id']} failed by itself: {why[:200]}")
    for run in evidence["run"]:
        if run["reason"] == "schedule":
            yield broken("broke_inside", f"{run['id']}: {run['error']}")


def numbers_whole(evidence: Evidence) -> Iterator[Violation]:
    """A session's messages are numbered from 1 without a gap, and none has a revision above its session's."""
    seqs: dict[int, list[int]] = {}
    for message in evidence["message"]:
        seqs.setdefault(message["session_id"], []).append(message["seq"])
        if message["rev"] > evidence.sessions[message["session_id"]]["rev"]:
            yield broken("history_torn", f"message {message['session_id']}/{message['seq']} is newer than its session")
    for session_id, found in seqs.items():
        if sorted(found) != list(range(1, len(found) + 1)) or evidence.sessions[session_id]["seq"] != len(found):
            yield broken("history_torn", f"session {session_id} counts {evidence.sessions[session_id]['seq']} messages")


CHECKS = (nothing_stuck, nothing_of_ours_broke, numbers_whole)
