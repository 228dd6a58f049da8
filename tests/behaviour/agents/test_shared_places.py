"""In a shared place: guests reach no other agent, and what its user asks there is kept apart (rule 60)."""

from dataclasses import replace

import pytest

from behaviour.agents.company import Company, sends
from homing.model.agents import SEND_MESSAGE
from homing.model.people import OWNER
from homing.operations.context import Context
from homing.operations.memories import add_memory
from homing.operations.shapes.people_asks import AddMemory
from homing.store import Tx, agents, sessions
from homing.store import tables as t
from support.worlds import OWNER_CALLER

GROUP = "chat:-100"


@pytest.fixture
def shared(company: Company) -> Company:
    """A group of the owner in which others write, too; main may ask research."""
    session = company.ledger.session(GROUP)
    company.ledger.write(lambda tx: sessions.mark_several(tx, session.id))
    company.grant()
    company.model.when("Ask", sends("research", "When do tulips bloom?"), "I asked.")
    company.model.when("Your answer goes back", "In spring.")
    company.model.otherwise("Good.")
    return company


def give_guests(tx: Tx, *tools: str) -> None:
    main = agents.lock(tx, "main")
    assert main is not None
    agents.change(tx, replace(main, guest_tools=tools))


def guest_says(company: Company, text: str) -> None:
    meta = {"guest": True, "sender_name": "Eve"}
    company.ledger.say(text, GROUP, sender_id="chat:99", meta=meta)


def told(company: Company) -> str:
    """All that models were shown so far, memories included."""
    return str([info.instructions for info in company.model.infos]) + str(company.model.seen)


async def test_a_guests_turn_has_no_send_message(shared: Company) -> None:
    guest_says(shared, "Ask them")
    await shared.work(GROUP)
    assert SEND_MESSAGE not in {tool.name for tool in shared.model.infos[-1].function_tools}
    assert shared.asked() == []


async def test_even_with_the_tool_a_guest_reaches_no_other_agent(shared: Company) -> None:
    shared.ledger.write(lambda tx: give_guests(tx, SEND_MESSAGE))
    guest_says(shared, "Ask them")
    await shared.work(GROUP)
    [step] = [step for step in shared.ledger.steps(shared.ledger.turn(GROUP).id) if step.kind == "tool"]
    assert "A guest opened this turn" in (step.result or "")
    assert shared.asked() == []


async def test_what_its_user_asks_in_a_shared_place_is_answered_apart_from_their_own_conversations(
    shared: Company,
) -> None:
    caller = OWNER_CALLER
    shared.ledger.write(
        lambda tx: add_memory(
            Context(tx=tx, caller=caller, instance=shared.instance), AddMemory(text="Tulips hide the key of the safe")
        )
    )
    shared.ledger.say("Ask them", GROUP, sender_id="default")
    await shared.work_all()
    group = shared.ledger.session(GROUP)
    apart = shared.ledger.session(f"agent:research:{group.id}")
    assert (apart.several, apart.agent_id, apart.title) == (True, "research", f"Research, asked by {GROUP}")
    assert "the key of the safe" not in told(shared)
    assert shared.ledger.texts(GROUP) == ["Ask them", "I asked.", "In spring.", "Good."]
    # From a conversation of its user's own it is another place, with their memories.
    shared.ledger.say("Ask them")
    await shared.work_all()
    assert shared.ledger.texts("agent:research") == ["When do tulips bloom?", "In spring."]
    assert "the key of the safe" in told(shared)


async def test_a_shared_place_writes_into_no_conversation_of_its_users_own(shared: Company) -> None:
    shared.ledger.session("web:private")
    shared.grant(address="session:web:private")
    shared.model.when("Tell", sends("web:private", "Hello"), "Done.")
    shared.ledger.say("Tell it", GROUP, sender_id="default")
    await shared.work(GROUP)
    [step] = [step for step in shared.ledger.steps(shared.ledger.turn(GROUP).id) if step.kind == "tool"]
    assert "Several people write here" in (step.result or "")
    assert shared.rows(t.inbound, t.inbound.c.source == "agent") == []


async def test_a_guests_turn_is_not_told_where_else_its_agent_may_write(shared: Company) -> None:
    shared.grant(address="email:anna@example.org")
    shared.ledger.write(lambda tx: give_guests(tx, SEND_MESSAGE))
    shared.model.when("Write", sends("email:eve@example.org", "Hello"), "I could not.")
    guest_says(shared, "Write to me")
    await shared.work(GROUP)
    [step] = [step for step in shared.ledger.steps(shared.ledger.turn(GROUP).id) if step.kind == "tool"]
    assert "You may not write to email:eve@example.org" in (step.result or "")
    assert "anna" not in (step.result or "")


async def test_agents_that_ask_on_for_a_shared_place_have_one_conversation_each_there(company: Company) -> None:
    group = company.ledger.session(GROUP)
    company.ledger.write(lambda tx: sessions.mark_several(tx, group.id))
    company.grant()
    company.grant("research", "agent:main")
    company.model.when("Begin", sends("research", "And you?"), "I asked.")
    company.model.when('The agent "Main" (main) sent you', sends("main", "And you?"), "I asked.")
    company.model.when('The agent "Research" (research) sent you', sends("research", "And you?"), "I asked.")
    company.model.otherwise("Good.")
    company.ledger.say("Begin", GROUP, sender_id="default")
    await company.work_all()
    made = company.ledger.write(
        lambda tx: sessions.listed(tx, user_id=OWNER, q=None, channel="agent", before=None, limit=9)
    )
    assert {(one.key, one.title, one.several) for one in made} == {
        (f"agent:research:{group.id}", f"Research, asked by {GROUP}", True),
        (f"agent:main:{group.id}", f"Main, asked by {GROUP}", True),
    }
