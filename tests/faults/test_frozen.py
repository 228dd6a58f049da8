"""A worker that stood still for longer than its claim: another has its turn, and it writes nothing any more."""

import pytest

from homing.testing import Reply, StubModelServer, tool_call
from support.crews import Crew
from support.deeds import arguments
from support.ledger import Ledger
from support.tripwires import Trip


def test_a_frozen_worker_that_comes_back_writes_nothing_and_ends_its_turn(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    """On SQLite the one worker there is comes back to its own turn: it too goes on under a new fence, and once."""
    call = tool_call("deed", arguments("it"), call_id="call_1")
    stub.when("do it", call, Reply(text="The old answer.", hold="old"), times=2)
    stub.when("do it", "not asked again", "The new answer.")
    frozen = crew.start()
    ledger.say("do it")
    crew.ring()
    stub.wait_for_requests(2)
    frozen.freeze()
    frozen.wait_frozen()
    # The old answer lies ready in the frozen worker's socket.
    stub.release("old")
    if crew.postgres:
        crew.relieve(None)
        ledger.until_closed(1)
        assert ledger.turn().fence > 1
        rows = (ledger.messages(), ledger.steps(ledger.turn().id), ledger.outbounds())
        frozen.thaw()
        # It is awake, found its turn with another, and works on: it answers in another conversation.
        crew.workers[1].stop()
        ledger.say("are you there?", "web:other")
        crew.ring()
        ledger.until_closed(1, "web:other")
        assert (ledger.messages(), ledger.steps(ledger.turn().id), ledger.outbounds()) == rows
    else:
        until_claim_ends(ledger)
        frozen.thaw()
        ledger.until_closed(1)
    assert ledger.texts() == ["do it", "The new answer."]
    assert crew.deeds() == ["deed it"]
    ledger.check_whole()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_worker_frozen_in_the_middle_of_closing_does_not_hold_the_others_up(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    stub.otherwise("Hello.")
    frozen = crew.start(trip=Trip(statement="insert into outbound", signal="SIGSTOP"))
    ledger.say("hello")
    crew.ring()
    frozen.wait_frozen()
    # It holds the locks of its session and its turn, in a transaction that nobody will end.
    crew.relieve(None)
    ledger.say("and you?", "web:other")
    crew.ring()
    ledger.until_closed(1, "web:other")
    ledger.until_closed(1)
    assert ledger.turn().fence > 1
    frozen.thaw()
    ledger.say("still there?")
    crew.ring()
    ledger.until_closed(2)
    assert ledger.texts() == ["hello", "Hello.", "still there?", "Hello."]
    ledger.check_whole()


def until_claim_ends(ledger: Ledger) -> None:
    """Nobody can renew it: its end is certain."""
    end = ledger.turn().claimed_until
    assert end is not None
    ledger.until(lambda: ledger.write(lambda tx: tx.now()) > end, "the claim has run out")
