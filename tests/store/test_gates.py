"""Gates in the store: one worker has one at a time, and impossible ones are refused."""

from collections import Counter
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc

from homing.engine.gate_ending import end_gate
from homing.engine.scheduler import tick
from homing.model.people import OWNER
from homing.model.scripts import Script, ScriptEnd
from homing.operations.context import Instance
from homing.operations.removal import withdraw_runs
from homing.store import Store, Tx, gates, jobs
from homing.store import tables as t
from homing.store.gates import Taken
from store.scenes import add_job, add_session, do, many_stores, race, rows

SCRIPT = "print(1)"
GATED = {"script": SCRIPT, "script_language": "python", "script_hosts": []}
NO = ScriptEnd(ended="exit", code=0, out='{"wakeAgent": false}\n', err="")
YES = ScriptEnd(ended="exit", code=0, out='{"wakeAgent": true}\n', err="")


def furnish(tx: Tx, instance: Instance, count: int = 1) -> None:
    session = add_session(tx)
    for n in range(count):
        add_job(tx, session, f"gated_{n}", **GATED)
    tick(tx, instance)


def take(tx: Tx, worker: str = "worker_a") -> Taken | None:
    return gates.take(tx, worker, languages=["python"])


def end(tx: Tx, taken: Taken, ended: ScriptEnd, instance: Instance) -> str:
    script = Script(text=SCRIPT, language="python")
    return end_gate(tx, taken, script=script, end=ended, instance=instance)


def test_of_many_workers_one_has_a_gate_and_every_gate_ends_once(database: str, instance: Instance) -> None:
    with many_stores(database) as stores:
        stores[0].write_now(lambda tx: furnish(tx, instance, 40))

        def work(store: Store, number: int) -> list[tuple[str, str]]:
            became: list[tuple[str, str]] = []
            while (taken := do(store, take, f"worker_{number}")) is not None:
                became.append((taken.run_id, do(store, end, taken, YES if number % 2 else NO, instance)))
            return became

        found = [one for worker in race(stores, work) for one in worker]
        assert max(Counter(run_id for run_id, _ in found).values()) == 1
        assert {became for _, became in found} <= {"passed", "skipped"}
        assert len(found) == 40
        passed = sum(became == "passed" for _, became in found)
        assert len(rows(stores[0], t.inbound)) == passed
        assert len(rows(stores[0], t.run, t.run.c.reason == "gate")) == 40 - passed


def test_many_who_end_one_gate_end_it_once(database: str, instance: Instance) -> None:
    with many_stores(database) as stores:
        stores[0].write_now(lambda tx: furnish(tx, instance))
        taken = stores[0].write_now(take)
        assert taken is not None
        found = race(stores, lambda store, _: do(store, end, taken, YES, instance))
        assert found.count("passed") == 1
        assert len(rows(stores[0], t.inbound)) == 1


def test_an_end_races_with_a_removal_and_either_wins_whole(database: str, instance: Instance) -> None:
    def withdraw(tx: Tx, job_id: str) -> bool:
        jobs.lock(tx, [job_id])
        return bool(withdraw_runs(tx, [job_id], reason="removed").runs)

    with many_stores(database) as stores:
        stores[0].write_now(lambda tx: furnish(tx, instance))
        taken = stores[0].write_now(take)
        assert taken is not None

        def work(store: Store, number: int) -> str | bool:
            return do(store, withdraw, taken.job_id) if number % 2 else do(store, end, taken, YES, instance)

        race(stores, work)
        [run] = rows(stores[0], t.run)
        [inbound] = rows(stores[0], t.inbound) or [None]
        assert (run.state, run.reason) == ("skipped", "removed")
        assert inbound is None or inbound.state == "withdrawn"


def test_an_expired_claim_is_taken_under_a_new_fence(store: Store, instance: Instance) -> None:
    store.write_now(lambda tx: furnish(tx, instance))
    first = store.write_now(take)
    assert store.write_now(take) is None
    store.write_now(lambda tx: tx.run(sa.update(t.gate).values(claimed_until=tx.now())))
    second = store.write_now(take)
    assert first is not None
    assert second is not None
    assert (first.fence, first.attempts, second.fence, second.attempts) == (1, 1, 2, 2)
    assert store.write_now(lambda tx: gates.hold(tx, first.run_id, first.fence)) is None


IMPOSSIBLE: dict[str, dict[str, Any]] = {
    "claimed by nobody": {"claimed_until": 1},
    "a claim that was not counted": {"worker_id": "w", "claimed_until": 1},
    "ended and claimed": {"worker_id": "w", "claimed_until": 1, "fence": 1, "attempts": 1, "ended": "exit"},
    "an end of no kind": {"ended": "somehow"},
    "a word at a bad end": {"ended": "exit", "code": 1, "said": {"wakeAgent": True}},
    "counted without an instant": {"due_count": 2},
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_impossible_gates_are_refused(store: Store, instance: Instance, what: str) -> None:
    store.write_now(lambda tx: furnish(tx, instance))

    def spoil(tx: Tx) -> None:
        values = {k: tx.now() if k == "claimed_until" else v for k, v in IMPOSSIBLE[what].items()}
        tx.run(sa.update(t.gate).values(values))

    with pytest.raises(exc.IntegrityError):
        store.write_now(spoil)


def test_a_run_has_one_gate(store: Store, instance: Instance) -> None:
    store.write_now(lambda tx: furnish(tx, instance))
    [gate] = rows(store, t.gate)
    twice = gates.NewGate(run_id=gate.run_id, job_id=gate.job_id, user_id=OWNER, depth=0)
    with pytest.raises(exc.IntegrityError):
        store.write_now(lambda tx: gates.add(tx, [twice]))


def test_a_claim_that_ran_out_wakes_nobody_who_cannot_take_its_gate(database: str, instance: Instance) -> None:
    with many_stores(database) as stores:
        store = stores[0]
        store.write_now(lambda tx: furnish(tx, instance))
        assert store.write_now(take) is not None
        ahead = store.write_now(gates.next_claim_end)
        assert ahead is not None
        store.write_now(lambda tx: tx.run(sa.update(t.gate).values(claimed_until=tx.now())))
        assert store.write_now(lambda tx: gates.take(tx, "worker_b", languages=["bash"])) is None
        assert store.write_now(gates.next_claim_end) is None
        assert store.write_now(take) is not None
