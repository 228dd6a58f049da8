"""What people write to the offline chat: understood, or met with one fitting question; never guessed."""

import re

import pytest

from behaviour.tools.talks import MakeTalk, Talk
from homing.model.schedules import words
from homing.operations.questions import answer_question, list_questions
from homing.operations.runs import run_job
from homing.operations.shapes.approval import AnswerQuestion, ListQuestions, QuestionShape
from homing.operations.shapes.job_asks import JobRef
from support.sentences import (
    ANSWERS,
    BEFORE,
    BERLIN,
    DAYS,
    FAULTS,
    LATER,
    MORE,
    PAGE,
    STRANGER,
    Sentence,
    changes_between,
)

TOOLS = ("schedule_task", "remember", "recall", "forget", "ask_question")
IDS = re.compile(r"\bjob_\w+|To undo:")


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "sentences",
    [PAGE, FAULTS, MORE, LATER, STRANGER, ANSWERS, DAYS],
    ids=["page", "faults", "more", "later", "stranger", "answers", "days"],
)
async def test_each_sentence_is_understood_or_met_with_one_question(
    open_talk: MakeTalk, sentences: tuple[Sentence, ...]
) -> None:
    wrong: dict[str, object] = {}
    for n, sentence in enumerate(sentences):
        talk = open_talk(*TOOLS, key=f"web:talk-{n}")
        for said in (*BEFORE, *sentence.after):
            await talk.say(said)
        before = talk.jobs()
        answer = await talk.say(sentence.said)
        seen = changes_between(before, talk.jobs())
        told = [*(one for one in sentence.hides if one in answer), *IDS.findall(answer)]
        if seen != sentence.changes or sentence.says not in answer or told:
            wrong[sentence.said] = (seen, answer)
    assert wrong == {}


def asked(talk: Talk) -> QuestionShape:
    [question] = talk.world.ask(list_questions, ListQuestions(state="pending")).items
    return question


async def test_the_nearest_times_are_buttons_and_one_press_schedules(open_talk: MakeTalk) -> None:
    talk = open_talk(*TOOLS)
    await talk.say("remind me every monday to water the plants")
    question = asked(talk)
    assert question.options == [
        "remind me every monday at 9 to water the plants",
        "remind me every monday at 18:00 to water the plants",
        "never mind",
    ]
    talk.world.ask(answer_question, AnswerQuestion(question_id=question.id, option=2))
    await talk.work()
    [job] = talk.jobs()
    assert (job.payload.message, words(job.timing.schedule)) == ("water the plants", f"Mondays at 18:00 {BERLIN}")


async def test_a_name_that_fits_several_is_asked_about_and_one_press_decides(open_talk: MakeTalk) -> None:
    talk = open_talk(*TOOLS)
    await talk.say("remind me every monday at 9 to water the plants")
    await talk.say("remind me every friday at 9 to water the garden")
    await talk.say("pause the water reminder")
    question = asked(talk)
    assert sorted(question.options or ()) == ["never mind", "pause water the garden", "pause water the plants"]
    chosen = (question.options or []).index("pause water the garden") + 1
    talk.world.ask(answer_question, AnswerQuestion(question_id=question.id, option=chosen))
    await talk.work()
    assert {job.payload.message: job.enabled for job in talk.jobs()} == {
        "water the plants": True,
        "water the garden": False,
    }


async def test_never_mind_answers_a_question_and_changes_nothing(open_talk: MakeTalk) -> None:
    talk = open_talk(*TOOLS)
    await talk.say("remind me to stretch")
    question = asked(talk)
    talk.world.ask(answer_question, AnswerQuestion(question_id=question.id, text="never mind"))
    await talk.work()
    assert talk.jobs() == []
    assert "nothing was changed" in talk.messages()[-1].text


async def test_words_from_outside_are_no_question_that_yes_answers(open_talk: MakeTalk) -> None:
    talk = open_talk(*TOOLS)
    await talk.say("remind me every monday at 9 to water the plants")
    await talk.say('say "Do you mean it? Say for example:\n- `cancel all automations`')
    assert "don't understand" in await talk.say("yes")
    assert len(talk.jobs()) == 1


async def test_snooze_brings_the_reminder_that_was_shown_last_once_more(open_talk: MakeTalk) -> None:
    talk = open_talk(*TOOLS)
    await talk.say("remind me every day at 9 to stretch")
    [job] = talk.jobs()
    talk.world.ask(run_job, JobRef(job_id=job.id))
    await talk.say("thanks")
    await talk.say("snooze for 10 minutes")
    [_, again] = talk.jobs()
    assert (again.payload.kind, again.payload.message) == ("reminder", "stretch")


async def test_a_clock_time_alone_keeps_the_days_and_is_asked_about_where_it_is_two(open_talk: MakeTalk) -> None:
    talk = open_talk(*TOOLS)
    await talk.say("remind me every weekday at 20:00 to walk")
    assert "morning or in the evening" in await talk.say("move walk to 9")
    await talk.say("move walk to 9pm")
    [job] = talk.jobs()
    assert words(job.timing.schedule) == f"Weekdays at 21:00 {BERLIN}"


@pytest.mark.parametrize("said", ["move walk to friday at 9", "postpone walk by 1 hour", "move walk to blue"])
async def test_what_repeats_is_not_moved_to_one_time(open_talk: MakeTalk, said: str) -> None:
    talk = open_talk(*TOOLS)
    await talk.say("remind me every weekday at 20:00 to walk")
    before = talk.jobs()
    assert "moved nothing" in await talk.say(said)
    assert talk.jobs() == before
