"""Restate drives the lanes: a real Restate server, real workers, kill -9 of both (docs/howto/restate.md)."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from homing.cli.checks import look_at_restate
from homing.settings import load
from homing.store import Tx
from homing.store import tables as t
from homing.testing import Reply, StubModelServer, tool_call
from support.crews import Crew
from support.deeds import arguments
from support.ledger import PATIENCE, Ledger
from support.nursery import Worker
from support.ports import free_port
from torture.restate_server import RestateServer, find_program

on_postgresql = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
pytestmark = pytest.mark.xdist_group("restate")
CALL = tool_call("deed", arguments("it", "tool"), call_id="call_1")
DONE = "It is done."
# Restate gives up a dead address after about twenty seconds; on a busy machine later.
LONG = 2 * PATIENCE


@pytest.fixture
def restate(tmp_path: Path) -> Iterator[RestateServer]:
    program = find_program()
    if program is None:
        pytest.skip("need restate-server: make test-servers installs it")
    server = RestateServer(program, tmp_path / "restate")
    server.start()
    yield server
    server.kill()


def start(crew: Crew, restate: RestateServer, **settings: Any) -> Worker:
    """Start a worker whose lanes Restate drives."""
    given: dict[str, Any] = restate.settings | settings
    return crew.start(**given)


def hold_after_a_step(crew: Crew, ledger: Ledger, stub: StubModelServer) -> None:
    """Let a worker finish a tool, and stand in the model's second call."""
    stub.when("do it", CALL, Reply(text="nobody hears this", hold=True), times=2)
    stub.when("do it", "not asked again", DONE)
    crew.open_gate("tool")
    ledger.say("do it")
    stub.wait_for_requests(2)
    ledger.until(lambda: ledger.turn().claimed_until is None, "the turn has a claim without expiry")


def check_done_once(crew: Crew, ledger: Ledger) -> None:
    """The turn went on after its last finished step, as one turn with one opening and one closing."""
    [turn] = ledger.until_closed(1, seconds=LONG)
    assert (turn.outcome, turn.fence > 1) == ("answered", True)
    assert ledger.texts() == ["do it", DONE]
    assert crew.deeds() == ["deed it"]
    ledger.check_whole()


def set_beats(ledger: Ledger, by: timedelta) -> None:
    """Let the workers' last beats be so far from now; those that live beat again by themselves."""

    def work(tx: Tx) -> None:
        tx.run(sa.update(t.worker).values(beat_at=tx.now() + by))

    ledger.write(work)


def test_a_message_is_answered_and_only_the_lanes_number_is_in_restates_storage(
    crew: Crew, ledger: Ledger, stub: StubModelServer, restate: RestateServer
) -> None:
    stub.when("a secret word", Reply(text=DONE, hold=True), times=1)
    start(crew, restate)
    ledger.say("a secret word")
    stub.wait_for_requests(1)
    ledger.until(lambda: ledger.turn().claimed_until is None, "the turn has a claim without expiry")
    [kept] = restate.query("select * from sys_invocation where target_service_name = 'HomingLane'")
    assert kept["target_service_key"] == str(ledger.session().id)
    assert restate.query("select * from state") == []
    assert "secret" not in str(restate.query("select * from sys_journal")) + str(kept)
    stub.release()
    ledger.until_closed(1)
    assert ledger.texts() == ["a secret word", DONE]
    ledger.check_whole()


@on_postgresql
def test_a_killed_workers_turn_is_taken_up_by_another_that_restate_calls(
    crew: Crew, ledger: Ledger, stub: StubModelServer, restate: RestateServer
) -> None:
    start(crew, restate)
    hold_after_a_step(crew, ledger, stub)
    start(crew, restate)
    crew.workers[0].kill()
    ledger.until(lambda: ledger.turn().fence > 1, "somebody takes the turn up")
    check_done_once(crew, ledger)


@on_postgresql
def test_when_restate_is_killed_its_turns_are_handed_back_uncounted_and_go_on_when_it_is_back(
    crew: Crew, ledger: Ledger, stub: StubModelServer, restate: RestateServer
) -> None:
    start(crew, restate)
    hold_after_a_step(crew, ledger, stub)
    restate.kill()
    ledger.until(lambda: ledger.turn().worker_id is None, "the turn is handed back")
    assert ledger.turn().attempts == 0
    ledger.say("and then?", "web:other")
    ledger.until(lambda: "restate_away" in crew.logs(), "a worker has noticed that Restate is away")
    restate.start()
    check_done_once(crew, ledger)
    ledger.until_closed(1, "web:other")


@on_postgresql
def test_when_restate_lost_its_storage_workers_register_again_and_nothing_is_lost(
    crew: Crew, ledger: Ledger, stub: StubModelServer, restate: RestateServer
) -> None:
    start(crew, restate)
    hold_after_a_step(crew, ledger, stub)
    restate.kill()
    restate.forget()
    restate.start()
    check_done_once(crew, ledger)
    assert crew.logs().count("restate_registered") >= 2


@on_postgresql
def test_a_worker_and_restate_killed_together_lose_nothing(
    crew: Crew, ledger: Ledger, stub: StubModelServer, restate: RestateServer
) -> None:
    start(crew, restate)
    hold_after_a_step(crew, ledger, stub)
    crew.workers[0].freeze()
    restate.kill()
    crew.workers[0].kill()
    restate.forget()
    start(crew, restate)
    restate.start()
    # Nobody handed it back and Restate knows nothing of it: it is seen in the rows.
    check_done_once(crew, ledger)


