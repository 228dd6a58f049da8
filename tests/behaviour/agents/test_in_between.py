"""Between a question and its answer: a conversation is deleted, a grant taken back, an agent gone, a turn stopped."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from behaviour.agents.company import CHAT, Company, sends
from homing.agent.journal import Tool, ToolCall
from homing.model.errors import Conflict
from homing.operations.agent_messages import askers_of, tell_askers
from homing.operations.agents import add_agent, remove_agent
from homing.operations.context import Context
from homing.operations.grants import remove_grant
from homing.operations.session_deletion import delete_session
from homing.operations.sessions import update_session
from homing.operations.shapes.agent import AddAgent, AgentRef
from homing.operations.shapes.people_asks import GrantRef
from homing.operations.shapes.session_asks import DeleteSession, UpdateSession
from homing.store import inbounds, sessions
from homing.store import tables as t
from homing.testing import tool_call
from support.worlds import OWNER_CALLER

RESEARCH = "agent:research"
NOT_READ = "A message that you sent to another agent was not read and is not answered: "


def do(company: Company, operation: Callable[[Context, Any], object], ask: object) -> None:
    company.ledger.write(lambda tx: operation(Context(tx=tx, caller=OWNER_CALLER, instance=company.instance), ask))


async def ask(company: Company, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Main asks research; nobody has looked at it yet. `meanwhile` happens while research is at work."""

    async def run(call: ToolCall) -> str:
        meanwhile()
        return "done"

    company.tools = [Tool(name="look", description="", parameters={"type": "object"}, run=run, repeatable=True)]
    company.model.when("Ask", sends("research", "How red are apples?"), "I asked.")
    company.model.when("Your answer goes back", [tool_call("look", {})], "Very red.")
    company.model.otherwise("Good.")
    company.ledger.say("Ask")
    await company.work()
    assert [row.state for row in company.asked()] == ["waiting"]


def told(company: Company) -> list[str]:
    """What waits in the asking conversation for its next turn."""
    waits = (t.inbound.c.session_id == company.ledger.session(CHAT).id, t.inbound.c.state == "waiting")
    assert {row.line for row in company.rows(t.inbound, *waits)} <= {"note"}
    return [row.text for row in company.rows(t.inbound, *waits)]


async def test_a_grant_taken_back_withdraws_what_nobody_has_read_and_tells_the_agent(company: Company) -> None:
    grant = company.grant()
    await ask(company)
    do(company, remove_grant, GrantRef(grant_id=grant.id))
    assert [row.state for row in company.asked()] == ["withdrawn"]
    assert told(company) == [f"{NOT_READ}the grant was taken back."]
    assert await company.work(RESEARCH) == "empty"


async def test_what_was_asked_before_its_grant_was_taken_back_is_still_answered(company: Company) -> None:
    grant = company.grant()
    await ask(company, lambda: do(company, remove_grant, GrantRef(grant_id=grant.id)))
    await company.work_all()
    assert company.ledger.texts() == ["Ask", "I asked.", "Very red.", "Good."]


async def test_a_deleted_conversation_answers_nothing_and_its_asker_is_told(company: Company) -> None:
    company.grant()
    await ask(company)
    do(company, delete_session, DeleteSession(session_key=RESEARCH))
    assert told(company) == [f"{NOT_READ}the conversation was deleted."]
    # Asked again, the agent has a new one.
    company.ledger.say("Ask once more")
    await company.work_all()
    assert company.ledger.texts(RESEARCH) == ["How red are apples?", "Very red."]


async def test_a_deleted_conversation_is_not_told_that_its_question_is_not_answered(company: Company) -> None:
    company.grant()
    await ask(company)
    place = company.ledger.session(RESEARCH)
    asked = company.ledger.write(lambda tx: inbounds.waiting_from_agents(tx, session_id=place.id))
    askers = company.ledger.write(lambda tx: askers_of(tx, asked, unified=False))
    assert len(askers) == 1
    # Somebody looked at who asks, as above, and then waited for this deletion.
    do(company, delete_session, DeleteSession(session_key=CHAT))
    company.ledger.write(lambda tx: tell_askers(tx, asked, askers, "the grant was taken back."))
    assert company.rows(t.inbound, t.inbound.c.source == "system") == []


async def test_a_conversation_deleted_while_its_agent_answers_says_so_to_the_asker(company: Company) -> None:
    company.grant()
    await ask(company, lambda: do(company, delete_session, DeleteSession(session_key=RESEARCH)))
    await company.work_all()
    assert company.ledger.texts()[2:] == [
        "(No answer: the conversation in which it was asked was deleted.)",
        "Good.",
    ]


