"""Every taking query with eight takers on real connections: nothing is taken twice, nothing is lost."""

import asyncio
import contextlib
import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import sqlalchemy as sa

from homing.engine.closing import close_turns
from homing.engine.lane import Lanes, work_lane
from homing.engine.opening import Opened, open_lanes
from homing.engine.runner import pick
from homing.engine.scheduler import tick, wake_paused
from homing.engine.turn_result import TurnResult
from homing.model.agents import Agent
from homing.model.errors import Conflict, NotReady, SlowDown
from homing.model.sessions import Session
from homing.operations.context import Instance
from homing.operations.heartbeats import give_checklist, lacking_checklists
from homing.operations.hooks import call_hook
from homing.operations.jobs import add_job as add_job_at_desk
from homing.operations.messages import send_message
from homing.operations.runs import run_job
from homing.operations.session_deletion import delete_session
from homing.operations.sessions import update_session
from homing.operations.shapes.job_asks import AddJob, JobRef
from homing.operations.shapes.session_asks import CallHook, DeleteSession, SendMessage, UpdateSession
from homing.settings import load
from homing.store import (
    Store,
    Tx,
    agents,
    deliveries,
    inbounds,
    jobs,
    maintenance,
    memories,
    people,
    picking,
    runs,
    sessions,
    turns,
)
from homing.store import tables as t
from homing.store.inbounds import NewInbound
from homing.store.lanes import unified_lanes
from store.scenes import (
    OWNER,
    TAKERS,
    add_job,
    add_session,
    claim,
    close_turn,
    count,
    ctx,
    do,
    ending,
    many_stores,
    open_lane,
    owe,
    person_says,
    race,
    rows,
    say,
    watched,
)
from support.worlds import make_instance


def called(tx: Tx, ask: CallHook, instance: Instance) -> str:
    return call_hook(ctx(tx, instance), ask).inbound_id


def run_by_hand(tx: Tx, job_id: str, instance: Instance) -> str:
    return run_job(ctx(tx, instance), JobRef(job_id=job_id)).id


def test_each_due_job_is_taken_by_one_scheduler(database: str, instance: Instance) -> None:
    with many_stores(database) as stores, watched(stores) as trouble:

        def furnish(tx: Tx) -> None:
            for s in range(10):
                session = add_session(tx, f"web:{s}")
                for j in range(12):
                    add_job(tx, session, f"{s}_{j}", payload_kind=("agent_turn", "reminder", "system_event")[j % 3])

        stores[0].write_now(furnish)

        def work(store: Store, _: int) -> int:
            taken = 0
            while moved := do(store, tick, instance, limit=7):
                taken += moved
            return taken

        assert sum(race(stores, work)) == 120
        assert trouble.deadlocks == trouble.refused == 0
        store = stores[0]
        assert Counter(run.state for run in rows(store, t.run)) == {"queued": 40, "ok": 80}
        assert count(store, "inbound where state = 'waiting'") == 80
        assert count(store, "message") == 40
        for session in rows(store, t.session):
            assert [m.seq for m in rows(store, t.message, t.message.c.session_id == session.id)] == [1, 2, 3, 4]


