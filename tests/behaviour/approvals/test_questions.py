"""An agent asks the people of its conversation; the answer is that person's message, and only the first one counts."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from homing.model.people import Caller
from homing.operations.context import Context
from homing.operations.messages import send_message
from homing.operations.questions import answer_question
from homing.operations.shapes.approval import AnswerQuestion
from homing.operations.shapes.session_asks import SendMessage
from homing.store import tables as t
from homing.testing import tool_call
from homing.testing.scripted import wire_messages
from support.site import STRANGER_TOKEN
from support.whole import Whole

KEY = "web:fruit"
FRUIT = {"title": "Which fruit?", "options": ["Apple", "Pear"]}


async def ask(whole: Whole, arguments: dict[str, Any] | None = None, *, key: str = KEY) -> dict[str, Any]:
    """Let the agent ask, and give the question."""
    whole.model.reply([tool_call("ask_question", arguments or FRUIT)])
    whole.model.reply("I asked.")
    assert await whole.say("Buy fruit", key=key) == "I asked."
    return (await whole.ask("GET", f"/questions?state=pending&session_key={key}"))["items"][0]


async def said(whole: Whole, text: str, *, key: str = KEY) -> dict[str, Any]:
    """Wait until a message of the conversation says so."""
    async with asyncio.timeout(30):
        while True:
            for message in (await whole.ask("GET", f"/sessions/{key}/messages?limit=100"))["items"]:
                if message["text"] == text:
                    return message
            await asyncio.sleep(0.02)


async def answer_of(whole: Whole, turn_id: str) -> dict[str, Any]:
    async with asyncio.timeout(30):
        while True:
            for message in (await whole.ask("GET", f"/sessions/{KEY}/messages?limit=100"))["items"]:
                if message["turn_id"] == turn_id and message["role"] == "assistant":
                    return message
            await asyncio.sleep(0.02)


def last_prompt(whole: Whole) -> str:
    return [message.text for message in wire_messages(whole.model.seen[-1]) if message.role == "user"][-1]


async def get(whole: Whole, question_id: str) -> dict[str, Any]:
    listed = (await whole.ask("GET", "/questions"))["items"]
    return next(question for question in listed if question["id"] == question_id)


async def test_an_answer_is_the_persons_message_and_opens_a_turn(whole: Whole) -> None:
    question = await ask(whole)
    assert (question["title"], question["options"], question["state"]) == ("Which fruit?", ["Apple", "Pear"], "pending")
    card = await said(whole, "Which fruit?\n1. Apple\n2. Pear")
    assert card["kind"] == "question"
    assert card["question"]["id"] == question["id"]

    whole.model.reply("Pears it is.")
    answered = await whole.ask("POST", f"/questions/{question['id']}", {"option": 2})
    assert (answered["state"], answered["answer"], answered["answered_by"]) == ("answered", "Pear", "default")
    await said(whole, "Pears it is.")
    mine = await said(whole, "Pear")
    assert (mine["role"], mine["kind"], mine["meta"]["question_id"]) == ("user", "chat", question["id"])
    assert last_prompt(whole).startswith("2\n\n[data ")
    assert "the question that this message answers" in last_prompt(whole)
    assert "Which fruit?\n2. Pear\n" in last_prompt(whole)


@pytest.mark.parametrize("text", ["2", "pear", "  Pear "])
async def test_a_message_that_is_exactly_a_number_or_an_option_answers_the_only_question(
    whole: Whole, text: str
) -> None:
    question = await ask(whole)
    whole.model.reply("Pears it is.")
    assert await whole.say(text, key=KEY) == "Pears it is."
    assert (await get(whole, question["id"]))["answer"] == "Pear"
    assert "the question that this message answers" in last_prompt(whole)


@pytest.mark.parametrize("text", ["3", "2.", "a pear please", "apple\npear"])
async def test_any_other_message_is_an_ordinary_one(whole: Whole, text: str) -> None:
    question = await ask(whole)
    whole.model.reply("Fine.")
    await whole.say(text, key=KEY)
    assert (await get(whole, question["id"]))["state"] == "pending"
    assert last_prompt(whole) == text


async def test_with_two_open_questions_a_number_answers_neither(whole: Whole) -> None:
    first = await ask(whole)
    await ask(whole, {"title": "How many?", "options": ["One", "Two"]})
    whole.model.reply("Fine.")
    await whole.say("2", key=KEY)
    assert {question["state"] for question in (await whole.ask("GET", "/questions"))["items"]} == {"pending"}
    assert (await get(whole, first["id"]))["answer"] is None


async def test_free_text_is_answered_in_words_and_a_number_is_just_a_number(whole: Whole) -> None:
    question = await ask(whole, {"title": "What is the dog's name?"})
    assert question["options"] is None
    whole.model.reply("Fine.")
    await whole.say("1", key=KEY)
    assert (await get(whole, question["id"]))["state"] == "pending"
    refused = await whole.ask("POST", f"/questions/{question['id']}", {"option": 1}, code=422)
    assert refused["detail"] == "It has no options: answer it with text."
    whole.model.reply("Good dog.")
    answered = await whole.ask("POST", f"/questions/{question['id']}", {"text": " Rex "})
    assert answered["answer"] == "Rex"
    await said(whole, "Good dog.")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "title is missing."),
        ({"title": " \n "}, "title needs 1 to 500 characters."),
        ({"title": "x" * 501}, "title needs 1 to 500 characters."),
        ({"title": "a\x1b[31mb"}, "title must be plain text, without control characters"),
        ({"title": "abc\u202edef"}, "title must be plain text, without control characters"),
        ({"title": "Which?", "options": ["one"]}, "Give 2 to 6 options"),
        ({"title": "Which?", "options": list("abcdefg")}, "Give 2 to 6 options"),
        ({"title": "Which?", "options": ["Tea", " tea "]}, "Two options are the same."),
        ({"title": "Which?", "options": ["Tea", ""]}, "Each option needs 1 to 100 characters."),
        ({"title": "Which?", "options": ["Tea", "x" * 101]}, "Each option needs 1 to 100 characters."),
        ({"title": "Which?", "options": ["Tea", 2]}, "options is a list of texts."),
        ({"title": "Which?", "options": "Tea"}, "options is a list of texts."),
        ({"title": "Which?", "to": "email:a@example.org"}, "to is not understood yet"),
    ],
)
async def test_what_cannot_be_asked_is_refused_with_a_sentence(
    whole: Whole, arguments: dict[str, Any], sentence: str
) -> None:
    assert sentence in await whole.call("ask_question", arguments)
    assert (await whole.ask("GET", "/questions"))["items"] == []


async def test_emoji_and_joined_letters_may_be_asked(whole: Whole) -> None:
    assert "Asked (q_" in await whole.call("ask_question", {"title": "❤️ or 👩‍🚀?", "options": ["❤️", "👩‍🚀"]})


async def test_an_eleventh_open_question_is_refused(whole: Whole) -> None:
    for number in range(10):
        assert "Asked (" in await whole.call("ask_question", {"title": f"Question {number}?"}, KEY)
    assert "already has 10 open questions" in await whole.call("ask_question", {"title": "One more?"}, KEY)


async def test_a_second_answer_changes_nothing_and_wakes_nobody(whole: Whole) -> None:
    question = await ask(whole)
    whole.model.reply("Apples.")
    await whole.ask("POST", f"/questions/{question['id']}", {"option": 1})
    await said(whole, "Apples.")
    calls = len(whole.model.seen)
    problem = await whole.ask("POST", f"/questions/{question['id']}", {"option": 2}, code=409)
    assert problem["code"] == "wrong_state"
    assert problem["current"]["answer"] == "Apple"
    assert 'the answer was "Apple"' in problem["detail"]
    assert len(whole.model.seen) == calls
    session = await whole.ask("GET", f"/sessions/{KEY}")
    assert (session["state"], session["lane_size"]) == ("idle", 0)


async def test_a_strangers_answer_finds_no_question(whole: Whole) -> None:
    question = await ask(whole)
    problem = await whole.ask("POST", f"/questions/{question['id']}", {"option": 1}, token=STRANGER_TOKEN, code=404)
    assert question["id"] in problem["detail"]
    assert (await whole.ask("GET", "/questions", token=STRANGER_TOKEN))["items"] == []


async def test_an_unanswered_question_expires_with_a_note_that_wakes_nobody(whole: Whole) -> None:
    question = await ask(whole)
    past = whole.homing.clock.now() - timedelta(seconds=1)
    whole.homing.store.write_now(lambda tx: tx.run(sa.update(t.question).values(expires_at=past)))
    # Too late already, also before the sweeper has come by.
    await whole.ask("POST", f"/questions/{question['id']}", {"option": 1}, code=409)
    assert (await whole.ask("GET", "/inbox"))["items"] == []
    calls = len(whole.model.seen)
    await whole.engine.sweeper.prune()
    assert (await get(whole, question["id"]))["state"] == "expired"
    await whole.ask("POST", f"/questions/{question['id']}", {"option": 1}, code=409)
    assert len(whole.model.seen) == calls
    # Its number is an ordinary message again, and the next turn is told.
    whole.model.reply("Fine.")
    await whole.say("1", key=KEY)
    assert "Nobody answered the question" in "\n".join(m.text for m in wire_messages(whole.model.seen[-1]))


async def test_a_deleted_conversation_asks_nothing_any_more(whole: Whole) -> None:
    question = await ask(whole)
    await whole.ask("DELETE", f"/sessions/{KEY}")
    problem = await whole.ask("POST", f"/questions/{question['id']}", {"option": 1}, code=409)
    assert problem["current"]["state"] == "expired"
    assert (await whole.ask("GET", "/inbox"))["items"] == []


async def test_a_question_of_an_isolated_run_is_asked_in_the_session_of_its_job(whole: Whole) -> None:
    await whole.say("hello", key=KEY)
    body = {"session_key": KEY, "when": "every day at 8:00", "message": "look", "session": "isolated"}
    job = await whole.ask("POST", "/jobs", body, code=201)
    whole.model.reply([tool_call("ask_question", FRUIT)])
    whole.model.reply("I asked in the night.")
    await whole.ask("POST", f"/jobs/{job['id']}/run", {}, code=202)
    await said(whole, "Which fruit?\n1. Apple\n2. Pear")
    [question] = (await whole.ask("GET", f"/questions?session_key={KEY}"))["items"]
    whole.model.when("Pear", "Pears it is.")
    await whole.ask("POST", f"/questions/{question['id']}", {"option": 2})
    await said(whole, "Pears it is.")


async def test_an_answer_goes_into_the_turn_that_is_running(whole: Whole) -> None:
    question = await ask(whole)
    whole.model.reply([tool_call("recall", {"query": "fruit"})], hold="here")
    whole.model.reply("Noted, pears.")
    calls = len(whole.model.seen)
    sent = await whole.ask("POST", f"/sessions/{KEY}/messages", {"text": "Take your time"}, code=202)
    async with asyncio.timeout(30):
        await whole.model.wait_for_calls(calls + 1)
    await whole.ask("POST", f"/questions/{question['id']}", {"option": 2})
    whole.model.release("here")
    await said(whole, "Noted, pears.")
    assert (await said(whole, "Pear"))["turn_id"] == (await said(whole, "Take your time"))["turn_id"], sent
    assert "the question that this message answers" in last_prompt(whole)


async def test_of_answers_that_race_one_counts(whole: Whole) -> None:
    question = await ask(whole)
    whole.model.otherwise("Fine.")
    answers = await asyncio.gather(
        *(
            whole.http.post(
                f"/api/questions/{question['id']}",
                json={"option": 1 + n % 2},
                headers={"Authorization": "Bearer hom_owner"},
            )
            for n in range(8)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7
    [won] = [answer.json()["answer"] for answer in answers if answer.status_code == 200]
    messages = (await whole.ask("GET", f"/sessions/{KEY}/messages?limit=100"))["items"]
    await said(whole, "Fine.")
    mine = [m["text"] for m in messages if m["meta"].get("question_id") and m["role"] == "user"]
    assert mine in ([won], [])


async def test_of_a_button_and_a_typed_number_at_once_one_answers(whole: Whole) -> None:
    """Two workers' transactions on real connections: the other message is an ordinary one, or a refusal."""
    question = await ask(whole)
    whole.model.otherwise("Fine.")
    owner = Caller(user_id="default", role="admin")
    store, instance = whole.homing.store, whole.homing.instance

    def button(tx: Any) -> object:
        ctx = Context(tx=tx, caller=owner, instance=instance)
        return answer_question(ctx, AnswerQuestion(question_id=question["id"], option=1))

    def typed(tx: Any) -> object:
        return send_message(Context(tx=tx, caller=owner, instance=instance), SendMessage(session_key=KEY, text="2"))

    work = [store.write(one) for one in (button, typed) * 4]
    ended = await asyncio.gather(*work, return_exceptions=True)
    assert (await get(whole, question["id"]))["answer"] in ("Apple", "Pear")
    assert sum(isinstance(one, Exception) for one in ended) >= 3
    await said(whole, "Fine.")


async def test_the_offline_model_copes_with_questions_and_their_answers(whole: Whole) -> None:
    question = await ask(whole)
    whole.change_agent(model="offline")
    await whole.ask("POST", f"/questions/{question['id']}", {"option": 2})
    mine = await said(whole, "Pear")
    closing = await answer_of(whole, mine["turn_id"])
    assert closing["model"] == "offline"
