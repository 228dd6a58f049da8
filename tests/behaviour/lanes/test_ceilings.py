"""Rules 5 and 16: whatever hangs, the turn closes at its ceiling, and the lane goes on."""

from pathlib import Path

from homing.testing import fault, tool_call
from support.deeds import arguments, lines, make_tools, open_gate
from support.rooms import Room


async def test_a_model_that_never_answers_ends_the_turn_at_its_ceiling_and_the_run_behind_it_runs(
    room_store: object, tmp_path: Path
) -> None:
    room = Room(room_store, turn_seconds=3)  # type: ignore[arg-type]
    room.model.when("hello?", fault("hang"))
    async with room.running():
        room.ledger.say("hello?")
        run_id = room.ledger.run("look at the weather")
        room.ring()
        await room.until_closed(2)
    first, second = room.ledger.turns()
    assert (first.outcome, first.reason) == ("failed", "timeout")
    assert first.error == "timed out after 3 s, waiting for the model scripted"
    assert room.ledger.texts()[1] == "I stopped: this took longer than 3 seconds."
    assert (room.ledger.find_run(run_id).state, second.outcome) == ("ok", "answered")
    room.ledger.check_whole()


async def test_a_tool_that_never_returns_ends_the_turn_at_the_turns_ceiling(room_store: object, tmp_path: Path) -> None:
    room = Room(room_store, turn_seconds=3, tools=make_tools(tmp_path))  # type: ignore[arg-type]
    room.model.when("hello?", tool_call("never", arguments("it")))
    async with room.running():
        room.ledger.say("hello?")
        run_id = room.ledger.run("look at the weather")
        room.ring()
        await room.until_closed(2)
    assert [turn.reason for turn in room.ledger.turns()] == ["timeout", None]
    assert room.ledger.find_run(run_id).state == "ok"
    assert lines(tmp_path) == ["never it"]


async def test_a_tool_has_a_ceiling_of_its_own_and_the_turn_says_that_it_did_not_come_back(
    room: Room, tmp_path: Path
) -> None:
    room.tools = make_tools(tmp_path)
    room.model.when("hello?", tool_call("hasty", arguments("it")))
    async with room.running():
        room.ledger.say("hello?")
        run_id = room.ledger.run("look at the weather")
        room.ring()
        await room.until_closed(2)
    first, _ = room.ledger.turns()
    assert (first.outcome, first.reason) == ("failed", "tool")
    assert "gave no answer within 0.3 s" in (first.error or "")
    assert room.ledger.texts()[1] == "I could not finish this: a tool did not come back."
    assert room.ledger.find_run(run_id).state == "ok"


async def test_a_tool_that_does_not_hear_that_it_shall_stop_holds_the_lane_no_longer_than_its_claim(
    room_store: object, tmp_path: Path
) -> None:
    room = Room(room_store, turn_seconds=3, claim_seconds=2, tools=make_tools(tmp_path))  # type: ignore[arg-type]
    room.model.when("hello?", tool_call("deaf", arguments("it")))
    async with room.running():
        room.ledger.say("hello?")
        run_id = room.ledger.run("look at the weather")
        room.ring()
        try:
            await room.until_closed(2)
        finally:
            # What comes back after all is heard by nobody.
            open_gate(tmp_path, "deaf")
    first, _ = room.ledger.turns()
    assert (first.outcome, first.reason) == ("failed", "timeout")
    assert room.ledger.find_run(run_id).state == "ok"
    room.ledger.check_whole()


async def test_a_jobs_own_timeout_wins_over_the_turns(room: Room) -> None:
    room.model.reply(fault("hang"))
    async with room.running():
        run_id = room.ledger.run("look at the weather", timeout_seconds=2)
        room.ring()
        await room.until_closed(1)
    run = room.ledger.find_run(run_id)
    assert (run.state, run.reason, run.error) == (
        "error",
        "timeout",
        "timed out after 2 s, waiting for the model scripted",
    )


async def test_a_job_without_a_timeout_has_no_ceiling(room: Room) -> None:
    room.ledger.run("look at the weather", timeout_seconds=None)
    await room.work()
    assert room.ledger.turn().deadline_at is None


async def test_a_take_over_does_not_renew_the_deadline(room: Room) -> None:
    room.ledger.say("hello")
    room.model.reply("Hello.", hold=True)
    async with room.running():
        room.ring()
        await room.called(1)
    before = room.ledger.turn().deadline_at
    assert room.ledger.turn().state == "running"
    await room.work()
    assert room.ledger.turn().deadline_at == before
