"""The model without a key: honest, deterministic, on the real tools."""

import json
import time
from datetime import UTC, datetime

import pytest

from homing.agent.journal import ToolCall
from homing.agent.loop import think
from homing.agent.models import Models
from homing.agent.offline.automations import jobs_in, numbered
from homing.agent.offline.naming import LOOK
from homing.agent.offline.plans import HELP, LABEL
from homing.agent.offline.talk import is_foreign
from homing.model.bounds import MAX_MESSAGE
from homing.model.errors import NotFound
from unit.agent.journals import Dead, MemoryJournal, ask, tool

NOW = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
JOBS = {"job_aaaaaaaaaa": "stretch", "job_bbbbbbbbbb": "morning", "job_cccccccccc": "fruit watch"}


class Talk:
    """A session with the offline model; its tools answer in the words of the contract."""

    def __init__(self, *, memories=(), without=()):
        self.history = []
        self.calls = []
        self.memories = list(memories)
        tools = {"schedule_task": self._schedule, "remember": self._remember, "recall": self._recall}
        tools |= {"forget": self._forget}
        self.tools = [tool(name, run, own=True) for name, run in tools.items() if name not in without]

    async def say(self, text, *, source="person", instructions="Be kind.", **facts):
        self.calls.clear()
        asked = ask(
            text,
            model="offline",
            instructions=instructions,
            history=self.history,
            tools=self.tools,
            facts={"source": source, "now": NOW, "zone": "Europe/Berlin", **facts},
        )
        answer = await think(asked, MemoryJournal(), models=Models())
        self.history = [*self.history, *answer.messages]
        assert answer.text.startswith(LABEL)
        return answer.text.removeprefix(LABEL)

    async def _schedule(self, call: ToolCall):
        self.calls.append(dict(call.args))
        action, job = call.args["action"], str(call.args.get("job_id"))
        match action:
            case "add":
                return f'Added "{call.args["name"]}" (job_k3v9x2mq7a): {call.args["when"]}. To undo: remove.'
            case "list":
                lines = [f'- "{name}" ({id_}): every day at 08:00' for id_, name in JOBS.items()]
                return "\n".join([f"{len(lines)} automations:", *lines])
            case _ if job in JOBS or job in JOBS.values() or job == "job_k3v9x2mq7a":
                return f'{action} done: "{JOBS.get(job, job)}" ({job}).'
            case _:
                raise NotFound(f'There is no automation "{job}". Yours: stretch, morning, fruit watch.')

    async def _remember(self, call: ToolCall):
        self.calls.append(dict(call.args))
        self.memories.append(call.args["text"])
        return f"Remembered (mem_{len(self.memories)})."

    async def _recall(self, call: ToolCall):
        self.calls.append(dict(call.args))
        query = str(call.args["query"]).casefold()
        hits = [
            f"- (mem_{n}) {text}" for n, text in enumerate(self.memories, 1) if query.rstrip("s") in text.casefold()
        ]
        return "\n".join(hits) or "No memories fit."

    async def _forget(self, call: ToolCall):
        self.calls.append(dict(call.args))
        return f"Forgot {call.args['memory_id']}."


@pytest.mark.parametrize(
    ("text", "when", "message"),
    [
        ("remind me in 2 minutes to stretch", "in 2 minutes", "stretch"),
        ("Remind me to stretch in 2 minutes.", "in 2 minutes", "stretch"),
        ("please remind me tomorrow at 9:30 to call the BBC", "tomorrow at 9:30", "call the BBC"),
        ("remind me every weekday at 8: drink water", "every weekday at 8", "drink water"),
        ("in 10 minutes remind me to stretch", "in 10 minutes", "stretch"),
        ("remind me to water the plants every 2 hours", "every 2 hours", "water the plants"),
    ],
)
async def test_a_wish_to_be_reminded_makes_a_reminder(text, when, message):
    talk = Talk()
    answer = await talk.say(text)
    name = " ".join(message.split()[:4])
    assert talk.calls == [{"action": "add", "when": when, "message": message, "name": name, "reminder": True}]
    assert answer == f'Added "{name}": {when}. To take it back, say "undo".'


@pytest.mark.parametrize(
    ("text", "when", "message"),
    [
        ("every weekday at 8 say good morning", "every weekday at 8", "say good morning"),
        ("say good morning every weekday at 8", "every weekday at 8", "say good morning"),
        ("in 5 minutes check the oven", "in 5 minutes", "check the oven"),
    ],
)
async def test_a_time_and_a_deed_make_a_turn(text, when, message):
    talk = Talk()
    await talk.say(text)
    assert [(call["when"], call["message"]) for call in talk.calls] == [(when, message)]
    assert "reminder" not in talk.calls[0]