@on_postgresql
def test_without_restate_at_the_start_messages_wait_and_doctor_says_what_to_do(
    crew: Crew, ledger: Ledger, restate: RestateServer, database: str, tmp_path: Path
) -> None:
    restate.kill()
    start(crew, restate)
    ledger.say("hello")
    settings = load(
        {"HOMING_HOME": str(tmp_path), "HOMING_DATABASE_URL": database}
        | {f"HOMING_{name.upper()}": value for name, value in restate.settings.items()}
    )
    [found] = look_at_restate(settings)
    assert (found.state, "turns wait" in found.said, "docs/howto/restate.md" in (found.fix or "")) == (
        "wrong", True, True,
    )  # fmt: skip
    assert ledger.turns() == []
    restate.start()
    ledger.until_closed(1)
    [found] = look_at_restate(settings)
    assert found.state == "ok", found
    # Somebody else's address: this Homing's turns would never arrive here.
    [found] = look_at_restate(load({"HOMING_HOME": str(tmp_path), "HOMING_ENGINE": "restate",
        "HOMING_RESTATE_URL": restate.url, "HOMING_RESTATE_ADMIN_URL": restate.admin_url}))  # fmt: skip
    assert found.state == "wrong"
    assert "not at http://127.0.0.1:9080" in found.said


@on_postgresql
def test_a_worker_that_stops_hands_its_turn_back_and_an_own_worker_goes_on(
    crew: Crew, ledger: Ledger, stub: StubModelServer, restate: RestateServer
) -> None:
    start(crew, restate)
    hold_after_a_step(crew, ledger, stub)
    assert crew.workers[0].stop() == 0
    turn = ledger.turn()
    assert (turn.worker_id, turn.attempts) == (None, 0)
    crew.start()
    check_done_once(crew, ledger)


@on_postgresql
def test_own_and_restate_workers_stand_side_by_side_and_rule_62_holds(
    crew: Crew, ledger: Ledger, stub: StubModelServer, restate: RestateServer
) -> None:
    start(crew, restate)
    hold_after_a_step(crew, ledger, stub)
    crew.start()
    # The own worker answers others meanwhile, and leaves this turn alone for as long as its engine's workers beat.
    ledger.say("hello", "web:other")
    crew.ring()
    ledger.until_closed(1, "web:other")
    assert ledger.turn().fence == 1
    crew.workers[0].freeze()
    restate.kill()
    crew.workers[0].kill()
    # However long the next lines take on a busy machine, it counts as alive.
    set_beats(ledger, timedelta(hours=1))
    crew.ring()
    ledger.say("hello again", "web:other")
    ledger.until_closed(2, "web:other")
    assert ledger.turn().fence == 1
    set_beats(ledger, -timedelta(seconds=61))
    crew.ring()
    check_done_once(crew, ledger)


@on_postgresql
def test_a_turn_is_cancelled_by_its_row_and_a_call_cancelled_in_restate_is_only_made_again(
    crew: Crew, ledger: Ledger, stub: StubModelServer, restate: RestateServer
) -> None:
    start(crew, restate)
    hold_after_a_step(crew, ledger, stub)
    [call] = restate.query("select id from sys_invocation where status = 'running'")
    cancelled = httpx2.patch(f"{restate.admin_url}/invocations/{call['id']}/cancel", trust_env=False)
    assert cancelled.is_success
    check_done_once(crew, ledger)
    stub.when("stop this", Reply(text="nobody hears this", hold=True))
    ledger.say("stop this", "web:other")
    stub.wait_for_requests(4)
    assert ledger.cancel("web:other")
    [turn] = ledger.until_closed(1, "web:other")
    assert turn.outcome == "cancelled"


@on_postgresql
def test_workers_that_register_twice_share_the_work_and_wrong_calls_cost_nothing(
    crew: Crew, ledger: Ledger, restate: RestateServer
) -> None:
    for _ in range(2):
        start(crew, restate)
    for n in range(6):
        ledger.say(f"hello {n}", f"web:chat-{n}")
    ledger.until_closed(6, None)
    for n in range(6):
        assert ledger.texts(f"web:chat-{n}") == [f"hello {n}", f"You said: hello {n}"]
    deployments = httpx2.get(f"{restate.admin_url}/deployments", trust_env=False).json()["deployments"]
    assert len(deployments) == 1
    lanes = f"{restate.url}/HomingLane"
    assert httpx2.post(f"{lanes}/999999/work", trust_env=False, timeout=PATIENCE).json() == "empty"
    assert httpx2.post(f"{lanes}/poison/work", trust_env=False, timeout=PATIENCE).status_code == 400


@on_postgresql
def test_a_turn_at_an_address_that_is_gone_goes_on_at_the_new_one(
    crew: Crew, ledger: Ledger, stub: StubModelServer, restate: RestateServer
) -> None:
    start(crew, restate)
    hold_after_a_step(crew, ledger, stub)
    moved = free_port()
    crew.workers[0].kill()
    start(crew, restate, restate_listen=f"127.0.0.1:{moved}")
    check_done_once(crew, ledger)
