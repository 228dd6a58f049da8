"""A worker killed between an agent's question and its answer: both are sent once, and the asker goes on."""

import pytest
import sqlalchemy as sa

from homing.model.agents import Agent
from homing.model.people import OWNER
from homing.store import Tx, agents, people
from homing.store import tables as t
from homing.testing import StubModelServer, tool_call
from support.crews import Crew
from support.ledger import CHAT, Ledger
from support.tripwires import Place, Trip

RESEARCH = "agent:research"


def furnish(tx: Tx) -> None:
    agents.add(tx, Agent(id="research", name="Research", instructions="Be exact."))
    tx.run(sa.update(t.agent).values(tools=None))
    people.add_grant(tx, user_id=OWNER, agent_id="main", address=RESEARCH)


@pytest.mark.parametrize("place", ["before", "commit", "committed"])
@pytest.mark.parametrize("nth", [1, 2], ids=["question", "answer"])
def test_killed_around_the_commit_of_a_question_or_its_answer_both_come_once(
    crew: Crew, ledger: Ledger, stub: StubModelServer, nth: int, place: Place
) -> None:
    ledger.write(furnish)
    ask = tool_call("send_message", {"to": "research", "text": "How red are apples?"}, call_id="call_1")
    stub.when("ask research", ask, "I asked.")
    stub.when("Your answer goes back to it", "Very red.")
    stub.when("answered a message that you sent it", "Research says: very red.")
    crew.start(trip=Trip(statement="insert into inbound", place=place, nth=nth))
    ledger.say("ask research")
    crew.ring()
    crew.workers[0].wait_ended()
    written = nth if place == "committed" else nth - 1
    assert ledger.count(t.inbound, t.inbound.c.source == "agent") == written
    crew.relieve(None)
    crew.ring()
    ledger.until_closed(2)
    assert ledger.texts(CHAT) == ["ask research", "I asked.", "Very red.", "Research says: very red."]
    assert ledger.texts(RESEARCH) == ["How red are apples?", "Very red."]
    assert ledger.count(t.inbound, t.inbound.c.source == "agent") == 2
    assert [turn.outcome for turn in ledger.turns(None)] == ["answered"] * 3