async def test_a_time_that_has_passed_is_left_to_the_tool_to_refuse():
    talk = Talk()
    await talk.say("remind me on 2020-01-01 at 09:00 to celebrate")
    assert [call["action"] for call in talk.calls] == ["add"]


async def test_a_reminder_without_a_time_is_asked_for_one():
    talk = Talk()
    assert "could not find a time" in await talk.say("remind me to stretch")
    unread = await talk.say("remind me in zero minutes to stretch my legs")
    assert "- `remind me tomorrow at 9 to stretch my legs`" in unread
    assert talk.calls == []


async def test_a_time_without_a_deed_is_asked_for_one():
    assert "not what to do then" in await Talk().say("in 10 minutes")


async def test_the_list_is_numbered_and_numbers_name_its_jobs():
    talk = Talk()
    shown = await talk.say("list")
    assert shown.splitlines()[1:] == [
        '1. "stretch": every day at 08:00',
        '2. "morning": every day at 08:00',
        '3. "fruit watch": every day at 08:00',
    ]
    for verb, action in [
        ("pause", "disable"),
        ("resume", "enable"),
        ("skip", "skip"),
        ("run", "run"),
        ("why", "get"),
        ("cancel", "remove"),
    ]:
        answer = await talk.say(f"{verb} 2")
        assert talk.calls == [{"action": action, "job_id": "job_bbbbbbbbbb"}]
        assert answer == f'{action} done: "morning".'


async def test_several_numbers_are_one_command():
    talk = Talk()
    await talk.say("list")
    await talk.say("pause 1, 3")
    assert [call["job_id"] for call in talk.calls] == ["job_aaaaaaaaaa", "job_cccccccccc"]


async def test_names_work_without_a_list_and_a_wrong_one_changes_nothing():
    talk = Talk()
    assert "fruit watch" in await talk.say("pause fruit watch")
    assert talk.calls == [LOOK, {"action": "disable", "job_id": "job_cccccccccc"}]
    unknown = await talk.say("pause nonsense")
    assert unknown.endswith('so I changed nothing. There are: "stretch", "morning", "fruit watch".')
    assert talk.calls == [LOOK]


async def test_a_number_before_any_list_changes_nothing_and_shows_one():
    talk = Talk()
    answer = await talk.say("cancel 2")
    assert [call["action"] for call in talk.calls] == ["list"]
    assert "changed nothing" in answer
    assert "2. " in answer
    await talk.say("cancel 2")
    assert talk.calls == [{"action": "remove", "job_id": "job_bbbbbbbbbb"}]


async def test_a_number_beyond_the_list_changes_nothing():
    talk = Talk()
    await talk.say("list")
    assert "no number 7" in await talk.say("cancel 7")
    assert talk.calls == []


async def test_cancel_all_cancels_each_of_them():
    talk = Talk()
    await talk.say("cancel all")
    assert talk.calls[0] == LOOK
    assert [call["job_id"] for call in talk.calls[1:]] == list(JOBS)


async def test_undo_takes_back_the_last_change_seen_in_this_session():
    talk = Talk()
    assert "Nothing was changed" in await talk.say("undo")
    await talk.say("remind me in 2 minutes to stretch")
    await talk.say("list")
    await talk.say("undo")
    assert talk.calls == [{"action": "undo", "job_id": "job_k3v9x2mq7a"}]


async def test_again_repeats_the_last_message_at_another_time():
    talk = Talk()
    assert "nothing in this conversation" in await talk.say("again in 10m")
    await talk.say("remind me in 2 minutes to stretch")
    await talk.say("again in 10m")
    assert talk.calls[0] | {"name": ""} == {
        "action": "add",
        "when": "in 10m",
        "message": "stretch",
        "name": "",
        "reminder": True,
    }


async def test_what_was_said_is_found_in_history_and_in_memory():
    talk = Talk(memories=["Apples must be red"])
    await talk.say("remember that apples keep well in the cellar")
    answer = await talk.say("what did I say about apples?")
    assert "apples keep well in the cellar" in answer
    assert "Apples must be red" in answer
    assert "Nothing about pears" in await talk.say("what did I say about pears?")


