"""A process killed anywhere between a request and its end: each row of the table in docs/failure.md.

What must not be done twice is begun once, every answer counts, and the agent is told exactly once.
"""

import json
from typing import Any

import pytest
import sqlalchemy as sa

from homing.model.approvals import Approval
from homing.store import Tx
from homing.store import rows as r
from homing.store import tables as t
from homing.testing import StubModelServer, tool_call
from support.answerer import answers
from support.crews import Crew
from support.ledger import Ledger
from support.tripwires import Place, Trip

DONE = "I asked for it."
ANSWERED = 7
"""A seed by which the first answer is yes."""


def asks(stub: StubModelServer, tool: str, gate: str = "") -> None:
    """Let the model ask for one call."""
    call = tool_call(tool, json.dumps({"what": "it", "gate": gate}), call_id="call_1")
    stub.when("do it", call, DONE)


def approval(ledger: Ledger) -> Approval:
    [row] = ledger.write(lambda tx: tx.rows(r.approvals))
    return r.approval_of(row)


def told(ledger: Ledger, approval_id: str) -> list[Any]:
    c = t.inbound.c
    statement = sa.select(t.inbound).where(c.meta["approval_id"].as_string() == approval_id)
    return ledger.write(lambda tx: tx.rows(statement))


def approve(ledger: Ledger) -> None:
    """Let a person say yes, as far as rows go; nobody is rung."""

    def work(tx: Tx) -> None:
        now = tx.now()
        yes = {"state": "approved", "answered_by": "default", "answered_at": now}
        tx.run(sa.update(t.approval).where(t.approval.c.state == "pending").values(yes))

    ledger.write(work)


def ask(crew: Crew, ledger: Ledger) -> None:
    """Let a worker ask, and leave."""
    first = crew.start()
    ledger.say("do it")
    crew.ring()
    ledger.until_closed(1)
    first.kill()
    assert approval(ledger).state == "pending"


def check_end(crew: Crew, ledger: Ledger, state: str, deeds: list[str]) -> None:
    """It ended so, was begun so often, and the agent was told once, in one turn."""
    ledger.until(lambda: approval(ledger).finished_at, "the approval has ended")
    ledger.until_closed(2)
    end = approval(ledger)
    assert end.state == state, end
    assert crew.deeds() == deeds
    assert len(told(ledger, end.id)) == 1
    assert ledger.count(t.card) == 1
    assert [turn.outcome for turn in ledger.turns()] == ["answered", "answered"]


@pytest.mark.parametrize("place", ["before", "commit", "committed"])
def test_killed_while_asking_there_is_one_request_with_one_card(
    crew: Crew, ledger: Ledger, stub: StubModelServer, place: Place
) -> None:
    asks(stub, "asked_deed")
    crew.start(trip=Trip(statement="insert into card", place=place))
    ledger.say("do it")
    crew.ring()
    crew.workers[0].wait_ended()
    assert ledger.count(t.approval) == (1 if place == "committed" else 0)
    assert ledger.count(t.card) == ledger.count(t.approval)
    crew.relieve(None)
    [turn] = ledger.until_closed(1)
    assert turn.outcome == "answered"
    assert (approval(ledger).state, ledger.count(t.card)) == ("pending", 1)
    # The call is taken from its step, or made from the kept answer of the model: that is not asked again.
    assert len(stub.requests) == 2
    assert crew.deeds() == []


@pytest.mark.parametrize("place", ["before", "commit", "committed"])
def test_killed_while_answering_it_is_answered_or_not_and_never_done_twice(
    crew: Crew, ledger: Ledger, stub: StubModelServer, place: Place
) -> None:
    asks(stub, "asked_deed")
    ask(crew, ledger)
    # The process that answers is also the one that would act.
    answering = crew.start(trip=Trip(statement="update approval set state", place=place), answers=ANSWERED, wait=False)
    answering.wait_ended()
    assert approval(ledger).state == ("approved" if place == "committed" else "pending")
    assert answers(crew.folder) == {}
    assert crew.deeds() == []
    crew.start(claim_seconds=60, answers=ANSWERED)
    check_end(crew, ledger, "done", ["asked_deed it"])


@pytest.mark.parametrize("tool", ["asked_deed", "asked_look"])
def test_killed_right_after_the_answer_it_is_done_once(
    crew: Crew, ledger: Ledger, stub: StubModelServer, tool: str
) -> None:
    asks(stub, tool)
    ask(crew, ledger)
    approve(ledger)
    # Before the action began: nothing of it is written.
    dying = crew.start(trip=Trip(statement="update approval set state", place="commit"), wait=False)
    dying.wait_ended()
    assert approval(ledger).state == "approved"
    crew.start(claim_seconds=60)
    check_end(crew, ledger, "done", [f"{tool} it"])


@pytest.mark.parametrize(("tool", "state", "deeds"), [("asked_deed", "unknown", 0), ("asked_look", "done", 1)])
def test_killed_between_the_claim_and_the_call_only_a_repeatable_one_is_made(
    crew: Crew, ledger: Ledger, stub: StubModelServer, tool: str, state: str, deeds: int
) -> None:
    asks(stub, tool)
    ask(crew, ledger)
    approve(ledger)
    dying = crew.start(trip=Trip(statement="update approval set state", place="committed"), wait=False)
    dying.wait_ended()
    assert approval(ledger).state == "running"
    crew.start(claim_seconds=60)
    check_end(crew, ledger, state, [f"{tool} it"] * deeds)


@pytest.mark.parametrize(("tool", "state", "deeds"), [("asked_deed", "unknown", 1), ("asked_look", "done", 2)])
def test_killed_in_a_call_it_is_repeated_only_if_that_does_no_harm(
    crew: Crew, ledger: Ledger, stub: StubModelServer, tool: str, state: str, deeds: int
) -> None:
    asks(stub, tool, "action")
    ask(crew, ledger)
    approve(ledger)
    dying = crew.start()
    crew.until_begun(f"{tool} it")
    spare = crew.spare()
    dying.kill()
    crew.open_gate("action")
    crew.relieve(spare)
    check_end(crew, ledger, state, [f"{tool} it"] * deeds)
    if state == "unknown":
        assert "whether it happened is unknown" in stub.requests[-1].messages[-1].text


@pytest.mark.parametrize(("tool", "state", "deeds"), [("asked_deed", "unknown", 1), ("asked_look", "done", 2)])
@pytest.mark.parametrize("place", ["before", "commit"])
def test_killed_while_ending_the_end_is_written_once(
    crew: Crew, ledger: Ledger, stub: StubModelServer, tool: str, state: str, deeds: int, place: Place
) -> None:
    asks(stub, tool)
    ask(crew, ledger)
    approve(ledger)
    dying = crew.start(trip=Trip(statement="insert into inbound", place=place), wait=False)
    dying.wait_ended()
    assert approval(ledger).state == "running"
    assert told(ledger, approval(ledger).id) == []
    crew.start(claim_seconds=60)
    check_end(crew, ledger, state, [f"{tool} it"] * deeds)


@pytest.mark.parametrize("tool", ["asked_deed", "asked_look"])
def test_killed_right_after_ending_only_the_agent_is_left_to_hear_it(
    crew: Crew, ledger: Ledger, stub: StubModelServer, tool: str
) -> None:
    asks(stub, tool)
    ask(crew, ledger)
    approve(ledger)
    dying = crew.start(trip=Trip(statement="insert into inbound", place="committed"), wait=False)
    dying.wait_ended()
    assert approval(ledger).state == "done"
    crew.start(claim_seconds=60)
    check_end(crew, ledger, "done", [f"{tool} it"])
