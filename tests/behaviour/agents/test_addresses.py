"""`send_message` to an address: once, with its step; and what it sent is not sent again by the closing (case 62)."""

from typing import Any

import pytest

from behaviour.agents.company import CHAT, Company, sends
from homing.engine.courier import Courier
from homing.model.messages import SENDING_TURN, SENT_TO
from homing.operations.context import Context
from homing.operations.grants import remove_grant
from homing.operations.shapes.people_asks import GrantRef
from homing.store import sessions
from homing.store import tables as t
from homing.testing import RecordingChannel
from homing.testing.replies import Fault, Reply
from homing.testing.scripted import wire_messages
from support.worlds import OWNER_CALLER

ROOF, BARN = "pigeon:roof", "pigeon:barn"


@pytest.fixture
def channel() -> RecordingChannel:
    return RecordingChannel("pigeon")


async def carry(company: Company, channel: RecordingChannel) -> list[tuple[str, str]]:
    """Deliver what is due; say what arrived where."""
    courier = Courier(company.store, company.instance, {"pigeon": channel})
    while await courier.step():
        pass
    return [(part.address, part.text) for part in channel.sent]


def answer_at(company: Company, *addresses: str, key: str = CHAT) -> None:
    session = company.ledger.session(key)
    company.ledger.write(lambda tx: sessions.set_addresses(tx, session.id, [key, *addresses]))


def sent(company: Company) -> list[Any]:
    return company.rows(t.outbound, t.outbound.c.cause == "sent")


async def test_a_message_to_a_granted_address_is_delivered_there_and_kept_in_the_conversation(
    company: Company, channel: RecordingChannel
) -> None:
    company.grant(address=ROOF)
    company.model.when("Tell", sends(ROOF, "The apples are ripe."), "I told them.")
    company.ledger.say("Tell them")
    await company.work()
    assert await carry(company, channel) == [(ROOF, "The apples are ripe.")]
    _, message, closing = company.ledger.messages()
    assert (message.role, message.kind, message.text) == ("assistant", "chat", "The apples are ripe.")
    assert (message.meta[SENDING_TURN], message.meta[SENT_TO]) == (company.ledger.turn().id, ROOF)
    assert closing.text == "I told them."
    # In later history the call itself says it, once.
    company.ledger.say("And?")
    await company.work()
    seen = [message for message in wire_messages(company.model.seen[-1]) if message.role == "assistant"]
    assert [len(message.tool_calls) for message in seen] == [1, 0]


async def test_without_a_grant_nothing_goes_out_and_the_agent_is_told_how_to_ask(
    company: Company, channel: RecordingChannel
) -> None:
    company.model.when("Tell", sends(ROOF, "The apples are ripe."), "I could not.")
    company.ledger.say("Tell them")
    await company.work()
    [step] = [step for step in company.ledger.steps(company.ledger.turn().id) if step.kind == "tool"]
    assert step.failed
    wanted = f'You may not write to {ROOF}. Ask for it: request_access {{"address": "{ROOF}"'
    assert wanted in (step.result or "")
    assert (sent(company), await carry(company, channel)) == ([], [])


async def test_a_grant_taken_back_before_the_delivery_stops_it(company: Company, channel: RecordingChannel) -> None:
    grant = company.grant(address=ROOF)
    company.model.when("Tell", sends(ROOF, "The apples are ripe."), "I told them.")
    company.ledger.say("Tell them")
    await company.work()
    company.ledger.write(
        lambda tx: remove_grant(
            Context(tx=tx, caller=OWNER_CALLER, instance=company.instance), GrantRef(grant_id=grant.id)
        )
    )
    assert await carry(company, channel) == []
    [delivery] = company.rows(t.delivery, t.delivery.c.address == ROOF)
    assert (delivery.state, "may not send to" in delivery.error) == ("dead", True)


async def test_what_the_agent_sent_to_an_address_is_not_sent_again_by_its_closing(
    company: Company, channel: RecordingChannel
) -> None:
    """Case 62: the other addresses and the conversation itself still get the result."""
    answer_at(company, ROOF, BARN)
    company.model.when("Tell", sends(ROOF, "The apples are ripe."), "I told them on the roof.")
    company.ledger.say("Tell them")
    await company.work()
    assert sorted(await carry(company, channel)) == [(BARN, "I told them on the roof."), (ROOF, "The apples are ripe.")]
    closing = company.ledger.messages()[-1]
    assert closing.text == "I told them on the roof."
    to = {row.address: row.state for row in company.rows(t.delivery, t.delivery.c.seq == closing.seq)}
    assert to == {CHAT: "sent", BARN: "sent"}
    # It holds for that turn only.
    company.model.reply("Later.")
    company.ledger.say("And?")
    await company.work()
    assert (ROOF, "Later.") in await carry(company, channel)


async def test_that_a_turn_failed_is_told_everywhere(company: Company, channel: RecordingChannel) -> None:
    answer_at(company, ROOF)
    company.model.when("Tell", sends(ROOF, "The apples are ripe."))
    company.ledger.say("Tell them")
    company.model.otherwise(Reply(fault=Fault(kind=400)))
    await company.work()
    arrived = await carry(company, channel)
    assert [address for address, _ in arrived] == [ROOF, ROOF]
    assert "could not" in arrived[1][1]


@pytest.mark.parametrize("continues", [True, False])
async def test_what_an_isolated_run_sent_is_not_sent_again_by_its_report(
    company: Company, channel: RecordingChannel, continues: bool
) -> None:
    answer_at(company, ROOF, BARN)
    company.model.when("in a session of its own", sends(ROOF, "The apples are ripe."), "I told them on the roof.")
    company.model.otherwise("The automation told them.")
    company.ledger.run("Tell them", isolated=True, continues=continues)
    await company.work_all()
    arrived = await carry(company, channel)
    assert [text for address, text in arrived if address == ROOF] == ["The apples are ripe."]
    expected = "The automation told them." if continues else "I told them on the roof."
    assert [text for address, text in arrived if address == BARN] == [expected]
    assert expected in company.ledger.texts()


async def test_the_conversations_own_screen_is_no_second_place(company: Company) -> None:
    company.model.when("Tell", sends(CHAT, "Looking."), "Found.")
    company.ledger.say("Tell me")
    await company.work()
    assert company.ledger.texts() == ["Tell me", "Looking.", "Found."]
    assert {row.state for row in company.rows(t.delivery)} == {"sent"}
    assert len(company.rows(t.delivery)) == 2
