"""Tools inside real turns: which an agent gets, and that an effect and its step are one."""

import pytest

from behaviour.tools.talks import MakeTalk, Talk
from homing.model.runs import Run
from homing.model.sessions import Session
from homing.model.turns import Step
from homing.store import Tx, run_lists, sessions, steps
from homing.testing import ScriptedModel, scripted_model, tool_call

ADD = {"action": "add", "when": "every day at 9", "message": "look for fruit", "name": "fruit watch"}


def offered(model: ScriptedModel) -> list[str]:
    """Name the tools that the last call of the model could use."""
    return [tool.name for tool in model.infos[-1].function_tools]


def tool_steps(talk: Talk) -> list[Step]:
    """Read the tool steps of the conversation's first turn."""
    turn_id = talk.messages()[0].turn_id
    assert turn_id
    return [step for step in talk.world.write(lambda tx: steps.kept(tx, turn_id)) if step.kind == "tool"]


def only_run(talk: Talk) -> Run:
    """Read the one run of the conversation's first job."""
    job = talk.jobs()[0]
    [run] = talk.world.write(lambda tx: run_lists.listed(tx, user_id=job.user_id, job_id=job.id, limit=9))
    return run


async def test_a_tools_effect_its_step_and_its_card_are_one(open_talk: MakeTalk) -> None:
    model = scripted_model([tool_call("schedule_task", ADD, call_id="call_1"), "Done."])
    talk = open_talk("schedule_task", model=model)
    closing = await talk.closing("look for fruit every morning")
    [job] = talk.jobs()
    [step] = tool_steps(talk)
    assert (step.name, step.key, step.state, step.failed) == ("schedule_task", "call_1", "done", False)
    assert step.result is not None
    assert step.result.startswith(f'Added "fruit watch" ({job.id}): every day at 09:00 Europe/Berlin. Next: ')
    assert closing.cards == [{"kind": "job", "job_id": job.id, "change": "added", "revision": 1}]
    assert (job.origin_door, job.origin_turn_id) == ("tool", closing.turn_id)


async def test_a_refusal_undoes_all_of_it_and_the_model_corrects_itself(open_talk: MakeTalk) -> None:
    wrong = tool_call("schedule_task", {**ADD, "when": "soonish"})
    model = scripted_model([wrong, tool_call("schedule_task", ADD), "Done."])
    talk = open_talk("schedule_task", model=model)
    closing = await talk.closing("look for fruit every morning")
    refused, added = tool_steps(talk)
    assert refused.failed
    assert refused.result is not None
    assert "I don't understand 'soonish' as a time" in refused.result
    assert 'Read: when = "soonish". A correct call: ' in refused.result
    assert not added.failed
    assert (len(talk.jobs()), len(closing.cards), closing.text) == (1, 1, "Done.")


async def test_a_turn_in_a_shared_place_finds_no_automation_of_another_conversation(open_talk: MakeTalk) -> None:
    remove = tool_call("schedule_task", {"action": "remove", "job_id": "fruit watch"})
    model = scripted_model([tool_call("schedule_task", ADD), "Done.", remove, "There is none."])
    talk = open_talk("schedule_task", model=model)
    await talk.closing("look for fruit every morning")
    [job] = talk.jobs()

    def make_group(tx: Tx) -> Session:
        group = sessions.add(tx, key="chat:-100", user_id=talk.session.user_id, agent_id=talk.session.agent_id)
        assert group is not None
        sessions.mark_several(tx, group.id)
        return group

    group = Talk(world=talk.world, session=talk.world.write(make_group), models=talk.models)
    closing = await group.closing("stop the fruit watch")
    [step] = tool_steps(group)
    assert step.failed
    assert (step.result or "").startswith("There is no automation 'fruit watch', and none at all here.")
    assert (closing.text, closing.cards) == ("There is none.", [])
    assert talk.jobs() == [job]


async def test_several_calls_in_one_answer_are_all_done(open_talk: MakeTalk) -> None:
    calls = [tool_call("schedule_task", {**ADD, "name": name, "message": name}) for name in ("tea", "coffee", "juice")]
    talk = open_talk("schedule_task", model=scripted_model([calls, "Done."]))
    closing = await talk.closing("three of them")
    assert sorted(job.name for job in talk.jobs()) == ["coffee", "juice", "tea"]
    assert {card["job_id"] for card in closing.cards} == {job.id for job in talk.jobs()}


