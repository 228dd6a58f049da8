"""Many conversations, several workers: each in strict order, none overlapping itself, nothing lost."""

from collections import defaultdict
from itertools import pairwise

import pytest

from homing.store import tables as t
from homing.testing import Reply, StubModelServer
from homing.testing.request_log import LoggedRequest
from support.crews import Crew
from support.ledger import Ledger


def test_two_sessions_run_side_by_side_while_each_keeps_its_order(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    stub.when("left 1", Reply(text="slow", hold="left"))
    crew.start(claim_seconds=60)
    for number in (1, 2, 3):
        ledger.say(f"left {number}", "web:left", mode="queue")
        ledger.say(f"right {number}", "web:right", mode="queue")
    crew.ring()
    # The right one goes all its way while the left one still thinks about its first message.
    ledger.until_closed(3, "web:right")
    assert [turn.state for turn in ledger.turns("web:left")] == ["running"]
    stub.release("left")
    ledger.until_closed(3, "web:left")
    assert said(stub, "left") == ["left 1", "left 2", "left 3"]
    assert said(stub, "right") == ["right 1", "right 2", "right 3"]
    for key in ("web:left", "web:right"):
        ledger.check_whole(key)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_four_workers_answer_two_hundred_messages_of_twenty_sessions_without_overlap_reorder_or_loss(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    sessions, each = 20, 10
    for _ in range(4):
        crew.start(claim_seconds=30, slots=8)
    for number in range(each):
        for session in range(sessions):
            ledger.say(f"s{session} m{number}", f"web:s{session}", mode="queue")
        crew.ring()
    ledger.until(lambda: ledger.count(t.turn, t.turn.c.state == "closed") == sessions * each, "all closed", seconds=90)
    # By the stub's log: one call each, in order, the next one only after the last was answered.
    calls: dict[str, list[LoggedRequest]] = defaultdict(list)
    for request in stub.requests:
        calls[request.last_user_text.split()[0]].append(request)
    assert len(stub.requests) == sessions * each
    for session in range(sessions):
        mine = calls[f"s{session}"]
        assert [request.last_user_text for request in mine] == [f"s{session} m{number}" for number in range(each)]
        for before, after in pairwise(mine):
            assert before.finished_at is not None
            assert before.finished_at <= after.arrived_at
    # By the rows: every message has its answer, right behind it.
    for session in range(sessions):
        key = f"web:s{session}"
        assert ledger.texts(key) == [
            text for number in range(each) for text in (f"s{session} m{number}", f"You said: s{session} m{number}")
        ]
        ledger.check_whole(key)
        turns = ledger.turns(key)
        assert all(a.closed_at and a.closed_at <= b.opened_at for a, b in pairwise(turns))


def said(stub: StubModelServer, name: str) -> list[str]:
    texts = [request.last_user_text for request in stub.requests]
    return [text for text in texts if text.startswith(name)]
