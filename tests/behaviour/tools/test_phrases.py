"""The phrases people write, at the agent's tool and in the offline chat: the same as at the preview, never guessed."""

from datetime import datetime

import pytest

from behaviour.tools.chats import Chat
from behaviour.tools.talks import Talk
from homing.model.schedules import At, words
from support.phrases import ONCE, REFUSED, REFUSED_WHOLE, REPEATING, SUNDAY, B

on_sqlite = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@on_sqlite
def test_the_tool_reads_each_phrase_as_the_table_says(chat: Chat) -> None:
    for phrase, _ in REPEATING:
        chat.say(when=phrase, message=phrase, name=phrase)
    assert {job.name: words(job.timing.schedule) for job in chat.jobs()} == dict(REPEATING)


@on_sqlite
def test_the_tool_reads_each_single_time_as_the_table_says(chat: Chat) -> None:
    chat.world.clock.jump(SUNDAY - chat.world.now())
    for phrase, _ in ONCE:
        chat.say(when=phrase, message=phrase, name=phrase)
    assert {job.name: job.timing.schedule for job in chat.jobs()} == {phrase: _once(at) for phrase, at in ONCE}


def _once(at: str) -> At:
    return At(at=datetime.fromisoformat(at).replace(tzinfo=SUNDAY.tzinfo), tz=B)


@on_sqlite
def test_the_tool_passes_on_the_hint_of_each_refusal(chat: Chat) -> None:
    for phrase, hint in (*REFUSED, *REFUSED_WHOLE):
        assert hint in chat.refused(when=phrase, message="stretch", name="stretch"), phrase
    assert chat.jobs() == []


@on_sqlite
async def test_the_offline_chat_reads_each_phrase_as_the_table_says(talk: Talk) -> None:
    seen: dict[str, str] = {}
    for phrase, _ in REPEATING:
        await talk.say(f"remind me {phrase} to stretch")
        [job] = talk.jobs()
        assert (job.payload.kind, job.payload.message) == ("reminder", "stretch"), phrase
        seen[phrase] = words(job.timing.schedule)
        await talk.say(f"cancel {job.id}")
    assert seen == dict(REPEATING)


@on_sqlite
async def test_the_offline_chat_passes_on_the_hint_of_each_refusal(talk: Talk) -> None:
    for phrase, hint in REFUSED:
        assert hint in await talk.say(f"remind me {phrase} to stretch"), phrase
        assert hint in await talk.say(f"remind me to stretch {phrase}"), phrase
    assert "Did you mean 'every weekday at 8'?" in await talk.say("remind me every wekday at 8 to stretch")
    assert talk.jobs() == []


@on_sqlite
@pytest.mark.parametrize("sentence", ["remind me to stretch {}", "remind me {} to stretch"])
async def test_a_single_time_stands_before_or_behind_the_message(talk: Talk, sentence: str) -> None:
    talk.world.clock.jump(SUNDAY - talk.world.now())
    seen: dict[str, object] = {}
    for phrase, _ in ONCE:
        await talk.say(sentence.format(phrase))
        [job] = talk.jobs()
        assert (job.payload.kind, job.payload.message) == ("reminder", "stretch"), phrase
        seen[phrase] = job.timing.schedule
        await talk.say(f"cancel {job.id}")
    assert seen == {phrase: _once(at) for phrase, at in ONCE}


async def test_hours_between_two_times_are_not_every_hour_of_the_night(talk: Talk) -> None:
    await talk.say("every hour between 9 and 17 remind me to stand up")
    [job] = talk.jobs()
    assert words(job.timing.schedule) == "Every hour from 09:00 to 17:00 Europe/Berlin"
    assert (job.payload.kind, job.payload.message) == ("reminder", "stand up")


async def test_a_city_in_a_reminder_is_its_zone_and_not_its_message(talk: Talk) -> None:
    await talk.say("remind me every day at 9am Tokyo time to stand up")
    [job] = talk.jobs()
    assert words(job.timing.schedule) == "Every day at 09:00 Asia/Tokyo"
    assert job.payload.message == "stand up"


