"""Rule 15 over the real wire: what can pass is tried again, what cannot fails with one short line and a full record."""

from collections.abc import AsyncIterator, Iterator

import pytest

from homing.store import Store
from homing.testing import StubModelServer, tool_call
from support.rooms import Room

PROVIDER = "Incorrect API key provided: sk-secret. See https://provider.example/keys"
MASKED = "Incorrect API key provided: sk-*** See https://provider.example/keys"
WRONG_KEY = "I could not answer: the model's provider refused the key. Check it (see `homing doctor`)."
SILENT = "I could not answer: the model did not respond, even after several tries."


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubModelServer]:
    with StubModelServer() as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
async def wired(room_store: Store, stub: StubModelServer) -> AsyncIterator[Room]:
    """Each protocol on one of the databases: they have nothing to do with each other."""
    room = Room(room_store, model="openai-chat:stub" if room_store.postgres else "anthropic:stub")
    yield room
    await room.models.close()


async def test_a_wrong_key_gives_one_short_line_and_the_full_error_in_the_record(
    wired: Room, stub: StubModelServer
) -> None:
    stub.fail(401, message=PROVIDER)
    wired.ledger.say("hello")
    await wired.work()
    turn = wired.ledger.turn()
    assert (turn.outcome, turn.reason) == ("failed", "model")
    assert wired.ledger.texts() == ["hello", WRONG_KEY]
    assert (turn.error or "").startswith(f"{MASKED} (401 from stub)")
    assert "sk-secret" not in (turn.error or "")
    assert len(stub.requests) == 1
    wired.ledger.check_whole()


@pytest.mark.parametrize(
    ("status", "tries", "told"),
    [
        (400, 1, "the model refused the request. Check its name and key (see `homing doctor`)."),
        (404, 1, "the model's provider does not know this model. Check its name (see `homing doctor`)."),
        (429, 4, "the model's provider reported a rate limit at every attempt. Try again in a few minutes."),
        (500, 4, "the model's server reported an error at every attempt. Try again later."),
        (529, 4, "the model's server reported an error at every attempt. Try again later."),
    ],
)
async def test_a_failure_is_called_by_its_name_and_never_by_the_providers_words(
    wired: Room, stub: StubModelServer, status: int, tries: int, told: str
) -> None:
    stub.fail(status, times=9, retry_after_seconds=0, message=PROVIDER)
    wired.ledger.say("hello")
    await wired.work()
    assert wired.ledger.texts() == ["hello", f"I could not answer: {told}"]
    assert len(stub.requests) == tries


async def test_a_run_with_a_wrong_key_is_an_error_and_its_job_has_one_short_line(
    wired: Room, stub: StubModelServer
) -> None:
    stub.fail(401, message=PROVIDER)
    run_id = wired.ledger.run("look at the weather")
    await wired.work()
    run = wired.ledger.find_run(run_id)
    assert (run.state, run.reason) == ("error", "model")
    assert MASKED in (run.error or "")
    assert "sk-secret" not in (run.error or "")
    said = [text for text in wired.ledger.texts() if "sk-secret" in text or "provider.example" in text]
    assert said == []
    assert "sk-secret" not in (run.summary or "")


async def test_too_many_requests_waits_as_told_and_succeeds(wired: Room, stub: StubModelServer) -> None:
    stub.fail(429, retry_after_seconds=1, message=PROVIDER)
    stub.otherwise("Hello.")
    wired.ledger.say("hello")
    await wired.work()
    assert wired.ledger.texts() == ["hello", "Hello."]
    first, second = stub.requests
    assert (second.arrived_at - first.arrived_at).total_seconds() >= 1
    assert first.messages == second.messages
    assert len([step for step in wired.ledger.steps(wired.ledger.turn().id) if step.kind == "model"]) == 1


async def test_a_cut_stream_is_tried_again_and_its_half_answer_is_nowhere(wired: Room, stub: StubModelServer) -> None:
    stub.fail("cut")
    stub.otherwise("Hello.")
    wired.ledger.say("hello")
    await wired.work()
    assert wired.ledger.texts() == ["hello", "Hello."]
    assert [request.outcome for request in stub.requests] == ["cut", "answered"]


async def test_malformed_arguments_go_back_to_the_model_once(wired: Room, stub: StubModelServer) -> None:
    stub.reply(tool_call("look", '{"what": '))
    stub.reply("I will leave it, then.")
    wired.ledger.say("look")
    await wired.work()
    assert wired.ledger.texts() == ["look", "I will leave it, then."]
    [told] = [message.text for message in stub.requests[1].messages if message.role == "tool"]
    assert "not a JSON object" in told


async def test_malformed_arguments_twice_fail_cleanly(wired: Room, stub: StubModelServer) -> None:
    stub.otherwise(tool_call("look", '{"what": '))
    wired.ledger.say("look")
    await wired.work()
    turn = wired.ledger.turn()
    assert (turn.outcome, turn.reason, len(stub.requests)) == ("failed", "model", 2)
    assert wired.ledger.texts() == ["look", SILENT]
    assert "malformed arguments" in (turn.error or "")
    # The lane is free, and a history with a broken call in it can be sent to any provider.
    stub.otherwise("Hello.")
    wired.ledger.say("hello")
    await wired.work()
    assert wired.ledger.texts()[-1] == "Hello."


async def test_an_empty_answer_leaves_a_visible_line(wired: Room, stub: StubModelServer) -> None:
    stub.otherwise("")
    wired.ledger.say("hello")
    await wired.work()
    assert wired.ledger.turn().outcome == "empty"
    assert wired.ledger.texts() == ["hello", "(The answer was empty.)"]


async def test_a_failing_tool_is_told_to_the_model_and_no_failure_of_the_turn(room: Room) -> None:
    room.model.reply(tool_call("nonsense", {}))
    room.model.reply("I have no such tool.")
    room.ledger.say("do nonsense")
    await room.work()
    assert room.ledger.turn().outcome == "answered"


async def test_what_breaks_inside_homing_closes_the_turn_and_is_told_in_the_record_only(room: Room) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("a secret of ours")

    room.ledger.say("hello")
    await room.work(lanes=room.lanes(think=broken))  # type: ignore[arg-type]
    turn = room.ledger.turn()
    assert (turn.outcome, room.ledger.texts()[1]) == (
        "failed",
        "I could not finish this: something went wrong inside Homing.",
    )
    assert "a secret of ours" in (turn.error or "")
