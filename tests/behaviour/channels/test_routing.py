"""What is said in a channel comes into the right conversation, and answers what was asked there (rules 52, 54, 56)."""

from typing import Any

import pytest
import sqlalchemy as sa

from behaviour.channels.scenes import Place
from homing.channels import Capabilities
from homing.model.approvals import Question
from homing.operations.sessions import add_session
from homing.operations.shapes.session_asks import AddSession
from homing.store import Tx, questions, sessions
from homing.store import tables as t
from store.scenes import owe
from support.asking import ask_people_for
from support.worlds import STRANGER


async def ask_there(place: Place, *, buttons: int = 0, arrives: bool = True) -> Question:
    """Let the agent of a linked chat ask something, and let it arrive there."""
    place.channel.capabilities = Capabilities(max_length=None, buttons=buttons)
    turn_id = place.world.open_turn("chat:7")
    _, question = ask_people_for(place.world, "chat:7", turn_id)
    place.world.write(lambda tx: tx.run(sa.update(t.turn).values(state="closed", outcome="empty", closed_at=tx.now())))
    if arrives:
        await place.deliver()
    return question


def shown_as(place: Place, text: str) -> str:
    """Give the platform's id of what the channel was sent."""
    [number] = [n for n, part in enumerate(place.channel.sent, 1) if text in part.text]
    return f"7:out{number}"


def answers(place: Place) -> list[Any]:
    return [row for row in place.rows(t.inbound) if (row.meta or {}).get("question_id")]


def state_of(place: Place, question: Question) -> tuple[str, str | None, str | None]:
    now = place.world.write(lambda tx: questions.get(tx, question.id))
    assert now is not None
    return now.state, now.answer, now.answered_by


async def test_a_reply_goes_to_the_conversation_that_it_answers(place: Place) -> None:
    await place.link()
    place.world.ask(add_session, AddSession(key="web:fruit"))

    def send_from_fruit(tx: Tx) -> int:
        fruit = sessions.find(tx, "web:fruit", user_id="default")
        assert fruit is not None
        sessions.set_addresses(tx, fruit.id, ["web:fruit", "chat:7"])
        owe(tx, fruit, "The pears are ripe.", ["chat:7"])
        return fruit.id

    fruit_id = place.world.write(send_from_fruit)
    await place.deliver()
    await place.say("buy some", replies_to=shown_as(place, "pears"))
    await place.say("something else", replies_to="7:never")
    reply, other = place.rows(t.inbound)
    assert reply.session_id == fruit_id
    assert other.session_id != fruit_id


@pytest.mark.parametrize("said", ["2", " pear ", "PEAR"])
async def test_a_number_or_an_option_answers_the_only_question(place: Place, said: str) -> None:
    await place.link()
    question = await ask_there(place)
    assert place.channel.sent[-1].text == "Which fruit?\n1. Apple\n2. Pear"
    for _ in range(2):
        await place.say(said, message_id="50")
    assert state_of(place, question) == ("answered", "Pear", "default")
    [answer] = answers(place)
    assert (answer.text, answer.source, answer.address, answer.external_id) == ("Pear", "person", "chat:7", "chat:7:50")
    assert place.inbounds()[-1] == "Pear"


async def test_a_question_is_answered_in_a_channel_only_once_it_has_arrived_there(place: Place) -> None:
    await place.link()
    question = await ask_there(place, arrives=False)
    await place.say("2")
    assert state_of(place, question)[0] == "pending"
    assert place.inbounds()[-1] == "2"
    await place.deliver()
    await place.say("2")
    assert state_of(place, question) == ("answered", "Pear", "default")


async def test_anything_else_is_an_ordinary_message(place: Place) -> None:
    await place.link()
    question = await ask_there(place)
    await place.say("what is the difference?")
    assert state_of(place, question)[0] == "pending"
    assert place.inbounds()[-1] == "what is the difference?"


async def test_a_reply_to_the_question_answers_it_in_any_words(place: Place) -> None:
    await place.link()
    question = await ask_there(place)
    await place.say("both, please", replies_to=shown_as(place, "Which fruit?"))
    assert state_of(place, question) == ("answered", "both, please", "default")


async def test_a_button_answers_once_and_a_late_one_changes_nothing(place: Place) -> None:
    await place.link()
    question = await ask_there(place, buttons=4)
    where = shown_as(place, "Which fruit?")
    for option, message_id in ((1, "60"), (2, "61")):
        await place.say("", message_id=message_id, answer=(question.id, option), replies_to=where)
    assert state_of(place, question) == ("answered", "Apple", "default")
    assert [row.text for row in answers(place)] == ["Apple"]


@pytest.mark.parametrize("what", ["stranger", "another option", "another question", "no message", "another place"])
async def test_a_button_that_is_not_the_persons_to_press_changes_nothing(place: Place, what: str) -> None:
    await place.link()
    question = await ask_there(place, buttons=4)
    where = shown_as(place, "Which fruit?")
    click: dict[str, Any] = {"answer": (question.id, 1), "replies_to": where}
    match what:
        case "stranger":
            click |= {"sender": "666", "place": "666"}
        case "another option":
            click["answer"] = (question.id, 3)
        case "another question":
            click["answer"] = ("q_other", 1)
        case "no message":
            click["replies_to"] = None
        case _:
            await place.link(sender="8", caller=STRANGER)
            click |= {"sender": "8"}
    before = len(place.rows(t.inbound))
    await place.say("", **click)
    assert state_of(place, question)[0] == "pending"
    assert len(place.rows(t.inbound)) == before