async def test_an_agent_whose_tools_name_cron_gets_the_same_under_that_name(open_talk: MakeTalk) -> None:
    model = scripted_model([tool_call("cron", ADD), "Done."])
    talk = open_talk("cron", model=model)
    await talk.closing("look for fruit every morning")
    assert offered(model) == ["cron"]
    assert len(talk.jobs()) == 1


@pytest.mark.parametrize(
    ("name", "args"),
    [("cron", ADD), ("schedule_message", {"text": "look for fruit", "processAfter": "2100-01-01T09:00:00Z"})],
)
async def test_a_model_that_calls_the_tool_by_another_name_is_understood(
    open_talk: MakeTalk, name: str, args: dict[str, str]
) -> None:
    model = scripted_model([tool_call(name, args), "Done."])
    talk = open_talk("schedule_task", model=model)
    await talk.closing("look for fruit")
    assert offered(model) == ["schedule_task"]
    [step] = tool_steps(talk)
    assert (step.name, step.failed) == (name, False)
    assert [(job.payload.message, job.payload.kind) for job in talk.jobs()] == [("look for fruit", "agent_turn")]


async def test_a_name_of_no_tool_is_refused_with_those_that_are_offered(open_talk: MakeTalk) -> None:
    model = scripted_model([tool_call("calendar", ADD), tool_call("cron", ADD), "Done."])
    talk = open_talk("schedule_task", "recall", model=model)
    await talk.closing("look for fruit")
    unknown, added = tool_steps(talk)
    assert unknown.result == "Unknown tool: calendar. Known tools: schedule_task, recall."
    assert not added.failed


async def test_an_agent_gets_what_its_tools_name_and_the_scheduler_never_twice(open_talk: MakeTalk) -> None:
    model = scripted_model()
    await open_talk(model=model, key="web:none").closing("hello")
    assert offered(model) == []
    await open_talk("schedule_task", "cron", "recall", model=model, key="web:both").closing("hello")
    assert offered(model) == ["schedule_task", "recall"]


async def test_a_quiet_scheduled_turn_may_say_nothing(open_talk: MakeTalk) -> None:
    model = scripted_model()
    model.when("please add", tool_call("schedule_task", {**ADD, "quiet": True}), "Done.")
    model.when("please start", tool_call("schedule_task", {"action": "run", "job_id": "fruit watch"}), "Running.")
    model.when("look for fruit", tool_call("nothing_to_report", {"note": "no fruit"}), "")
    talk = open_talk("schedule_task", model=model)
    await talk.closing("please add")
    assert offered(model) == ["schedule_task"]
    await talk.closing("please start")
    assert offered(model) == ["schedule_task", "nothing_to_report"]
    assert (only_run(talk).state, only_run(talk).reason) == ("ok", "quiet")


async def test_a_scheduled_turn_stops_its_own_job_but_adds_none_and_still_answers(open_talk: MakeTalk) -> None:
    model = scripted_model()
    model.when("please add", tool_call("schedule_task", ADD), "Done.")
    model.when("please start", tool_call("schedule_task", {"action": "run", "job_id": "fruit watch"}), "Running.")
    more = tool_call("schedule_task", {**ADD, "name": "more"})
    model.when("look for fruit", [more, tool_call("schedule_task", {"action": "disable"})], "All bought.")
    talk = open_talk("schedule_task", model=model)
    await talk.closing("please add")
    await talk.closing("please start")
    [job] = talk.jobs()
    assert (job.name, job.enabled) == ("fruit watch", False)
    assert talk.messages()[-1].text == "All bought."
    assert talk.messages()[-1].cards == [{"kind": "job", "job_id": job.id, "change": "disabled", "revision": 2}]
    assert only_run(talk).state == "ok"


async def test_an_isolated_turn_belongs_to_the_conversation_it_reports_to(open_talk: MakeTalk) -> None:
    model = scripted_model()
    model.when("please add", tool_call("schedule_task", {**ADD, "isolated": True, "may_schedule": True}), "Done.")
    model.when("please start", tool_call("schedule_task", {"action": "run", "job_id": "fruit watch"}), "Running.")
    model.when("look for fruit", tool_call("schedule_task", {**ADD, "name": "more", "message": "other"}), "Bought.")
    talk = open_talk("schedule_task", model=model)
    await talk.closing("please add")
    await talk.closing("please start")
    await talk.work(only_run(talk).lane_id)
    assert [job.name for job in talk.jobs()] == ["fruit watch", "more"]