async def test_likes_are_kept_and_answered_from_history():
    talk = Talk()
    await talk.say("I like apples")
    assert talk.calls == [{"text": "I like apples"}]
    assert "I like apples" in await talk.say("What do I like?")


async def test_likes_are_answered_in_a_new_session_from_memory():
    assert "I like apples" in await Talk(memories=["I like apples"]).say("what do I like?")


async def test_likes_are_answered_from_memories_in_the_instructions():
    talk = Talk(without=("recall",))
    assert "I like apples" in await talk.say("what do I like?", instructions="Memories:\n- I like apples")


async def test_likes_work_in_chinese():
    talk = Talk()
    await talk.say("我喜欢苹果")
    assert talk.calls == [{"text": "我喜欢苹果"}]
    assert "我喜欢苹果" in await talk.say("我喜欢什么？")
    assert "我喜欢苹果" in await Talk(memories=["我喜欢苹果"]).say("我喜欢什么？")


async def test_another_person_gets_nothing():
    talk = Talk()
    assert "not told me" in await talk.say("what do I like?")
    assert "apples" not in (await talk.say("what do I like?")).replace("Try: I like apples", "")


async def test_a_memory_is_forgotten_by_words_or_by_id():
    talk = Talk(memories=["I like apples", "I like pears", "apples are red"])
    await talk.say("forget pears")
    assert talk.calls[-1] == {"memory_id": "mem_2"}
    assert "Several memories fit" in await talk.say("forget apples")
    await talk.say("forget mem_3")
    assert talk.calls == [{"memory_id": "mem_3"}]


@pytest.mark.parametrize("text", ["Tell me a joke", "I ran at 9", "every monday is hard"])
async def test_anything_else_gets_what_it_can_do_but_never_twice_in_a_row(text):
    talk = Talk()
    assert await talk.say("help") == HELP
    assert await talk.say("thanks") == "You're welcome."
    assert await talk.say(text) == f'I don\'t understand "{text}".\n\n{HELP[0].upper()}{HELP[1:]}'
    again = await talk.say(text)
    assert again.startswith(f'I don\'t understand "{text}".')
    assert HELP[1:] not in again
    assert talk.calls == []


@pytest.mark.parametrize(
    "text", ["苹果好吃吗", "erinnere mich morgen um 9", "rappelle-moi demain", "напомни мне завтра"]
)
async def test_other_languages_are_told_that_only_english_is_understood(text):
    talk = Talk()
    assert "only English phrases" in await talk.say(text)
    assert talk.calls == []


@pytest.mark.parametrize("text", ["I was an actor", "the die is cast", "remember an umbrella", "what was the con"])
def test_english_sentences_are_not_taken_for_another_language(text):
    assert not is_foreign(text)


@pytest.mark.parametrize(
    ("text", "action"),
    [("pause stretch", "disable"), ("cancel the fruit reminder", "remove"), ("turn off my watch", "disable")],
)
async def test_whole_words_of_a_name_are_enough(text, action):
    talk = Talk()
    await talk.say(text)
    assert [call["action"] for call in talk.calls] == ["list", action]


@pytest.mark.parametrize("text", ["cancel the reminder", "pause it", "cancel stretc", "delete everything but morning"])
async def test_what_may_mean_several_changes_nothing(text):
    talk = Talk()
    await talk.say(text)
    assert [call for call in talk.calls if call["action"] != "list"] == []


async def test_it_is_what_was_changed_last():
    talk = Talk()
    await talk.say("remind me in 2 minutes to stretch")
    await talk.say("cancel it")
    assert talk.calls == [{"action": "remove", "job_id": "job_k3v9x2mq7a"}]


async def test_a_scheduled_message_outside_the_grammar_is_repeated():
    answer = await Talk().say("<the rendered prompt>", source="run", message="Run the tests and tell me.")
    assert answer == "Run the tests and tell me."


async def test_a_scheduled_say_is_said():
    assert await Talk().say("<prompt>", source="run", message="say good morning") == "good morning"


@pytest.mark.parametrize("source", ["hook", "report", "agent", "system"])
async def test_what_comes_from_outside_is_shown_and_never_obeyed(source):
    talk = Talk()
    assert await talk.say("cancel all", source=source) == "cancel all"
    assert talk.calls == []