def test_lanes_are_worked_in_order_by_many_and_nothing_is_taken_twice(database: str, instance: Instance) -> None:
    lanes_count, depth = 12, 8
    with many_stores(database) as stores, watched(stores) as trouble:

        def furnish(tx: Tx) -> list[int]:
            made = [add_session(tx, f"web:{s}") for s in range(lanes_count)]
            for n in range(depth):
                for session in made:
                    person_says(tx, session, str(n))
            return [session.id for session in made]

        lane_ids = stores[0].write_now(furnish)
        at_work: Counter[int] = Counter()
        overlaps: list[int] = []
        guard = threading.Lock()

        def work(store: Store, number: int) -> int:
            dice, done = random.Random(number), 0
            while do(store, picking.glance).people:
                wanted = [(lane_id, claim(f"worker_{number}")) for lane_id in dice.sample(lane_ids, 5)]
                opened = [found for found in do(store, open_lanes, wanted, instance) if isinstance(found, Opened)]
                with guard:
                    for one in opened:
                        at_work[one.turn.lane_id] += 1
                        overlaps.extend([one.turn.lane_id] * (at_work[one.turn.lane_id] > 1))
                    # It is free with the commit of the close, which is after this moment.
                with guard:
                    at_work.subtract(one.turn.lane_id for one in opened)
                endings = [ending(one) for one in opened]
                ended = do(store, close_turns, endings, instance) if endings else []
                assert set(ended) <= {"closed"}
                done += len(opened)
            return done

        assert sum(race(stores, work)) == lanes_count * depth
        assert not overlaps
        assert trouble.deadlocks == trouble.refused == 0
        for lane_id in lane_ids:
            told = rows(stores[0], t.message, t.message.c.session_id == lane_id, t.message.c.role == "user")
            assert [message.text for message in told] == [str(n) for n in range(depth)]
        assert count(stores[0], "outbound where cause = 'closing'") == lanes_count * depth


def test_people_overtake_runs_at_the_head_of_a_lane(database: str, instance: Instance) -> None:
    with many_stores(database) as stores:

        def furnish(tx: Tx) -> int:
            session = add_session(tx)
            for n in range(6):
                # One after another: which of two at one instant comes first is nobody's promise.
                add_job(tx, session, f"run_{n}", next_run_at=tx.now() - timedelta(seconds=6 - n))
            tick(tx, instance)
            for n in range(6):
                person_says(tx, session, f"hello {n}")
            return session.id

        lane_id = stores[0].write_now(furnish)

        def work(store: Store, number: int) -> None:
            while (seen := do(store, picking.glance)).people or seen.machines:
                [found] = do(store, open_lanes, [(lane_id, claim(f"worker_{number}"))], instance)
                if isinstance(found, Opened):
                    assert do(store, close_turn, found, instance) == "closed"

        race(stores, work)
        openings = rows(stores[0], t.message, t.message.c.role == "user")
        assert [m.text for m in openings[:6]] == [f"hello {n}" for n in range(6)]
        assert [m.text.splitlines()[0] for m in openings[6:]] == [
            f"Scheduled cron job triggered: run_{n}" for n in range(6)
        ]
        assert count(stores[0], "run where state = 'ok'") == 6


async def test_two_askers_of_one_process_do_not_get_the_same_turn(store: Store, instance: Instance) -> None:
    def furnish(tx: Tx) -> int:
        session = add_session(tx)
        person_says(tx, session, "once")
        return session.id

    lane_id = store.write_now(furnish)
    thinking: list[str] = []

    async def think(opened: Opened, _: object) -> TurnResult:
        thinking.append(opened.turn.id)
        return TurnResult(outcome="answered", text="yes")

    room = Lanes(store=store, instance=instance, think=think)
    worked = await asyncio.gather(*(work_lane(room, lane_id, claim(f"worker_{n}")) for n in range(TAKERS)))
    assert len(thinking) == 1
    assert worked.count("more") == 1


def test_a_turn_whose_claim_ran_out_is_taken_over_by_one(database: str, instance: Instance) -> None:
    with many_stores(database) as stores, watched(stores) as trouble:

        def furnish(tx: Tx) -> list[int]:
            made = [add_session(tx, f"web:{s}") for s in range(10)]
            for session in made:
                person_says(tx, session, "hello")
                open_lane(tx, session.id, instance, claim("worker_dead", seconds=0))
            return [session.id for session in made]

        lane_ids = stores[0].write_now(furnish)

        def work(store: Store, number: int) -> list[str]:
            mine = random.Random(number).sample(lane_ids, len(lane_ids))
            taken: list[str] = []
            for chosen in (mine[:5], mine[5:]):
                wanted = [(lane_id, claim(f"worker_{number}")) for lane_id in chosen]
                found = do(store, open_lanes, wanted, instance)
                taken += [one.turn.id for one in found if isinstance(one, Opened)]
            return taken

        winners = Counter(turn_id for taken in race(stores, work) for turn_id in taken)
        assert trouble.deadlocks == trouble.refused == 0
        assert len(winners) == 10
        assert set(winners.values()) == {1}
        assert {(turn.fence, turn.attempts) for turn in rows(stores[0], t.turn)} == {(2, 2)}