@on_sqlite
@pytest.mark.parametrize(
    ("sentence", "says"),
    [
        ("remind me 30 min before my meeting at 4pm", "Give the time itself"),
        ("remind me to leave 30 min before tomorrow at 9", "Give the time itself"),
        ("remind me at 5pm to book a table for 7pm", 'a second time, "7pm"'),
        ("remind me every day at 9 to call mom except on sundays", '"except"'),
        ("remind me tomorrow at 9 to go out unless it rains", '"unless"'),
        ("remind me every hour blue between 9 and 17 to stretch", '"between"'),
        ("remind me every day at 9am Gotham time to stand up", "no time zone 'Gotham'"),
        ("remind me every monday to take out the trash", "Add one: 'every monday at 9'"),
        ("every monday remind me to take out the trash", "Add one: 'every monday at 9'"),
        ("remind me next week to call", "next week on monday at 9"),
        ("remind me at 11pm Berlin time tomorrow to call", '"tomorrow"'),
        ("at 11pm remind me tomorrow to call", '"tomorrow"'),
        ("remind me at 11pm to call tomorrow", '"tomorrow"'),
        ("remind me at 8pm next week to drink", '"next week"'),
        ("remind me at 8pm next month to drink", '"next month"'),
        ("remind me at 8pm on the 24th to drink", '"on the 24th"'),
        ("remind me at 8pm london to drink", '"london"'),
        ("remind me tomorrow at 9 and 17 to drink", '"and 17"'),
        ("remind me tomorrow at 9, 12 and 15 to drink", '"12 and 15"'),
        ("remind me tomorrow at 9 or 10 to call", '"or 10"'),
        ("remind me tomorrow at 3 to 5 to call", '"to 5"'),
        ("remind me every day at 8pm but sunday to drink", '"but sunday"'),
        ("every 2 hours on monday say hi", '"on monday"'),
        ("every day at 8pm london say hi", '"london"'),
        ("remind me in 10 minutes every day to drink", '"every day"'),
        ("remind me to drink every day in 10 minutes", '"every day"'),
        ("remind me at 8pm for three days to drink", '"for three days"'),
        ("remind me at 8pm twice to drink", '"twice"'),
        ("remind me twice to drink at 8pm", '"twice"'),
        ("remind me at 8pm drink", 'then "to" and the message'),
    ],
)
async def test_a_sentence_whose_rest_may_change_the_time_schedules_nothing(
    talk: Talk, sentence: str, says: str
) -> None:
    assert says in await talk.say(sentence)
    assert talk.jobs() == []


@on_sqlite
@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ('remind me at 5pm to "book a table for 7pm"', "book a table for 7pm"),
        ("remind me at 5pm: book a table for 7pm", "book a table for 7pm"),
        ("remind me every day at 7 to meditate for 10 minutes", "meditate for 10 minutes"),
        ("remind me tomorrow at 9 to look after the dog", "look after the dog"),
        ("remind me at 8pm to pack for monday", "pack for monday"),
        ("every day at 8 please say good morning", "please say good morning"),
        ("every day at 8 tell mom I say hi", "tell mom I say hi"),
        ("can you remind me about the dentist on friday at 3pm?", "the dentist"),
    ],
)
async def test_what_is_plainly_a_message_stays_one(talk: Talk, sentence: str, message: str) -> None:
    await talk.say(sentence)
    assert [job.payload.message for job in talk.jobs()] == [message]


@on_sqlite
@pytest.mark.parametrize(
    ("sentence", "says"), [("again in 10m every day", '"every day"'), ("again in 10m blue", "Try: again in 10m")]
)
async def test_again_takes_a_time_and_nothing_else(talk: Talk, sentence: str, says: str) -> None:
    await talk.say("remind me in 2 minutes to stretch")
    assert says in await talk.say(sentence)
    assert len(talk.jobs()) == 1


@on_sqlite
async def test_undo_takes_back_everything_that_cancel_all_did(talk: Talk) -> None:
    await talk.say("remind me every day at 8 to stretch")
    await talk.say("remind me every day at 9 to drink")
    await talk.say("cancel all")
    assert talk.jobs() == []
    await talk.say("undo")
    assert sorted(job.payload.message for job in talk.jobs()) == ["drink", "stretch"]


@on_sqlite
async def test_an_unknown_word_in_the_time_schedules_nothing(talk: Talk) -> None:
    for phrase, _ in REPEATING[::4]:
        parts = phrase.split()
        for place in range(len(parts) + 1):
            said = " ".join([*parts[:place], "blue", *parts[place:]])
            await talk.say(f"remind me {said} to stretch")
            assert talk.jobs() == [], said
