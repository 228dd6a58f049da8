"""A decided run becomes rows: an inbound in a lane, a reminder on the screen, or an event laid in."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from homing.model.job_fields import DEFAULTS
from homing.model.jobs import DueJob, due_at
from homing.model.runs import epoch_ms
from homing.operations.firing import Fired, Firing, fire
from homing.store import Tx, inbounds, jobs, messages, runs, sessions
from homing.store import tables as t
from support.worlds import World


def rows(world: World, table: sa.Table) -> list[Any]:
    return world.write(lambda tx: tx.rows(sa.select(table).order_by(table.c.n)))


def make_job(tx: Tx, name: str, **values: Any) -> DueJob:
    session = sessions.find(tx, "web:abc", user_id="default") or sessions.add(
        tx, key="web:abc", user_id="default", agent_id="main"
    )
    assert session is not None
    due = tx.now()
    defaults = DEFAULTS | {
        "id": f"job_{name}", "session_id": session.id, "user_id": "default", "agent_id": "main", "kind": "user",
        "name": name, "schedule_kind": "at", "at": due, "tz": "Europe/Berlin", "message": f"do {name}",
        "origin_door": "api", "next_run_at": due,
    }  # fmt: skip
    return due_at(jobs.insert(tx, defaults | values), due)


def firing(job: DueJob, **values: Any) -> Firing:
    plain = {"job": job, "trigger": "timer", "scheduled_for": job.next_run_at, "next_run_at": None}
    return Firing(**(plain | values))


def test_a_due_turn_waits_in_its_sessions_lane(world: World) -> None:
    def work(tx: Tx) -> tuple[DueJob, Fired]:
        job = make_job(tx, "fruit")
        return job, fire(tx, [firing(job, lateness_ms=12)], unified=False)

    job, fired = world.write(work)
    run_id = f"job_fruit:{epoch_ms(job.next_run_at)}"
    assert fired.run_ids == {run_id}
    run = world.write(lambda tx: runs.get(tx, run_id))
    assert run is not None
    assert (run.state, run.trigger, run.lateness_ms, run.session_key) == ("queued", "timer", 12, "web:abc")
    assert run.rev == fired.revs[job.session_id] == world.write(lambda tx: sessions.get(tx, job.session_id)).rev
    [inbound] = world.write(lambda tx: inbounds.waiting(tx, job.session_id, 10))
    assert (inbound.source, inbound.line, inbound.run_id, inbound.text) == ("run", "machines", run_id, "do fruit")


def test_one_instant_fires_once_and_takes_no_neighbour_along(world: World) -> None:
    def first(tx: Tx) -> DueJob:
        job = make_job(tx, "one", payload_kind="reminder")
        fire(tx, [firing(job)], unified=False)
        return job

    one = world.write(first)

    def again(tx: Tx) -> Fired:
        other = make_job(tx, "other", payload_kind="reminder")
        return fire(tx, [firing(one), firing(other)], unified=False)

    fired = world.write(again)
    assert fired.run_ids == {f"job_other:{epoch_ms(rows(world, t.job)[1].at)}"}
    assert [m.text for m in rows(world, t.message)] == ["do one", "do other"]
    assert [m.seq for m in rows(world, t.message)] == [1, 2]
    assert len(rows(world, t.outbound)) == 2


def test_a_reminder_is_on_the_screen_and_its_run_ok_in_the_same_transaction(world: World) -> None:
    def work(tx: Tx) -> DueJob:
        job = make_job(tx, "stretch", payload_kind="reminder")
        fire(tx, [firing(job)], unified=False)
        return job

    due = world.write(work)
    [message] = world.write(lambda tx: messages.page(tx, due.session_id, after=None, before=None, limit=5))
    assert (message.role, message.kind, message.text) == ("assistant", "reminder", "do stretch")
    [run] = rows(world, t.run)
    assert (run.state, run.closing_seq, run.turn_id) == ("ok", message.seq, None)
    assert message.meta == {"cron_job_id": due.id, "cron_job_name": "stretch", "cron_run_id": run.id}
    [delivery] = rows(world, t.delivery)
    assert (delivery.address, delivery.state, delivery.seq, delivery.rev) == (
        "web:abc",
        "sent",
        message.seq,
        message.rev,
    )
    assert rows(world, t.inbound) == []
    job = world.write(lambda tx: jobs.get(tx, due.id))
    assert job is not None
    assert (job.last_status, job.last_run_id, job.enabled, job.status) == ("ok", run.id, False, "done")


def test_a_reminder_that_is_to_go_after_its_run_goes_but_not_after_run_now(world: World) -> None:
    def work(tx: Tx) -> None:
        by_hand = make_job(tx, "hand", payload_kind="reminder", delete_after_run=True)
        by_time = make_job(tx, "time", payload_kind="reminder", delete_after_run=True)
        fire(tx, [firing(by_hand, trigger="manual"), firing(by_time)], unified=False)

    world.write(work)
    by_hand, by_time = rows(world, t.job)
    assert (by_hand.removed_at, by_hand.enabled) == (None, True)
    assert by_time.removed_at is not None
    assert by_time.next_run_at is None


def test_a_repeating_reminder_stays_enabled(world: World) -> None:
    def work(tx: Tx) -> None:
        job = make_job(tx, "again", payload_kind="reminder", schedule_kind="cron", at=None, cron="0 9 * * *")
        fire(tx, [firing(job, next_run_at=job.next_run_at + timedelta(days=1))], unified=False)

    world.write(work)
    [job] = rows(world, t.job)
    assert (job.enabled, job.last_status) == (True, "ok")


def test_a_system_event_wakes_the_lane_or_is_laid_in_for_the_heartbeat(world: World) -> None:
    def work(tx: Tx) -> None:
        awake = make_job(tx, "awake", payload_kind="system_event")
        make_job(tx, "beat", kind="system", dedupe_key="heartbeat")
        asleep = make_job(tx, "asleep", payload_kind="system_event", wake="next_heartbeat")
        fire(tx, [firing(awake), firing(asleep)], unified=False, beating={asleep.session_id})

    world.write(work)
    assert [(i.source, i.line, i.run_id) for i in rows(world, t.inbound)] == [
        ("system", "machines", None),
        ("system", "note", None),
    ]
    assert [run.state for run in rows(world, t.run)] == ["ok", "ok"]


def test_without_a_heartbeat_an_event_for_it_wakes_the_lane(world: World) -> None:
    def work(tx: Tx) -> None:
        fire(tx, [firing(make_job(tx, "e", payload_kind="system_event", wake="next_heartbeat"))], unified=False)

    world.write(work)
    assert [i.line for i in rows(world, t.inbound)] == ["machines"]


def test_an_isolated_run_stands_in_a_lane_of_its_own(world: World) -> None:
    def work(tx: Tx) -> DueJob:
        job = make_job(tx, "alone", isolated=True)
        fire(tx, [firing(job)], unified=True)
        return job

    job = world.write(work)
    key = f"cron:job_alone:{epoch_ms(job.next_run_at)}"
    own = world.write(lambda tx: sessions.find(tx, key, user_id="default"))
    assert own is not None
    assert own.parent_id == job.session_id
    [inbound] = rows(world, t.inbound)
    assert (inbound.session_id, inbound.lane_id) == (own.id, own.id)
    [run] = rows(world, t.run)
    assert (run.session_id, run.lane_id) == (job.session_id, own.id)
    assert world.write(lambda tx: sessions.addresses(tx, [own.id])) == {own.id: []}


def test_with_a_unified_session_runs_of_all_chats_of_a_user_share_one_lane(world: World) -> None:
    def work(tx: Tx) -> None:
        one = make_job(tx, "one")
        other = sessions.add(tx, key="web:other", user_id="default", agent_id="main")
        assert other is not None
        two = replace(make_job(tx, "two", session_id=other.id), session_id=other.id)
        fire(tx, [firing(one), firing(two)], unified=True)

    world.write(work)
    lane = world.write(lambda tx: sessions.find(tx, "unified:default", user_id="default"))
    assert lane is not None
    assert [i.lane_id for i in rows(world, t.inbound)] == [lane.id, lane.id]
    assert len({i.session_id for i in rows(world, t.inbound)}) == 2


def test_a_job_whose_session_is_gone_gets_an_error_and_no_turn(world: World) -> None:
    def work(tx: Tx) -> None:
        job = make_job(tx, "lost")
        sessions.delete(tx, job.session_id)
        fire(tx, [firing(job)], unified=False)

    world.write(work)
    [run] = rows(world, t.run)
    assert (run.state, run.reason) == ("error", "session_missing")
    assert rows(world, t.inbound) == []


def test_five_hundred_firings_take_no_more_statements_than_five(world: World) -> None:
    def count(size: int) -> int:
        counted: list[str] = []

        def note(_c: Any, _cur: Any, statement: str, _p: Any, _ctx: Any, _many: Any) -> None:
            counted.append(statement)

        def work(tx: Tx) -> None:
            made = [
                make_job(tx, f"{size}_{n}", payload_kind="reminder" if n % 2 else "agent_turn", isolated=n % 2 == 0)
                for n in range(size)
            ]
            event.listen(world.store.engine, "before_cursor_execute", note)
            fire(tx, [firing(job) for job in made], unified=False)
            event.remove(world.store.engine, "before_cursor_execute", note)

        world.write(work)
        return len(counted)

    # The driver sends bulk inserts in a few pages; nothing else may grow with the number.
    assert count(500) <= count(4) + 8
