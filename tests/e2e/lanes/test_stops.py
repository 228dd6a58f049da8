"""A worker that is told to stop, and a turn that is told to stop, from another process."""

from homing.agent.tool_calls import UNKNOWN_OUTCOME
from homing.engine.runner import GRACE_SECONDS, LEAVE_SECONDS
from homing.testing import Reply, StubModelServer, tool_call
from support.crews import Crew
from support.deeds import arguments
from support.ledger import Ledger


def test_a_worker_told_to_stop_hands_its_turn_back_and_nobody_has_to_wait_for_its_claim(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    stub.reply(Reply(text="nobody hears this", hold=True))
    stub.otherwise("Hello.")
    first = crew.start(claim_seconds=600)
    ledger.say("hello")
    crew.ring()
    stub.wait_for_requests(1)
    assert first.stop() == 0
    turn = ledger.turn()
    assert (turn.state, turn.attempts, turn.worker_id) == ("running", 0, None)
    crew.start(claim_seconds=600)
    ledger.until_closed(1)
    assert ledger.texts() == ["hello", "Hello."]
    ledger.check_whole()


def test_a_worker_told_to_stop_ends_although_a_tool_does_not_hear_it_and_the_turn_goes_on_elsewhere(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    stub.when("do it", tool_call("deaf", arguments("it"), call_id="call_1"), "I do not know whether it is done.")
    first = crew.start(claim_seconds=600)
    ledger.say("do it")
    crew.ring()
    crew.until_begun("deaf it")
    assert first.stop(GRACE_SECONDS + LEAVE_SECONDS + 10) == 0
    # What does not hear may still be at it: nobody takes the turn up before its claim ran out.
    turn = ledger.turn()
    assert turn.worker_id is not None
    assert "turn_deaf" in crew.logs()
    ledger.change_turn(turn.id, claimed_until=turn.opened_at)
    crew.start(claim_seconds=600)
    ledger.until_closed(1)
    assert ledger.texts() == ["do it", "I do not know whether it is done."]
    assert UNKNOWN_OUTCOME in stub.requests[-1].text
    ledger.check_whole()


def test_a_turn_is_stopped_from_another_process_in_the_middle_of_a_model_call(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    stub.when("story", Reply(text="Once upon a time", hold=True))
    crew.start(claim_seconds=600)
    ledger.say("tell me a story")
    crew.ring()
    stub.wait_for_requests(1)
    ledger.say("hello", mode="queue")
    ledger.cancel()
    crew.ring()
    ledger.until_closed(2)
    assert ledger.texts() == ["tell me a story", "Stopped.", "hello", "You said: hello"]
    assert stub.requests[0].outcome == "disconnected"
    ledger.check_whole()
