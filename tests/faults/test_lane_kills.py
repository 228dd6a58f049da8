"""A worker killed anywhere in a turn: another goes on after the last finished step, and nobody sees a seam."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from homing.store import Tx, agents
from homing.testing import Reply, StubModelServer, tool_call
from support.crews import CLAIM_SECONDS, Crew
from support.deeds import arguments
from support.ledger import Ledger
from support.tripwires import Trip

# Sooner than a worker that only looks around now and then: it knows when the claim ends.
TAKE_UP_SECONDS = 4.0
CALL = tool_call("deed", arguments("it", "tool"), call_id="call_1")
DONE = "It is done."


def begin(crew: Crew, ledger: Ledger, stub: StubModelServer, *, trip: Trip | None = None) -> None:
    """Let a worker open the turn and call the model."""
    crew.start(trip=trip)
    ledger.say("do it")
    crew.ring()
    stub.wait_for_requests(1)


def check_taken_up(crew: Crew, ledger: Ledger, died: datetime) -> None:
    """It went on in time, as one turn with one opening and one closing."""
    free = max(datetime.now(UTC), died + timedelta(seconds=CLAIM_SECONDS))
    ledger.until(lambda: ledger.turn().fence > 1, "somebody takes the turn up")
    assert (datetime.now(UTC) - free).total_seconds() <= TAKE_UP_SECONDS
    turn = ledger.until_closed(1)[0]
    assert turn.outcome == "answered"
    assert ledger.texts() == ["do it", DONE]
    ledger.check_whole()


def check_next_turn(crew: Crew, ledger: Ledger, stub: StubModelServer) -> None:
    """The next message is answered, and the model sees everything that was before it."""
    before = len(stub.requests)
    ledger.say("and now?")
    crew.ring()
    ledger.until_closed(2)
    ledger.check_whole()
    [request] = stub.requests[before:]
    said = [(m.role, m.text) for m in request.messages if m.role != "system"]
    assert said == [
        ("user", "do it"), ("assistant", ""), ("tool", "it done"), ("assistant", DONE), ("user", "and now?"),
    ]  # fmt: skip
    assert ledger.texts()[2:] == ["and now?", "You said: and now?"]


def test_killed_in_a_model_call_only_that_call_is_made_again(crew: Crew, ledger: Ledger, stub: StubModelServer) -> None:
    stub.when("do it", CALL, Reply(text="nobody hears this", hold=True), times=2)
    stub.when("do it", "not asked again", DONE)
    crew.open_gate("tool")
    begin(crew, ledger, stub)
    stub.wait_for_requests(2)
    spare = crew.spare()
    crew.workers[0].kill()
    died = datetime.now(UTC)
    crew.relieve(spare)
    check_taken_up(crew, ledger, died)
    assert [request.outcome for request in stub.requests] == ["answered", "disconnected", "answered"]
    # Not the instructions, which tell the time.
    assert stub.requests[1].messages[1:] == stub.requests[2].messages[1:]
    assert crew.deeds() == ["deed it"]
    check_next_turn(crew, ledger, stub)


def test_killed_in_a_turn_it_is_taken_up_with_the_agent_of_its_opening(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    stub.when("do it", Reply(text="nobody hears this", hold=True), times=1)
    stub.when("do it", DONE)
    begin(crew, ledger, stub)
    spare = crew.spare()
    crew.workers[0].kill()
    died = datetime.now(UTC)

    def edit(tx: Tx) -> None:
        before = agents.lock(tx, "main")
        assert before is not None
        agents.change(tx, replace(before, instructions="You are somebody else.", tools={"recall": "allow"}))

    ledger.write(edit)
    crew.relieve(spare)
    check_taken_up(crew, ledger, died)
    first, second = stub.requests
    # The instructions tell the time, which goes on.
    assert first.messages[1:] == second.messages[1:]
    assert first.messages[0].text.splitlines()[0] == second.messages[0].text.splitlines()[0]
    assert "somebody else" not in second.messages[0].text
    ledger.say("and now?")
    crew.ring()
    ledger.until_closed(2)
    assert "You are somebody else." in stub.requests[2].messages[0].text


def test_killed_in_a_repeatable_tool_the_tool_is_called_again_and_the_model_is_not(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    stub.when("do it", tool_call("look", arguments("it", "tool"), call_id="call_1"), DONE)
    begin(crew, ledger, stub)
    ledger.until(crew.deeds, "the tool has begun")
    spare = crew.spare()
    crew.workers[0].kill()
    died = datetime.now(UTC)
    crew.open_gate("tool")
    crew.relieve(spare)
    check_taken_up(crew, ledger, died)
    assert crew.deeds() == ["look it", "look it"]
    assert len(stub.requests) == 2
    check_next_turn(crew, ledger, stub)


def test_killed_in_an_unrepeatable_tool_it_is_not_repeated_and_the_model_is_told(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    stub.when("do it", CALL, DONE)
    begin(crew, ledger, stub)
    ledger.until(crew.deeds, "the tool has begun")
    spare = crew.spare()
    crew.workers[0].kill()
    died = datetime.now(UTC)
    crew.open_gate("tool")
    crew.relieve(spare)
    check_taken_up(crew, ledger, died)
    assert crew.deeds() == ["deed it"]
    [_, second] = stub.requests
    [told] = [message.text for message in second.messages if message.role == "tool"]
    assert "Outcome unknown" in told


def test_killed_between_two_steps_no_finished_one_is_repeated(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    stub.when("do it", CALL, DONE)
    # The tool's result is on record, the next model call is not made yet.
    begin(crew, ledger, stub, trip=Trip(statement="update step", place="committed"))
    spare = crew.spare()
    crew.open_gate("tool")
    crew.workers[0].wait_ended()
    died = datetime.now(UTC)
    crew.relieve(spare)
    check_taken_up(crew, ledger, died)
    assert [request.outcome for request in stub.requests] == ["answered", "answered"]
    assert crew.deeds() == ["deed it"]
    check_next_turn(crew, ledger, stub)


def test_killed_in_the_middle_of_closing_it_closes_once_and_no_call_is_made_again(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    stub.when("do it", CALL, DONE)
    # The closing is written and the turn marked as closed; what people are owed is not, and nothing is committed.
    begin(crew, ledger, stub, trip=Trip(statement="insert into outbound"))
    spare = crew.spare()
    crew.open_gate("tool")
    crew.workers[0].wait_ended()
    died = datetime.now(UTC)
    assert ledger.texts() == ["do it"]
    crew.relieve(spare)
    check_taken_up(crew, ledger, died)
    assert [request.outcome for request in stub.requests] == ["answered", "answered"]
    assert crew.deeds() == ["deed it"]
    check_next_turn(crew, ledger, stub)


def test_killed_right_after_closing_nothing_is_left_to_do(crew: Crew, ledger: Ledger, stub: StubModelServer) -> None:
    stub.when("do it", CALL, DONE)
    crew.open_gate("tool")
    begin(crew, ledger, stub, trip=Trip(statement="insert into outbound", place="committed"))
    crew.workers[0].wait_ended()
    crew.relieve(None)
    assert ledger.turn().outcome == "answered"
    check_next_turn(crew, ledger, stub)
    assert len(stub.requests) == 3


def test_a_tool_renamed_between_a_kill_and_the_restart_does_not_stop_the_turn(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    quick = tool_call("deed", arguments("it"), call_id="call_1")
    slow = tool_call("look", arguments("that", "tool"), call_id="call_2")
    stub.when("do it", [quick, slow], DONE)
    begin(crew, ledger, stub)

    def one_is_done() -> bool:
        steps = ledger.steps(ledger.turn().id)
        return len(crew.deeds()) == 2 and any(step.kind == "tool" and step.state == "done" for step in steps)

    ledger.until(one_is_done, "one of two tools is done")
    crew.workers[0].kill()
    died = datetime.now(UTC)
    crew.relieve(None, renamed={"deed": "act", "look": "watch"})
    check_taken_up(crew, ledger, died)
    [_, second] = stub.requests
    told = {message.tool_call_id: message.text for message in second.messages if message.role == "tool"}
    assert told["call_1"] == "it done"
    assert "Unknown tool: look." in told["call_2"]
    assert sorted(crew.deeds()) == ["deed it", "look that"]