def test_each_delivery_is_taken_once_and_each_address_in_order(database: str) -> None:
    addresses, depth = 6, 8
    with many_stores(database) as stores, watched(stores) as trouble:

        def furnish(tx: Tx) -> None:
            session = add_session(tx)
            for n in range(depth):
                owe(tx, session, str(n), [f"webhook:wh_{a}" for a in range(addresses)])

        stores[0].write_now(furnish)
        sent: list[tuple[str, int]] = []
        guard = threading.Lock()

        def work(store: Store, _: int) -> None:
            while count(store, "delivery where state = 'pending'"):
                for delivery in do(store, deliveries.take_deliveries, 4):
                    assert delivery.attempts == 1
                    with guard:
                        sent.append((delivery.address, delivery.seq))
                    assert do(store, deliveries.finish_part, delivery, rev=2)

        race(stores, work)
        assert trouble.deadlocks == 0
        assert len(sent) == len(set(sent)) == addresses * depth
        for a in range(addresses):
            assert [seq for address, seq in sent if address == f"webhook:wh_{a}"] == list(range(1, depth + 1))


def test_of_many_takers_none_takes_more_than_a_users_share_and_all_is_taken_once(database: str) -> None:
    with many_stores(database) as stores, watched(stores) as trouble:

        def furnish(tx: Tx) -> None:
            for user in ("ana", "ben", "eve"):
                people.add_user(tx, user, role="user")
                session = add_session(tx, key=f"web:{user}", user_id=user)
                owed = [f"{channel}:{user}{n}" for n in range(20) for channel in ("webhook", "email")]
                owe(tx, session, "hello", owed)

        stores[0].write_now(furnish)

        def work(store: Store, _: int) -> list[Counter[deliveries.Party]]:
            rounds: list[Counter[deliveries.Party]] = []
            while count(store, "delivery where state = 'pending'"):
                taken = store.write_now(lambda tx: deliveries.take_deliveries(tx, 8, share=2))
                rounds.append(Counter(deliveries.party_of(one.user_id, one.address) for one in taken))
                for delivery in taken:
                    assert delivery.attempts == 1
                    assert do(store, deliveries.finish_part, delivery, rev=2)
            return rounds

        rounds = [one for rounds in race(stores, work) for one in rounds]
        assert trouble.deadlocks == 0
        assert max(max(one.values(), default=0) for one in rounds) == 2
        assert sum(sum(one.values()) for one in rounds) == 120


def test_of_many_calls_of_hooks_at_once_the_brakes_let_through_what_they_may_and_no_more(
    database: str, instance: Instance
) -> None:
    with many_stores(database) as stores, watched(stores) as trouble:

        def furnish(tx: Tx) -> int:
            session = add_session(tx)
            people.add_hook(tx, session_id=session.id, name=None, secret="quick")
            deep = people.add_hook(tx, session_id=session.id, name="deep", secret="deep")
            caused = NewInbound(
                session_id=session.id, lane_id=session.id, user_id=OWNER, source="hook", text="x", line="machines",
                depth=1, hook_id=deep.id,
            )  # fmt: skip
            inbounds.take_in(tx, [caused] * 25)
            # Earlier than the last minute, which has a limit of its own.
            tx.run(sa.update(t.inbound).values(queued_at=tx.now() - timedelta(minutes=2)))
            return session.id

        stores[0].write_now(furnish)

        def work(store: Store, number: int) -> None:
            for n in range(number, 40, len(stores)):
                do(store, called, CallHook(token="quick", body="hello"), instance)
                if n < 20:
                    with contextlib.suppress(SlowDown):
                        do(store, called, CallHook(token="deep", body="again", depth=1), instance)

        race(stores, work)
        assert trouble.deadlocks == 0
        came = rows(stores[0], t.inbound)
        assert Counter(one.line for one in came if one.text == "hello") == {"machines": 20, "note": 20}
        assert Counter(one.line for one in came if one.text == "again") == {"machines": 5, "note": 1}
        assert count(stores[0], "hook where paused_until is not null") == 1


