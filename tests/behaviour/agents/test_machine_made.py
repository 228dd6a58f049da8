"""The conversation in which an agent is asked is made by a machine: no person's, and known by more than its key."""

import pytest
import sqlalchemy as sa

from behaviour.agents.company import CHAT, Company, sends
from homing.model.errors import Conflict
from homing.model.people import OWNER
from homing.operations.context import Context
from homing.operations.heartbeats import lacking_checklists
from homing.operations.homes import find_home
from homing.operations.sessions import update_session
from homing.operations.shapes.session_asks import UpdateSession
from homing.store import Tx, people, sessions
from homing.store import tables as t
from support.worlds import OWNER_CALLER


def home_key(tx: Tx) -> str | None:
    user = people.get_user(tx, OWNER)
    assert user is not None
    home = find_home(tx, user)
    return home.key if home is not None else None


def import_session(company: Company, key: str, agent_id: str = "main") -> None:
    company.ledger.write(lambda tx: sessions.add(tx, key=key, user_id=OWNER, agent_id=agent_id))


def give_agent(company: Company, key: str, agent_id: str) -> str:
    ask = UpdateSession(session_key=key, agent_id=agent_id)
    return company.ledger.write(
        lambda tx: update_session(Context(tx=tx, caller=OWNER_CALLER, instance=company.instance), ask).agent_id
    )


async def ask(company: Company) -> None:
    company.grant()
    company.model.when("Ask", sends("research", "How red are apples?"), "I asked.")
    company.model.when("Your answer goes back", "Very red.")
    company.model.otherwise("Good.")
    company.ledger.say("Ask")
    await company.work_all()


def tool_result(company: Company, key: str = CHAT) -> str:
    [step] = [step for step in company.ledger.steps(company.ledger.turn(key).id) if step.kind == "tool"]
    return step.result or ""


async def test_where_an_agent_is_asked_is_nobodys_home_and_brings_no_checklist(company: Company) -> None:
    looks = (
        sa.update(t.agent).where(t.agent.c.id == "research").values(heartbeat={"checklist": "- look", "minutes": 30})
    )
    company.ledger.write(lambda tx: tx.run(looks))
    await ask(company)
    assert company.ledger.write(lambda tx: lacking_checklists(tx, company.instance.settings)) == []
    chat = company.ledger.session(CHAT)
    company.ledger.write(lambda tx: sessions.delete(tx, chat.id))
    assert company.ledger.write(home_key) is None
    # An imported conversation of a similar key is a person's.
    import_session(company, "agent:research:main", "research")
    assert company.ledger.write(home_key) == "agent:research:main"
    assert company.ledger.write(lambda tx: sessions.users_with(tx, "research")) == [OWNER]


async def test_only_where_an_agent_is_really_asked_its_agent_cannot_change(company: Company) -> None:
    await ask(company)
    with pytest.raises(Conflict):
        give_agent(company, "agent:research", "writer")
    for key in ("agent:main:main", "agent:writer"):
        import_session(company, key)
        assert give_agent(company, key, "research") == "research"
    apart = company.ledger.write(lambda tx: sessions.add(tx, key="agent:main:7", user_id=OWNER, agent_id="main"))
    assert apart is not None
    company.ledger.write(lambda tx: sessions.mark_several(tx, apart.id))
    with pytest.raises(Conflict):
        give_agent(company, "agent:main:7", "research")


async def test_a_conversation_with_another_agent_does_not_get_the_question(company: Company) -> None:
    import_session(company, "agent:research")
    await ask(company)
    assert "The conversation agent:research is used for something else" in tool_result(company)
    assert company.asked() == []
    assert company.ledger.texts("agent:research") == []


async def test_a_refusal_lists_what_is_granted_in_a_spelling_that_is_taken(company: Company) -> None:
    import_session(company, "agent:main:main")
    company.grant(address="session:agent:main:main")
    company.model.when("Try", sends("writer", "Hello"), "I could not.")
    company.ledger.say("Try it")
    await company.work()
    [listed] = tool_result(company).partition(" You may: ")[2].removesuffix(".").split(", ")
    company.model.when("Again", sends(listed, "Hello"), "Done.")
    company.ledger.say("Again")
    await company.work()
    assert [row.text for row in company.asked()] == ["Hello"]
