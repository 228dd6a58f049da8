"""The database goes away in mid-flight and comes back: the workers are still there, and the turns go on."""

from collections.abc import Iterator

import pytest

from homing.model.clock import SystemClock
from homing.store import Store, schema
from homing.testing import PostgresServer, Reply, StubModelServer, tool_call
from support.crews import Crew
from support.deeds import arguments
from support.ledger import Ledger
from support.worlds import furnish


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server of this test's own: it will be restarted under its clients."""
    with PostgresServer() as server:
        yield server


@pytest.fixture
def database(server: PostgresServer) -> str:
    url = server.fresh()
    store = Store(url, SystemClock())
    schema.upgrade(store)
    store.write_now(furnish)
    store.engine.dispose()
    return url


def test_a_worker_outlives_a_restart_of_its_database_and_its_turns_go_on(
    crew: Crew, ledger: Ledger, stub: StubModelServer, server: PostgresServer
) -> None:
    call = tool_call("deed", arguments("it", "tool"), call_id="call_1")
    stub.when("do it", call, "Done.")
    stub.when("think", Reply(text="Thought.", hold="think"))
    worker = crew.start()
    ledger.say("do it")
    ledger.say("think", "web:thinker")
    crew.ring()
    ledger.until(crew.deeds, "the tool has begun")
    stub.wait_for_requests(2)
    # One turn is in a tool, the other in a model call; both want to write when it is back, or while it is away.
    ledger.store.engine.dispose()
    server.restart("immediate")
    stub.release("think")
    crew.open_gate("tool")
    ledger.until_closed(1)
    ledger.until_closed(1, "web:thinker")
    assert ledger.texts() == ["do it", "Done."]
    assert ledger.texts("web:thinker") == ["think", "Thought."]
    assert crew.deeds() == ["deed it"]
    for key in ("web:chat", "web:thinker"):
        ledger.check_whole(key)
    # Whoever was away hears the bell again, and the clock still ticks.
    ledger.say("hello")
    crew.ring()
    ledger.until_closed(2)
    run_id = ledger.run("look", "web:thinker")
    crew.ring()
    ledger.until_closed(2, "web:thinker")
    assert ledger.find_run(run_id).state == "ok"
    assert worker.alive
    assert worker.stop() == 0