def test_a_run_is_either_withdrawn_or_opened(database: str, instance: Instance) -> None:
    with many_stores(database, 2) as stores, watched(stores) as trouble:

        def furnish(tx: Tx) -> list[tuple[int, str, str]]:
            made: list[tuple[int, str, str]] = []
            for n in range(60):
                session = add_session(tx, f"web:{n}")
                job = add_job(tx, session, str(n))
                made.append((session.id, job.id, f"{job.id}:0"))
            tick(tx, instance)
            ids = runs.active_jobs(tx, [job_id for _, job_id, _ in made])
            return [(session_id, job_id, ids[job_id]) for session_id, job_id, _ in made]

        lined_up = stores[0].write_now(furnish)

        def withdraw(tx: Tx, session_id: int, job_id: str, run_id: str) -> bool:
            jobs.lock(tx, [job_id])
            sessions.lock(tx, [session_id])
            if not inbounds.withdraw_runs(tx, [run_id]):
                return False
            rev = sessions.touch(tx, session_id)
            runs.finish_runs(tx, [runs.Finished(run_id=run_id, state="skipped", reason="disabled", rev=rev)])
            return True

        def work(store: Store, number: int) -> set[str]:
            won: set[str] = set()
            for session_id, job_id, run_id in lined_up:
                if number == 0:
                    mine = do(store, withdraw, session_id, job_id, run_id)
                else:
                    [found] = do(store, open_lanes, [(session_id, claim())], instance)
                    mine = isinstance(found, Opened)
                if mine:
                    won.add(run_id)
            return won

        withdrawn, opened = race(stores, work)
        assert trouble.deadlocks == trouble.refused == 0
        assert not withdrawn & opened
        assert withdrawn | opened == {run_id for _, _, run_id in lined_up}
        states = {run.id: run.state for run in rows(stores[0], t.run)}
        assert {run_id for run_id, state in states.items() if state == "running"} == opened
        assert {run_id for run_id, state in states.items() if state == "skipped"} == withdrawn


def test_a_cancel_that_was_accepted_wins_over_the_answer(database: str, instance: Instance) -> None:
    with many_stores(database, 2) as stores, watched(stores) as trouble:

        def furnish(tx: Tx) -> list[Opened]:
            opened: list[Opened] = []
            for n in range(80):
                session = add_session(tx, f"web:{n}")
                person_says(tx, session, "hello")
                opened.append(open_lane(tx, session.id, instance))
            return opened

        open_turns = stores[0].write_now(furnish)

        def work(store: Store, number: int) -> set[str]:
            accepted: set[str] = set()
            for one in open_turns:
                turn_id = one.turn.id
                if number == 0:
                    if do(store, turns.request_cancel, turn_id, "asked"):
                        accepted.add(turn_id)
                else:
                    assert do(store, close_turn, one, instance) == "closed"
            return accepted

        accepted, _ = race(stores, work)
        assert trouble.deadlocks == 0
        outcomes = {turn.id: turn.outcome for turn in rows(stores[0], t.turn)}
        assert {turn_id for turn_id, outcome in outcomes.items() if outcome == "cancelled"} == accepted
        assert set(outcomes.values()) <= {"cancelled", "answered"}