async def test_a_message_injected_meanwhile_is_answered_in_the_same_turn():
    journal = MemoryJournal()

    async def schedule(call):
        if call.args["action"] == "add":
            journal.inbox.append("list")
            return 'Added "stretch" (job_k3v9x2mq7a).'
        return 'One automation:\n- "stretch" (job_k3v9x2mq7a)'

    asked = ask(
        "remind me in 2 minutes to stretch",
        model="offline",
        tools=[tool("schedule_task", schedule)],
        facts={"now": NOW, "zone": "UTC"},
    )
    answer = await think(asked, journal, models=Models())
    assert answer.text == (f'{LABEL}Added "stretch".\n\nOne automation:\n1. "stretch"')


async def test_a_killed_offline_turn_goes_on_and_adds_nothing_twice():
    for n in range(1, 8):
        added = []

        async def schedule(call, added=added):
            added.append(call.key)
            return 'Added "stretch" (job_k3v9x2mq7a).'

        given = {"model": "offline", "tools": [tool("schedule_task", schedule)], "facts": {"now": NOW, "zone": "UTC"}}
        journal = MemoryJournal(die_at=n, die_after=True)
        try:
            await think(ask("remind me in 2 minutes to stretch", **given), journal, models=Models())
        except Dead:
            journal = MemoryJournal(journal.steps)
            asked = ask("remind me in 2 minutes to stretch", **given, kept=journal.steps)
            answer = await think(asked, journal, models=Models())
            assert "Added" in answer.text or "Outcome unknown" in answer.text
        assert len(added) <= 1


async def test_the_same_words_get_the_same_answer():
    assert await Talk().say("list") == await Talk().say("list")


async def test_an_agent_whose_tool_is_called_cron_gets_it_by_that_name():
    seen = []

    async def cron(call):
        seen.append(call.args)
        return "No automations."

    asked = ask("list", model="offline", tools=[tool("cron", cron)])
    assert (await think(asked, MemoryJournal(), models=Models())).text == f"{LABEL}No automations."
    assert json.dumps(seen) == '[{"action": "list"}]'


def test_jobs_are_found_by_name_and_id_once_each():
    text = '1. "a" (watch-1): daily\n* job_k3v9x2mq7a: weekly\n"a" (watch-1) again'
    assert jobs_in(text) == ["watch-1", "job_k3v9x2mq7a"]
    assert numbered(text).splitlines()[:2] == ['1. "a" (watch-1): daily', "2. job_k3v9x2mq7a: weekly"]


HOSTILE = [
    ("move", " ", "x\ny"),
    ("postpone", "\n", "x\ny"),
    ("move", " \n", "x\ny"),
    ("i need", " ", "x"),
    ("i need to", " please", " x"),
    ("please", " ", "x\ny"),
    ("a", ",", "x"),
    ("a", ", ", "x"),
    ("run a", " ", "x"),
    ("run the", " ", "x"),
    ("run the", " strech", "x"),
    ("run ", "1", ""),
    ("pause a", "\t", "x"),
    ("pause ", "1", "x"),
    ("pause ", "1, ", "x"),
    ("why did ", "a run ", "\nx"),
    ("move ", "a by ", "\nx"),
    ("move ", "a to ", "\nx"),
    ("", "timer for ", "\nx"),
    ("timer ", "5 minutes and ", ""),
    ("what time", " now", "\nx"),
    ("remember to", " ", "x"),
    ("snooze", " ", "x\ny"),
    ("remind me at 9", " and 5", " to stretch"),
    ("remind me every monday", " and tuesday", ""),
    ("tell me ", "from 3 to 5 ", "x"),
]


async def test_no_sentence_keeps_the_server_from_everything_else():
    talk = Talk()
    await talk.say("list")
    before = time.process_time()
    for front, filling, end in HOSTILE:
        # As long as a message may be, and as long as a sentence may be.
        for length in (60, 1990, MAX_MESSAGE):
            room = length - len(front) - len(end)
            await talk.say(front + (filling * room)[:room] + end)
    assert time.process_time() - before < 5


async def test_what_is_longer_than_a_sentence_is_not_understood_but_still_remembered():
    talk = Talk()
    long = "and pears, " * 300 + "please"
    assert "I don't understand" in await talk.say(f"remind me tomorrow at 9 to buy {long} x")
    assert talk.calls == []
    await talk.say(f"remember that  I like {long} x")
    assert talk.calls == [{"text": f"I like {long} x"}]


async def test_spaces_and_line_breaks_between_words_do_not_count():
    talk = Talk()
    await talk.say("remind   me\tin 2  minutes\n\nto   stretch")
    assert (talk.calls[0]["when"], talk.calls[0]["message"]) == ("in 2 minutes", "stretch")
