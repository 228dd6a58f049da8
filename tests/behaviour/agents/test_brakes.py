"""What bounds agents that write to each other: depth, twenty a minute, thirty turns in ten minutes (rules 35, 57)."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
import sqlalchemy as sa

from behaviour.agents.company import CHAT, NEXT, Company, sends
from homing.model.brakes import DEEPEST, MOST_CAUSED, MOST_SENT, PAUSED_FOR
from homing.store import tables as t
from homing.testing import tool_call
from homing.testing.replies import ToolCall, WireMessage, last_user_text


def chain(company: Company) -> None:
    """Whoever is asked asks the next one; whoever gets an answer is content."""
    for agent_id, following in NEXT.items():
        company.grant(agent_id, f"agent:{following}")
        asker = next(one for one, other in NEXT.items() if other == agent_id)
        company.model.when(f'The agent "{asker.title()}" ({asker}) sent you', sends(following, "And you?"), "I asked.")
    company.model.when("begin", sends(NEXT["main"], "And you?"), "I asked.")
    company.model.otherwise("Good.")


async def test_a_chain_over_three_agents_stops_at_the_brake_with_one_note(company: Company) -> None:
    chain(company)
    company.ledger.say("begin")
    await company.work_all()
    asked = [row for row in company.asked() if row.grant_id is not None]
    assert [row.depth for row in asked] == list(range(1, DEEPEST + 1))
    [note] = [row for row in company.rows(t.message, t.message.c.kind == "note") if row.role == "assistant"]
    assert note.text == (
        "I stopped a chain of agents that write to each other. A chain of messages between agents ends after 8, and"
        " this one is at its end."
    )
    # Every question was answered; the answer beyond the depth waits as a note, and wakes nobody.
    answers = [row for row in company.asked() if row.grant_id is None]
    assert len(answers) == len(asked)
    assert [row.depth for row in answers if row.line == "note"] == [DEEPEST + 1]
    assert {turn.depth for turn in company.ledger.turns(None)} <= set(range(DEEPEST + 1))
    # The last one was told, and people see it once: another try within the hour says nothing more.
    [last] = [turn for turn in company.ledger.turns(None) if turn.depth == DEEPEST and turn.source == "agent"][:1]
    results = [step.result or "" for step in company.ledger.steps(last.id) if step.kind == "tool"]
    assert results[0].startswith("Not sent: A chain of messages between agents ends after 8")


async def test_the_note_of_a_brake_comes_once_an_hour(company: Company) -> None:
    company.grant()
    notes = (t.message.c.kind == "note", t.message.c.role == "assistant")
    company.model.otherwise(again)
    for _ in range(2):
        company.ledger.put("go", CHAT, source="agent", line="machines", depth=DEEPEST)
        await company.work()
    assert len(company.rows(t.message, *notes)) == 1
    an_hour = int((PAUSED_FOR + timedelta(seconds=1)) / timedelta(microseconds=1))
    company.ledger.write(
        lambda tx: tx.run(sa.update(t.grant).values(told_at=sa.type_coerce(t.grant.c.told_at, sa.BigInteger) - an_hour))
    )
    company.ledger.put("go", CHAT, source="agent", line="machines", depth=DEEPEST)
    await company.work()
    assert len(company.rows(t.message, *notes)) == 2
    assert company.asked()[3:] == []


def again(messages: Sequence[WireMessage]) -> list[ToolCall] | str:
    """Send with every first answer."""
    return "Done." if messages[-1].role == "tool" else sends("research", last_user_text(messages))


def pass_a_minute(company: Company) -> None:
    """Let all that was sent be a minute old."""
    minute = int(timedelta(minutes=1) / timedelta(microseconds=1))
    earlier = sa.type_coerce(t.inbound.c.queued_at, sa.BigInteger) - minute
    company.ledger.write(lambda tx: tx.run(sa.update(t.inbound).values(queued_at=earlier)))


def many(count: int, to: str = "research") -> list[ToolCall]:
    return [tool_call("send_message", {"to": to, "text": f"{n}"}, call_id=f"call_{n}") for n in range(count)]


async def test_an_agent_sends_twenty_messages_a_minute_over_all_of_its_grants_and_conversations(
    company: Company,
) -> None:
    company.grant()
    company.grant(address="agent:writer")
    company.model.when("first", many(MOST_SENT - 1), "Done.")
    company.ledger.say("first", "web:one")
    await company.work("web:one")
    company.model.when("second", many(2, "writer"), "Done.")
    company.ledger.say("second", "web:two")
    await company.work("web:two")
    assert len(company.asked()) == MOST_SENT
    [turn] = company.ledger.turns("web:two")
    said = [step.result or "" for step in company.ledger.steps(turn.id) if step.kind == "tool"]
    assert said[0].startswith("Sent to writer")
    assert f"You sent {MOST_SENT} messages within a minute" in said[1]
    # A minute later it goes on.
    pass_a_minute(company)
    company.model.when("third", many(1), "Done.")
    company.ledger.say("third", "web:two")
    await company.work("web:two")
    assert len(company.asked()) == MOST_SENT + 1


async def test_a_conversation_sends_twenty_messages_a_minute_to_addresses(company: Company) -> None:
    company.grant(address="email:anna@example.org")
    company.model.when("write", many(MOST_SENT + 1, "email:anna@example.org"), "Done.")
    company.ledger.say("write")
    await company.work()
    assert len(company.rows(t.outbound, t.outbound.c.cause == "sent")) == MOST_SENT
    said = [step.result or "" for step in company.ledger.steps(company.ledger.turn().id) if step.kind == "tool"]
    assert f"You sent {MOST_SENT} messages within a minute" in said[-1]


async def test_thirty_turns_in_ten_minutes_pause_a_grant_for_an_hour_with_one_note(company: Company) -> None:
    grant = company.grant()
    company.model.when("send", many(10), "Done.")
    # Of a minute each, as the limit per minute has it.
    for nth in range(4):
        company.ledger.say(f"send {nth}")
        await company.work()
        pass_a_minute(company)
    assert len([row for row in company.asked() if row.grant_id]) == MOST_CAUSED
    paused = company.look(grant)
    assert paused.paused_until is not None
    [note] = company.rows(t.message, t.message.c.kind == "note", t.message.c.role == "assistant")
    assert note.text == (
        "main may not write to research for an hour."
        " It asked for more than 30 turns within 10 minutes that no person asked for."
    )
    last = company.ledger.turns()[-1]
    said = [step.result or "" for step in company.ledger.steps(last.id) if step.kind == "tool"]
    assert said[0].startswith("Not sent: main may not write to research for an hour.")
    assert all("You may not write to research until" in one for one in said[1:])


async def test_a_pause_is_told_also_soon_after_the_end_of_a_chain(company: Company) -> None:
    company.grant()
    company.model.when("go", sends("research", "And you?"), "Done.")
    company.ledger.put("go", CHAT, source="agent", line="machines", depth=DEEPEST)
    await company.work()
    company.model.when("send", many(10), "Done.")
    for nth in range(4):
        company.ledger.say(f"send {nth}")
        await company.work()
        pass_a_minute(company)
    notes = company.rows(t.message, t.message.c.kind == "note", t.message.c.role == "assistant")
    assert [note.text.split(".")[0] for note in notes] == [
        "I stopped a chain of agents that write to each other",
        "main may not write to research for an hour",
    ]


@pytest.mark.parametrize(("before", "line"), [(MOST_CAUSED - 1, "machines"), (MOST_CAUSED, "note")])
async def test_beyond_thirty_turns_in_ten_minutes_an_answer_waits_for_the_next_turn(
    company: Company, before: int, line: str
) -> None:
    company.grant()
    company.model.when("Ask", sends("research", "How red?"), "I asked.")
    company.model.otherwise("Very red.")
    for nth in range(before):
        company.ledger.put(f"answer {nth}", CHAT, source="agent", line="machines", depth=2)
    company.ledger.say("Ask")
    await company.work()
    await company.work("agent:research")
    answered = company.asked()[-1]
    assert (answered.text, answered.line, answered.state) == ("Very red.", line, "waiting")
