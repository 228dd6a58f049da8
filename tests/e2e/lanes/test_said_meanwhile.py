"""What a person says while the model thinks is seen by the next call of the same turn, once, whoever dies when."""

from homing.testing import Reply, StubModelServer, tool_call
from support.crews import Crew
from support.deeds import arguments
from support.ledger import Ledger
from support.tripwires import Trip


def test_a_message_said_meanwhile_is_seen_once_also_when_the_worker_dies_at_taking_it(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    stub.when("do it", Reply(tool_calls=[tool_call("look", arguments("it"), call_id="call_1")], hold="first"))
    stub.when("and hurry", "Done, in a hurry.")
    # It is the turn's, on record, and the model has not seen it yet.
    doomed = crew.start(trip=Trip(statement="update inbound set .*injected", place="committed"))
    ledger.say("do it")
    crew.ring()
    stub.wait_for_requests(1)
    inbound_id = ledger.say("and hurry")
    stub.release("first")
    doomed.wait_ended()
    assert ledger.inbound(inbound_id).state == "taken"
    assert len(stub.requests) == 1
    crew.relieve(None)
    ledger.until_closed(1)
    assert ledger.texts() == ["do it", "and hurry", "Done, in a hurry."]
    [_, second] = stub.requests
    assert [message.text for message in second.messages if message.role == "user"] == ["do it", "and hurry"]
    assert [step.key for step in ledger.steps(ledger.turn().id) if step.kind == "inject"] == [inbound_id]
    ledger.check_whole()
