"""Homing behind PgBouncer: nothing is lost where connections are shared, and `homing doctor` says what gets slower."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from homing.cli.checks import Finding, look_at_store
from homing.model.clock import SystemClock
from homing.settings import load
from homing.store import Store, schema
from homing.testing import PostgresServer, Reply, StubModelServer, tool_call
from support.crews import Crew
from support.deeds import arguments
from support.ledger import Ledger
from support.nursery import Nursery
from support.pgbouncer import PROGRAM, PoolMode, pooled

on_postgresql = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
pytestmark = on_postgresql
CALL = tool_call("deed", arguments("it", "tool"), call_id="call_1")
DONE = "It is done."


@pytest.fixture(params=["transaction", "session"])
def pool_mode(request: pytest.FixtureRequest) -> PoolMode:
    return request.param


@pytest.fixture
def pooler(database: str, pool_mode: PoolMode) -> Iterator[str]:
    if not Path(PROGRAM).exists():
        pytest.skip("need pgbouncer: apt-get install pgbouncer")
    # A connection per client for as long as it is there, or a few for all of them.
    with pooled(database, pool_mode, connections=4 if pool_mode == "transaction" else 60) as url:
        yield url


@pytest.fixture
def crew(nursery: Nursery, ledger: Ledger, pooler: str, stub: StubModelServer, tmp_path: Path) -> Iterator[Crew]:
    folder = tmp_path / "crew"
    folder.mkdir()
    crew = Crew(nursery, ledger, pooler, stub, folder)
    yield crew
    crew.close()


def look(url: str, home: Path) -> dict[str, Finding]:
    settings = load({"HOMING_HOME": str(home), "HOMING_DATABASE_URL": url})
    return {found.what: found for found in look_at_store(settings)}


def test_two_workers_answer_run_jobs_and_take_over_from_a_dead_one(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    stub.when("do it", CALL, Reply(text="nobody hears this", hold=True), times=2)
    stub.when("do it", "not asked again", DONE)
    crew.open_gate("tool")
    crew.start()
    ledger.say("do it")
    stub.wait_for_requests(2)
    crew.start()
    for n in range(10):
        ledger.say(f"hello {n}", f"web:chat-{n}")
    run_id = ledger.run("look around", "web:jobs")
    crew.workers[0].kill()
    ledger.until_closed(12, None)
    assert ledger.texts() == ["do it", DONE]
    assert crew.deeds() == ["deed it"]
    assert ledger.find_run(run_id).state == "ok"
    for n in range(10):
        assert ledger.texts(f"web:chat-{n}") == [f"hello {n}", f"You said: hello {n}"]


def test_doctor_says_whether_rings_pass(pooler: str, pool_mode: PoolMode, tmp_path: Path) -> None:
    found = look(pooler, tmp_path)
    assert found["Database"].state == "ok"
    assert ("Notifications of the database" in found) == (pool_mode == "transaction")
    if pool_mode == "transaction":
        slow = found["Notifications of the database"]
        assert (slow.state, "session" in (slow.fix or "")) == ("note", True)


def test_a_database_is_made_through_it(database: str, pool_mode: PoolMode) -> None:
    server = PostgresServer.shared()
    fresh = server.fresh()
    try:
        with pooled(fresh, pool_mode) as url:
            store = Store(url, SystemClock())
            schema.upgrade(store)
            version, newest = schema.current(store)
            assert version == newest
            assert abs((store.write_now(lambda tx: tx.now()) - datetime.now(UTC)).total_seconds()) < 60
            store.engine.dispose()
    finally:
        server.drop(fresh)
