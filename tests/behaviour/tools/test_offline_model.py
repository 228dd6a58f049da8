"""The model without a key on the real tools, through the real lane."""

import re

from behaviour.tools.talks import MakeTalk, Talk
from homing.model.schedules import At


async def test_a_reminder_can_be_made_listed_paused_explained_and_taken_back(talk: Talk) -> None:
    added = await talk.closing("remind me in 2 minutes to stretch")
    [job] = talk.jobs()
    assert (job.payload.kind, job.payload.message, job.name) == ("reminder", "stretch", "stretch")
    assert isinstance(job.timing.schedule, At)
    assert 'Added "stretch": once on ' in added.text
    assert "Europe/Berlin" in added.text
    assert added.cards == [{"kind": "job", "job_id": job.id, "change": "added", "revision": 1}]

    await talk.say("every weekday at 8 say good morning")
    morning = next(one for one in talk.jobs() if one.id != job.id)
    assert (morning.payload.kind, morning.payload.message) == ("agent_turn", "say good morning")
    listed = (await talk.say("list")).splitlines()
    assert listed[0] == "2 automations in this conversation:"
    assert listed[1].startswith('1. "stretch": once on ')
    assert listed[2].startswith('2. "say good morning": weekdays at 08:00 Europe/Berlin. Next: ')

    paused = await talk.closing("pause 2")
    assert 'Disabled "say good morning"' in paused.text
    assert paused.cards == [{"kind": "job", "job_id": morning.id, "change": "disabled", "revision": 2}]
    assert "\n\nIt is paused." in await talk.say("why 2")
    assert "Undone: set back" in await talk.say("undo")
    assert all(one.enabled for one in talk.jobs())


async def test_numbers_are_those_of_the_last_list_and_names_work_too(talk: Talk) -> None:
    for name in ("tea", "coffee", "juice"):
        await talk.say(f"every day at 9 say {name}")
    shown = re.findall(r'"say (\w+)"', await talk.say("list"))
    assert 'Skipped "say ' in await talk.say("skip 1")
    assert f'Removed "say {shown[1]}"' in await talk.say("cancel 2")
    assert f'Running "say {shown[2]}"' in await talk.say("run say " + shown[2])
    await talk.say("cancel all")
    assert talk.jobs() == []
    assert await talk.say("list") == "No automations in this conversation."


async def test_a_removal_is_taken_back_by_undo(talk: Talk) -> None:
    await talk.say("every day at 9 say tea")
    await talk.say("cancel say tea")
    assert talk.jobs() == []
    assert (await talk.say("undo")).startswith('Undone: brought back "say tea": ')
    assert [job.payload.message for job in talk.jobs()] == ["say tea"]


async def test_the_same_can_be_scheduled_again(talk: Talk) -> None:
    await talk.say("remind me in 2 minutes to stretch")
    assert (await talk.say("again in 10m")).startswith('Added "stretch": ')
    assert [job.payload.kind for job in talk.jobs()] == ["reminder", "reminder"]


async def test_a_person_reads_the_reason_and_not_the_words_for_models(talk: Talk) -> None:
    refused = await talk.say("remind me on 2020-01-01 at 09:00 to celebrate")
    assert "is in the past" in refused
    assert "correct call" not in refused
    assert "Read:" not in refused
    assert "correct call" not in await talk.say("pause something")


async def test_what_was_said_is_remembered_in_every_conversation_until_it_is_forgotten(open_talk: MakeTalk) -> None:
    tools = ("schedule_task", "remember", "recall", "forget")
    here, elsewhere = open_talk(*tools), open_talk(*tools, key="web:other")
    assert await here.say("remember that the key is under the mat") == 'Noted: "the key is under the mat".'
    assert await here.say("what did I say about keys") == 'you told me:\n- "the key is under the mat"'
    assert await elsewhere.say("what did I say about keys") == 'you told me:\n- "the key is under the mat"'
    assert (await elsewhere.say("forget the key")).startswith("Forgot mem_")
    assert (
        await elsewhere.say("what did I say about keys") == "Nothing about keys is in this conversation or in memory."
    )


async def test_memories_are_found_in_chinese(talk: Talk) -> None:
    await talk.say("我喜欢苹果")
    assert "我喜欢苹果" in await talk.say("我喜欢什么")