@pytest.mark.slow
def test_run_now_against_the_tick_never_makes_two_active_runs(database: str, instance: Instance) -> None:
    rounds = 1000
    with many_stores(database, 2) as stores, watched(stores) as trouble:
        jobs_made = 25

        def furnish(tx: Tx) -> list[str]:
            session = add_session(tx)
            return [add_job(tx, session, str(n), next_run_at=None).id for n in range(jobs_made)]

        job_ids = stores[0].write_now(furnish)
        gate = threading.Barrier(2)
        made: Counter[str] = Counter()

        def make_due(tx: Tx) -> None:
            # Far apart instants, so that no run is refused only because it has the identity of an earlier one.
            tx.run(
                sa.update(t.run)
                .where(t.run.c.state == "queued")
                .values(state="ok", finished_at=tx.now(), scheduled_for=t.run.c.scheduled_for)
            )
            tx.run(sa.update(t.inbound).where(t.inbound.c.state == "waiting").values(state="withdrawn"))
            tx.run(sa.update(t.job).values(next_run_at=tx.now()))

        def work(store: Store, number: int) -> None:
            for _ in range(rounds // jobs_made):
                if number == 0:
                    store.write_now(make_due)
                gate.wait(60)
                if number == 0:
                    for _ in range(jobs_made // 5):
                        do(store, tick, instance, limit=5)
                else:
                    for job_id in job_ids:
                        with contextlib.suppress(Conflict):
                            do(store, run_by_hand, job_id, instance)
                            made["manual"] += 1
                gate.wait(60)
                if number == 0:
                    made["active"] += count(store, "run where state in ('queued', 'running')")
                    assert not count(
                        store, "(select job_id from run where state in ('queued', 'running') group by job_id"
                               " having count(*) > 1) twice"
                    )  # fmt: skip
                    assert not count(
                        store, "run where state = 'queued' and not exists"
                               " (select 1 from inbound where run_id = run.id and state = 'waiting')"
                    )  # fmt: skip
                gate.wait(60)

        race(stores, work)
        assert trouble.deadlocks == trouble.refused == 0
        # Each job was due once a round and asked for once a round; exactly one of the two made its run.
        assert made["active"] == rounds
        assert 0 < made["manual"] <= rounds


def test_a_sign_in_code_opens_the_door_once(database: str) -> None:
    with many_stores(database) as stores:
        for n in range(10):
            stores[0].write_now(
                lambda tx, n=n: people.add_token(
                    tx, user_id=OWNER, role="user", kind="code", secret=f"code {n}",
                    expires_at=tx.now() + timedelta(minutes=10),
                )
            )  # fmt: skip

        def work(store: Store, _: int) -> list[bool]:
            return [do(store, people.spend_code, f"code {n}") is not None for n in range(10)]

        won = race(stores, work)
        assert [sum(taker[n] for taker in won) for n in range(10)] == [1] * 10


def test_of_requests_with_one_idempotency_key_one_is_carried_out(database: str) -> None:
    with many_stores(database) as stores, watched(stores) as trouble:
        session = stores[0].write_now(add_session)

        def ask(tx: Tx, key: str, number: int) -> bool:
            if maintenance.kept_answer(tx, user_id=OWNER, path="/api/x", key=key):
                return False
            say(tx, session, f"{key} by {number}")
            kept = maintenance.KeptAnswer(body_sha256="0", status=201, answer="{}")
            maintenance.keep_answer(tx, user_id=OWNER, path="/api/x", key=key, kept=kept)
            return True

        def work(store: Store, number: int) -> list[bool]:
            return [do(store, ask, f"key {n}", number) for n in range(10)]

        won = race(stores, work)
        assert trouble.deadlocks == trouble.refused == 0
        assert [sum(taker[n] for taker in won) for n in range(10)] == [1] * 10
        assert count(stores[0], "message") == 10


def test_processes_that_start_at_once_agree_on_their_first_people(database: str) -> None:
    agent = Agent(id="fresh", name="Fresh", model=None, instructions="", tools={})
    with many_stores(database) as stores:

        def work(store: Store, number: int) -> str:
            def furnish(tx: Tx) -> str:
                people.add_user(tx, "newcomer", role="user")
                agents.add(tx, agent)
                token = people.add_token(
                    tx, user_id="newcomer", role="user", kind="token", secret="the owner's", expires_at=None
                )
                return token.id

            return store.write_now(furnish)

        assert len(set(race(stores, work))) == 1


def test_the_same_fact_is_kept_once_however_many_say_it(database: str) -> None:
    with many_stores(database) as stores:

        def work(store: Store, _: int) -> set[str]:
            return {
                do(store, memories.add, user_id=OWNER, session_id=None, sender_id=None, text=f"fact {n}").id
                for n in range(5)
            }  # fmt: skip

        assert len(set.union(*race(stores, work))) == 5
        assert count(stores[0], "memory") == 5


def test_pauses_end_once_and_in_the_order_of_locks(database: str, instance: Instance) -> None:
    """Jobs whose sessions' ids run against their own order: whoever locks sessions one by one meets himself here."""
    with many_stores(database) as stores, watched(stores) as trouble:

        def furnish(tx: Tx) -> None:
            made = [add_session(tx, f"web:{n}") for n in range(8)]
            for round_ in range(6):
                order = made if round_ % 2 else made[::-1]
                for session in order:
                    add_job(
                        tx, session, f"{round_}_{session.id}", enabled=False, disabled_by="person", next_run_at=None,
                        disabled_until=tx.now(),
                    )  # fmt: skip

        stores[0].write_now(furnish)

        def work(store: Store, _: int) -> int:
            woken = 0
            while waking := do(store, wake_paused, limit=8):
                woken += waking
            return woken

        assert sum(race(stores, work)) == 48
        assert trouble.deadlocks == 0
        assert count(stores[0], "job where enabled") == 48


def test_a_schedule_error_beside_good_jobs_keeps_the_order_of_locks(database: str, instance: Instance) -> None:
    with many_stores(database) as stores, watched(stores) as trouble:

        def furnish(tx: Tx) -> None:
            made = [add_session(tx, f"web:{n}") for n in range(8)]
            for n in range(24):
                add_job(tx, made[n % 8], f"good_{n}")
                add_job(
                    tx, made[7 - n % 8], f"bad_{n}", schedule_kind="cron", every_ms=None, anchor=None, cron="not cron"
                )

        stores[0].write_now(furnish)

        def work(store: Store, _: int) -> None:
            while do(store, tick, instance, limit=6):
                pass

        race(stores, work)
        assert trouble.deadlocks == trouble.refused == 0
        assert count(stores[0], "run where state = 'error' and reason = 'schedule'") == 24
        assert count(stores[0], "run where state = 'queued'") == 24


def test_a_full_lane_hides_no_other_from_the_one_who_picks(store: Store, instance: Instance) -> None:
    def furnish(tx: Tx) -> tuple[set[int], set[int]]:
        crowded, other = add_session(tx, "web:crowded"), add_session(tx, "web:other")
        for n in range(40):
            person_says(tx, crowded, str(n))
        person_says(tx, other, "hello")
        busy, quiet = add_session(tx, "web:busy"), add_session(tx, "web:quiet")
        for n in range(40):
            add_job(tx, busy, f"busy_{n}")
        add_job(tx, quiet, "quiet")
        tick(tx, instance)
        return {crowded.id, other.id}, {busy.id, quiet.id}

    people_lanes, machine_lanes = store.write_now(furnish)
    picked = do(store, pick, 8, 8, ())
    assert set(picked.people) == people_lanes
    assert set(picked.machines) == machine_lanes


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_shared_lane_is_made_before_any_session_is_locked(database: str) -> None:
    """Whoever makes a user's shared lane has others wait for it: they must not hold a session meanwhile."""
    instance = make_instance(load({"TZ": "UTC", "HOMING_HOME": "/nonexistent", "HOMING_UNIFIED_SESSION": "on"}))
    with many_stores(database, 3) as (maker, closer, watcher), watched([maker, closer]) as trouble:

        def furnish(tx: Tx) -> tuple[Session, Opened]:
            session = add_session(tx)
            add_job(tx, session, isolated=True)
            tick(tx, make_instance())
            own = sessions.get(tx, tx.rows(sa.select(t.run.c.lane_id))[0][0])
            return session, open_lane(tx, own.id, instance)

        session, opened = maker.write_now(furnish)
        made, closed = threading.Event(), threading.Event()

        def make(tx: Tx) -> None:
            unified_lanes(tx, [(OWNER, "main")])
            made.set()
            while not (closed.is_set() or count(watcher, "pg_locks where not granted")):
                pass
            sessions.lock(tx, [session.id])

        with ThreadPoolExecutor(2) as pool:
            making = pool.submit(maker.write_now, make)
            assert made.wait(30)
            assert do(closer, close_turn, opened, instance) == "closed"
            closed.set()
            making.result()
        assert trouble.deadlocks == 0


def test_a_dedupe_key_makes_one_job_however_many_add_it(database: str, instance: Instance) -> None:
    with many_stores(database) as stores, watched(stores) as trouble:
        session = stores[0].write_now(add_session)

        def add(tx: Tx, key: str) -> str:
            ask = AddJob(session_key=session.key, when="every 1h", message="look", dedupe_key=key)
            return add_job_at_desk(ctx(tx, instance), ask).id

        def work(store: Store, number: int) -> list[str]:
            made: list[str] = []
            for n in range(8):
                made.append(do(store, add, f"key {n}"))
                if number % 2:
                    with contextlib.suppress(Conflict):
                        do(store, run_by_hand, made[-1], instance)
            return made

        found = race(stores, work)
        assert len({tuple(made) for made in found}) == 1
        assert trouble.deadlocks == trouble.refused == 0


def test_two_schedulers_give_a_session_one_heartbeat(database: str) -> None:
    instance = make_instance(load({"TZ": "UTC", "HOMING_HOME": "/nonexistent", "HOMING_HEARTBEAT_MINUTES": "30"}))
    with many_stores(database) as stores, watched(stores) as trouble:

        def furnish(tx: Tx) -> None:
            for s in range(4):
                session = add_session(tx, f"web:{s}")
                for n in range(8):
                    add_job(tx, session, f"{s}_{n}", payload_kind="system_event", wake="next_heartbeat")

        stores[0].write_now(furnish)

        def work(store: Store, _: int) -> int:
            fired = 0
            while moved := do(store, tick, instance, limit=2):
                fired += moved
            return fired

        assert sum(race(stores, work)) == 32
        assert trouble.deadlocks == trouble.refused == 0
        assert count(stores[0], "job where kind = 'system'") == 4
        assert count(stores[0], "inbound where line = 'note'") == 32


def test_workers_give_each_user_one_checklist_while_one_changes_it(database: str) -> None:
    instance = make_instance(load({"TZ": "UTC", "HOMING_HOME": "/nonexistent", "HOMING_HEARTBEAT_MINUTES": "30"}))
    with many_stores(database) as stores, watched(stores) as trouble:

        def furnish(tx: Tx) -> None:
            for n in range(4):
                people.add_user(tx, f"user{n}", role="user")
                for chat in range(2):
                    sessions.add(tx, key=f"web:{n}{chat}", user_id=f"user{n}", agent_id="main")
            tx.run(sa.update(t.agent).where(t.agent.c.id == "main").values(heartbeat={"checklist": "- look"}))

        stores[0].write_now(furnish)

        def work(store: Store, number: int) -> int:
            given = 0
            for n in range(6):
                if number == 0:
                    minutes = {"checklist": "- look", "minutes": 10 + n}
                    do(store, lambda tx, beat=minutes: tx.run(sa.update(t.agent).values(heartbeat=beat)))
                for user_id, agent_id in do(store, lacking_checklists, instance.settings):
                    given += do(store, give_checklist, user_id, agent_id, instance.settings)
            return given

        assert sum(race(stores, work)) >= 4
        assert trouble.deadlocks == trouble.refused == 0
        assert count(stores[0], "job where kind = 'system'") == 4
        assert do(stores[0], lacking_checklists, instance.settings) == []


def test_a_deletion_that_cancels_many_turns_meets_renewals_in_one_order(database: str, instance: Instance) -> None:
    rounds, alone = 8, 6
    with many_stores(database, 3) as stores, watched(stores) as trouble:

        def furnish(tx: Tx, key: str) -> list[Opened]:
            session = add_session(tx, key)
            for n in range(alone):
                add_job(tx, session, f"{key[4:]}_{n}", isolated=True)
            person_says(tx, session, "hello")
            tick(tx, instance)
            waiting = tx.rows(sa.select(t.inbound.c.lane_id).where(t.inbound.c.turn_id.is_(None)))
            found = open_lanes(tx, [(lane_id, claim("worker")) for (lane_id,) in waiting], instance)
            return [one for one in found if isinstance(one, Opened)]

        for n in range(rounds):
            key = f"web:{n}"
            turn_ids = [one.turn.id for one in do(stores[0], furnish, key)]
            assert len(turn_ids) == alone + 1

            def work(store: Store, number: int, key: str = key, turn_ids: list[str] = turn_ids) -> None:
                if number == 0:
                    ask = DeleteSession(session_key=key, delete_automations=True)
                    store.write_now(lambda tx: delete_session(ctx(tx, instance), ask))
                    return
                for _ in range(8):
                    store.write_now(lambda tx: turns.renew(tx, "worker", turn_ids, tx.now()))

            race(stores, work)
        assert trouble.deadlocks == 0
        assert count(stores[0], "turn where cancel_reason = 'session_deleted'") == rounds * (alone + 1)


def patiently(store: Store, work: Callable[[Tx], object]) -> None:
    """Ask again for as long as others are always faster, as a client does that is told to."""
    while True:
        with contextlib.suppress(NotReady):
            store.write_now(work)
            return


def test_a_key_that_begins_anew_takes_nobody_in_for_the_session_that_is_gone(database: str, instance: Instance) -> None:
    """Whoever waited for a session's lock may find its key with another session: then all begins from the start."""
    with many_stores(database, 4) as stores, watched(stores) as trouble:
        stores[0].write_now(add_session)

        def begin_anew(tx: Tx) -> None:
            delete_session(ctx(tx, instance), DeleteSession(session_key="web:a"))
            add_session(tx)

        def work(store: Store, number: int) -> None:
            for n in range(15):
                said = SendMessage(session_key="web:a", text=str(n))
                changed = UpdateSession(session_key="web:a", title=str(n))
                if number < 2:
                    patiently(store, begin_anew)
                else:
                    patiently(store, lambda tx, said=said: send_message(ctx(tx, instance), said))
                    patiently(store, lambda tx, changed=changed: update_session(ctx(tx, instance), changed))

        race(stores, work)
        assert trouble.deadlocks == trouble.refused == 0
        assert count(stores[0], "session where deleted_at is not null") == 30
        assert count(stores[0], "inbound") == 30
        assert not count(stores[0], "inbound where lane_id <> session_id")
        gone = "inbound i join session s on s.id = i.lane_id where i.state = 'waiting' and s.deleted_at is not null"
        assert not count(stores[0], gone)