async def test_an_answer_to_a_deleted_conversation_goes_nowhere(company: Company) -> None:
    company.grant()
    await ask(company)
    do(company, delete_session, DeleteSession(session_key=CHAT))
    company.ledger.session(CHAT)
    await company.work_all()
    assert company.ledger.texts(RESEARCH) == ["How red are apples?", "Very red."]
    # Another conversation has the key by now: the answer is not its.
    assert company.ledger.texts(CHAT) == []
    assert len(company.asked()) == 1


async def test_an_agent_that_is_asked_stays_until_its_conversation_is_gone_and_takes_grants_to_it_along(
    company: Company,
) -> None:
    company.grant()
    await ask(company)
    with pytest.raises(Conflict):
        do(company, remove_agent, AgentRef(agent_id="research"))
    with pytest.raises(Conflict):
        do(company, update_session, UpdateSession(session_key=RESEARCH, agent_id="writer"))
    do(company, delete_session, DeleteSession(session_key=RESEARCH))
    do(company, remove_agent, AgentRef(agent_id="research"))
    assert company.rows(t.grant) == []
    # Another agent of that id is not reached by what was granted for the first.
    do(company, add_agent, AddAgent(id="research", name="Another"))
    company.ledger.say("Ask once more")
    await company.work_all()
    assert len(company.asked()) == 1


async def test_an_answer_given_to_its_user_alone_is_not_told_where_others_write_by_now(company: Company) -> None:
    chat = company.ledger.session(CHAT)
    company.grant()
    await ask(company, lambda: company.ledger.write(lambda tx: sessions.mark_several(tx, chat.id)))
    await company.work_all()
    assert company.ledger.texts()[2:] == ["(Answered in its own conversation: other people write here now.)", "Good."]
    assert company.ledger.texts(RESEARCH) == ["How red are apples?", "Very red."]


async def test_an_answer_that_was_stopped_is_told_as_such(company: Company) -> None:
    company.grant()
    await ask(company, lambda: company.ledger.cancel(RESEARCH))
    await company.work_all()
    assert company.ledger.texts()[2].startswith("(Somebody stopped it.) ")
    assert company.ledger.texts()[3] == "Good."


async def test_an_answer_that_failed_is_told_as_such(company: Company) -> None:
    company.grant()
    await ask(company)
    company.model.fail(400, match="Your answer goes back")
    await company.work_all()
    assert company.ledger.texts()[2].startswith("(It did not finish.) I could not answer")
    assert company.ledger.texts()[3] == "Good."


async def test_people_answer_for_the_asked_agent_like_in_any_conversation(company: Company) -> None:
    company.grant()
    await ask(company)
    company.ledger.say("They are green, too.", RESEARCH)
    await company.work_all()
    # Whoever speaks first is answered first, and the agent that asked gets the answer to its own question only.
    answers = [row for row in company.asked() if row.grant_id is None]
    assert [row.text for row in answers] == ["Very red."]
    assert company.ledger.count(t.message, t.message.c.session_id == company.ledger.session(RESEARCH).id) == 4


async def test_an_isolated_run_asks_and_its_conversation_gets_the_answer(company: Company) -> None:
    company.grant()
    company.model.when("in a session of its own", sends("research", "How red are apples?"), "I asked.")
    company.model.when("Your answer goes back", "Very red.")
    company.model.otherwise("Good.")
    company.ledger.run("Work apart", isolated=True)
    await company.work_all()
    assert "Very red." in company.ledger.texts(CHAT)
    asked, answered = company.asked()
    session = company.ledger.session(CHAT)
    assert (answered.session_id, asked.meta["from_session"]) == (session.id, CHAT)


async def test_in_unified_sessions_the_answer_comes_back_into_the_shared_lane(room_store: Any) -> None:
    company = Company(room_store, unified_session="on")
    company.grant()
    company.model.when("Ask", sends("research", "How red are apples?"), "I asked.")
    company.model.when("Your answer goes back", "Very red.")
    company.model.otherwise("Good.")
    company.ledger.say("Hello", "web:other")
    await company.work("web:other")
    company.ledger.say("Ask")
    await company.work_all()
    lanes = {row.id: row.key for row in company.ledger.write(lambda tx: tx.rows(sa.select(t.session)))}
    asked, answered = company.asked()
    assert lanes[asked.lane_id] == "unified:default:research"
    assert (lanes[answered.lane_id], lanes[answered.session_id]) == ("unified:default", CHAT)
    assert company.ledger.texts() == ["Ask", "I asked.", "Very red.", "Good."]
    assert company.ledger.texts("web:other") == ["Hello", "Good."]
