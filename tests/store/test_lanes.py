"""Lanes: who waits, who is next, who is in, who is out."""

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa
from sqlalchemy import exc

from homing.engine import runner
from homing.engine.opening import Opened, open_lanes
from homing.engine.scheduler import tick
from homing.model.errors import Lost
from homing.model.sessions import Session
from homing.model.turns import OVERTAKEN_FOR, Policy
from homing.operations.context import Instance
from homing.store import LookAgain, Store, Tx, inbounds, lanes, maintenance, picking, sessions, steps, turns
from homing.store import tables as t
from homing.store.inbounds import NewInbound
from homing.store.picking import Glance
from homing.store.turns import Closed
from store.scenes import OWNER, add_job, add_session, claim, close_turn, do, open_lane, person_says, rows
from support.worlds import new_turn


def put(tx: Tx, session: Session, text: str, **values: object) -> str:
    sessions.lock(tx, [session.id])
    plain: dict[str, object] = {
        "session_id": session.id, "lane_id": session.id, "user_id": session.user_id, "source": "hook", "text": text,
        "line": "machines",
    }  # fmt: skip
    [inbound_id] = inbounds.take_in(tx, [NewInbound(**plain | values)])  # type: ignore[arg-type]
    return inbound_id


def begun(store: Store, instance: Instance, seconds: float = 30) -> Opened:
    def work(tx: Tx) -> Opened:
        session = add_session(tx)
        person_says(tx, session, "hello")
        return open_lane(tx, session.id, instance, claim(seconds=seconds))

    return store.write_now(work)


def heads(tx: Tx, *session: Session) -> list[tuple[str, list[str]]]:
    found = lanes.take_heads(tx, [one.id for one in session])
    return [(head.inbound.text, [note.text for note in head.notes]) for head in found]


def test_within_a_line_the_first_in_is_the_first_out_and_people_overtake(store: Store) -> None:
    def work(tx: Tx) -> None:
        one, other = add_session(tx, "web:one"), add_session(tx, "web:other")
        assert heads(tx, one, other) == []
        put(tx, one, "machine 1")
        put(tx, one, "machine 2")
        put(tx, other, "elsewhere")
        assert heads(tx, one, other) == [("machine 1", []), ("elsewhere", [])]
        person_says(tx, one, "person 1")
        person_says(tx, one, "person 2")
        put(tx, one, "a note", line="note", source="system")
        put(tx, one, "another", line="note", source="system")
        assert heads(tx, one) == [("person 1", ["a note", "another"])]
        assert [inbound.text for inbound in inbounds.waiting(tx, one.id, 3)] == ["person 1", "person 2", "machine 1"]

    store.write_now(work)


def test_nobody_is_overtaken_for_longer_than_ten_minutes(store: Store) -> None:
    def work(tx: Tx) -> None:
        session = add_session(tx)
        put(tx, session, "machine")
        person_says(tx, session, "person")
        assert heads(tx, session) == [("person", [])]
        tx.run(sa.update(t.inbound).where(t.inbound.c.text == "machine").values(queued_at=tx.now() - OVERTAKEN_FOR))
        assert heads(tx, session) == [("machine", [])]

    store.write_now(work)


def test_notes_alone_wake_nobody_and_are_taken_along(store: Store, instance: Instance) -> None:
    def work(tx: Tx) -> None:
        session = add_session(tx)
        put(tx, session, "a note", line="note", source="system")
        assert picking.glance(tx) == Glance(people=False, machines=False, next_claim_end=None, vouched=False)
        assert heads(tx, session) == []
        assert picking.pick_people(tx, 5) == []
        person_says(tx, session, "hello")
        assert picking.glance(tx).people
        opened = open_lane(tx, session.id, instance)
        assert [inbound.text for inbound in inbounds.inbound_of_turn(tx, opened.turn.id)] == ["a note", "hello"]

    store.write_now(work)
    assert [(m.kind, m.text, m.seq) for m in rows(store, t.message)] == [("note", "a note", 1), ("chat", "hello", 2)]


def test_a_busy_lane_gives_nobody_and_is_free_with_the_close(store: Store, instance: Instance) -> None:
    def work(tx: Tx) -> None:
        session = add_session(tx)
        person_says(tx, session, "one")
        person_says(tx, session, "two")
        opened = open_lane(tx, session.id, instance)
        assert lanes.busy(tx, [session.id]) == {session.id}
        assert turns.open_turn_of(tx, session.id) == opened.turn
        assert heads(tx, session) == []
        assert picking.pick_people(tx, 5) == []
        assert open_lanes(tx, [(session.id, claim())], instance) == ["held"]
        assert close_turn(tx, opened, instance) == "closed"
        assert turns.open_turn_of(tx, session.id) is None
        assert heads(tx, session) == [("two", [])]
        assert picking.pick_people(tx, 5) == [session.id]

    store.write_now(work)


def test_a_head_that_somebody_else_took_cannot_be_opened(store: Store) -> None:
    def work(tx: Tx) -> None:
        session = add_session(tx)
        person_says(tx, session, "hello")
        put(tx, session, "a note", line="note", source="system")
        [head] = lanes.take_heads(tx, [session.id])
        tx.run(sa.update(t.inbound).where(t.inbound.c.line == "note").values(state="withdrawn"))
        turns.open_turns(tx, [(new_turn(tx, head), head)])

    with pytest.raises(Lost):
        store.write_now(work)
    assert rows(store, t.turn) == []


def test_a_turn_is_held_under_its_fence_or_lost(store: Store, instance: Instance) -> None:
    turn = begun(store, instance, seconds=0).turn
    assert do(store, turns.hold, turn.id, 1).id == turn.id
    with pytest.raises(Lost):
        do(store, turns.hold, turn.id, 2)
    assert set(do(store, turns.hold_many, {turn.id: 1, "turn_none": 1})) == {turn.id}
    assert do(store, turns.hold_many, {turn.id: 2}) == {}
    heir = do(store, open_lane, turn.lane_id, instance, claim("heir")).turn
    with pytest.raises(Lost):
        do(store, turns.hold, turn.id, 1)
    assert do(store, turns.hold, turn.id, 2) == heir
    closed = Closed(
        turn_id=turn.id, outcome="answered", reason=None, error=None, history=None, closing_seq=None, input_tokens=1,
        output_tokens=2,
    )  # fmt: skip
    do(store, turns.close_turns, [closed])
    with pytest.raises(Lost):
        do(store, turns.hold, turn.id, 2)
    after = do(store, turns.get_turn, turn.id)
    assert after is not None
    assert (after.state, after.outcome, after.worker_id, after.claimed_until) == ("closed", "answered", None, None)
    assert (after.input_tokens, after.output_tokens) == (1, 2)


def test_claims_are_renewed_by_their_worker_alone_while_the_turn_runs(store: Store, instance: Instance) -> None:
    opened = begun(store, instance)
    turn, later = opened.turn, do(store, lambda tx: tx.now() + timedelta(minutes=1))
    assert do(store, turns.renew, "stranger", [turn.id], later) == []
    assert do(store, turns.renew, "worker_a", [], later) == []
    [renewed] = do(store, turns.renew, "worker_a", [turn.id, "turn_none"], later)
    assert renewed == replace(turn, claimed_until=later)
    assert do(store, picking.glance).next_claim_end == later
    do(store, close_turn, opened, instance)
    assert do(store, turns.renew, "worker_a", [turn.id], later) == []
    assert do(store, picking.glance).next_claim_end is None


def test_only_a_turn_whose_claim_ran_out_is_taken_over(store: Store, instance: Instance) -> None:
    turn = begun(store, instance).turn
    later = do(store, lambda tx: tx.now() + timedelta(minutes=1))
    assert do(store, turns.take_over, turn.lane_id, "heir", later) is None
    assert do(store, turns.hand_back, turn.id, 1)
    assert do(store, picking.stale_lanes, 5) == [(turn.lane_id, "people")]
    assert do(store, lanes.stale_among, [turn.lane_id, 4711]) == [(turn.lane_id, False)]
    heir = do(store, turns.take_over, turn.lane_id, "heir", later)
    assert heir is not None
    assert (heir.worker_id, heir.fence, heir.attempts, heir.claimed_until) == ("heir", 2, 1, later)
    assert do(store, picking.stale_lanes, 5) == []
    assert not do(store, turns.hand_back, turn.id, 1)
    # A claim without an end is vouched for by somebody outside: nobody here takes it.
    do(store, lambda tx: tx.run(sa.update(t.turn).values(claimed_until=None)))
    assert do(store, turns.take_over, turn.lane_id, "heir", later) is None
    assert do(store, picking.stale_lanes, 5) == []


def test_a_claim_without_expiry_is_an_outside_engines_until_its_workers_are_silent(
    store: Store, instance: Instance
) -> None:
    turn = begun(store, instance).turn
    do(store, lambda tx: tx.run(sa.update(t.turn).values(claimed_until=None)))

    def beat(tx: Tx, can: frozenset[str]) -> None:
        maintenance.beat(tx, "worker_r", name="r", schedules=False, next_wake_at=None, can=can)

    def taken() -> list[int]:
        return do(store, runner.pick, 1, 1, ()).people

    do(store, beat, frozenset({maintenance.RESTATE}))
    assert do(store, picking.glance).vouched
    assert taken() == []
    assert do(store, open_lanes, [(turn.lane_id, claim("own"))], instance) == ["held"]
    # The engine's own workers take it up at once: it lets one of them work at a time.
    heir = do(store, open_lane, turn.lane_id, instance, claim("theirs", seconds=None))
    assert (heir.turn.fence, heir.turn.claimed_until, heir.turn.worker_id) == (2, None, "theirs")
    # A minute without a beat, while a worker of our own beats: anybody may take it up.
    do(store, beat, frozenset())
    assert taken() == [turn.lane_id]
    heir = do(store, open_lane, turn.lane_id, instance, claim("own"))
    assert (heir.turn.fence, heir.turn.worker_id) == (3, "own")
    assert not do(store, picking.glance).vouched


def test_attempts_are_counted_since_the_last_new_step(store: Store, instance: Instance) -> None:
    turn = begun(store, instance, seconds=0).turn
    for attempt in (2, 3):
        heir = do(store, open_lane, turn.lane_id, instance, claim("heir", seconds=0))
        assert heir.turn.attempts == attempt
    do(store, lambda tx: steps.made_progress(tx, turns.hold(tx, turn.id, heir.turn.fence)))
    assert do(store, open_lane, turn.lane_id, instance, claim("heir")).turn.attempts == 2


def test_a_cancel_is_asked_for_once_and_found_by_its_worker(store: Store, instance: Instance) -> None:
    opened = begun(store, instance)
    turn_id = opened.turn.id
    assert do(store, turns.watch, "worker_a") == []
    assert do(store, turns.request_cancel, turn_id, "removed")
    assert not do(store, turns.request_cancel, turn_id, "asked")
    [watched] = do(store, turns.watch, "worker_a")
    assert (watched.id, watched.cancel_reason) == (turn_id, "removed")
    assert do(store, turns.watch, "stranger") == []
    do(store, close_turn, opened, instance)
    assert do(store, turns.watch, "worker_a") == []
    assert not do(store, turns.request_cancel, turn_id, "asked")
    closed = do(store, turns.get_turn, turn_id)
    assert closed is not None
    assert (closed.outcome, closed.reason) == ("cancelled", "removed")


def test_a_message_is_injected_once_and_only_a_persons(store: Store, instance: Instance) -> None:
    opened = begun(store, instance)

    def work(tx: Tx) -> None:
        session = sessions.get(tx, opened.turn.session_id)
        person_says(tx, session, "and apples", mode="inject")
        put(tx, session, "machine")
        [inbound] = inbounds.injectable(tx, opened.turn)
        assert inbound.text == "and apples"
        assert inbounds.take_into(tx, opened.turn, inbound)
        assert not inbounds.take_into(tx, opened.turn, inbound)
        machine = next(one for one in inbounds.waiting(tx, session.id, 5) if one.text == "machine")
        assert not inbounds.take_into(tx, opened.turn, machine)

    store.write_now(work)
    taken = [(i.text, i.state, i.injected) for i in rows(store, t.inbound)]
    assert taken == [("hello", "taken", False), ("and apples", "taken", True), ("machine", "waiting", False)]


def test_what_is_withdrawn_waits_no_more_and_what_was_taken_stays(store: Store, instance: Instance) -> None:
    def work(tx: Tx) -> None:
        one, other = add_session(tx, "web:one"), add_session(tx, "web:other")
        add_job(tx, one, "a")
        add_job(tx, one, "b")
        tick(tx, instance)
        run_ids = [str(row[0]) for row in tx.rows(sa.select(t.run.c.id).order_by(t.run.c.n))]
        for text in ("old", "older"):
            put(tx, one, text, source="report", job_id="job_a")
        put(tx, one, "another's", source="report", job_id="job_b")
        person_says(tx, other, "elsewhere")
        assert [inbound.run_id for inbound in inbounds.withdraw_runs(tx, run_ids[:1])] == run_ids[:1]
        assert inbounds.withdraw_runs(tx, run_ids[:1]) == []
        assert {inbound.text for inbound in inbounds.withdraw_reports(tx, one.id, "job_a")} == {"old", "older"}
        opened = open_lane(tx, one.id, instance)
        assert opened.turn.run_id == run_ids[1]
        assert [inbound.text for inbound in inbounds.withdraw_all(tx, one.id)] == ["another's"]
        assert inbounds.waiting(tx, one.id, 5) == []
        assert len(inbounds.waiting(tx, other.id, 5)) == 1

    store.write_now(work)


def test_what_comes_in_twice_is_found_again_and_refused_in_every_session(store: Store) -> None:
    def work(tx: Tx) -> None:
        one, other = add_session(tx, "web:one"), add_session(tx, "web:other")
        first = put(tx, one, "hello", external_id="m1")
        with pytest.raises(exc.IntegrityError), tx.attempt():
            put(tx, other, "hello", external_id="m1")
        assert inbounds.known_external(tx, ["m1", "m2"]) == {"m1"}
        found = inbounds.find_external(tx, one.id, "m1")
        assert found is not None
        assert found.id == first
        assert inbounds.inbound_by_id(tx, first) == found
        assert inbounds.find_external(tx, one.id, "m2") is None
        assert inbounds.inbound_by_id(tx, "in_none") is None

    store.write_now(work)


def test_slots_go_to_users_with_the_fewest_running(store: Store) -> None:
    def work(tx: Tx) -> None:
        mine = [add_session(tx, f"web:{n}") for n in range(4)]
        theirs = [add_session(tx, f"api:{n}", user_id="stranger") for n in range(2)]
        for session in (*mine, *theirs):
            put(tx, session, "x")
        assert picking.pick_machines(tx, 4, {}) == [mine[0].id, theirs[0].id, mine[1].id, theirs[1].id]
        assert picking.pick_machines(tx, 2, {OWNER: 2}) == [theirs[0].id, theirs[1].id]
        assert picking.pick_machines(tx, 5, {"stranger": 9}) == [*(one.id for one in mine), theirs[0].id]
        assert picking.pick_machines(tx, 2, {}, held=[mine[0].id, theirs[0].id]) == [mine[1].id, theirs[1].id]

    store.write_now(work)


def test_an_old_shared_lane_is_worked_off_after_sharing_was_switched_off(store: Store, instance: Instance) -> None:
    def work(tx: Tx) -> Opened:
        lane = add_session(tx, f"unified:{OWNER}")
        chat = add_session(tx, "web:chat")
        person_says(tx, chat, "hello", lane_id=lane.id)
        return open_lane(tx, lane.id, instance)

    opened = store.write_now(work)
    assert opened.session_key == "web:chat"


def test_a_session_that_became_a_shared_place_meanwhile_is_looked_at_again(store: Store) -> None:
    def work(tx: Tx) -> None:
        seen = add_session(tx)
        sessions.mark_several(tx, seen.id)
        with pytest.raises(LookAgain):
            lanes.enter(tx, seen, unified=True)
        assert lanes.enter(tx, sessions.get(tx, seen.id), unified=True) == seen.id

    store.write_now(work)


def test_a_policy_is_read_back_and_one_of_another_version_has_defaults(store: Store, instance: Instance) -> None:
    def work(tx: Tx) -> None:
        session = add_session(tx)
        add_job(tx, session, "fruit", quiet=True, context="none")
        tick(tx, instance)
        opened = open_lane(tx, session.id, instance).turn
        assert (opened.policy.quiet, opened.policy.context, opened.policy.trigger) == (True, "none", "timer")
        assert turns.get_turn(tx, opened.id) == opened
        tx.run(sa.update(t.turn).values(policy={"quiet": True, "of_tomorrow": 1}))
        [older] = turns.open_turns_of(tx, [session.id]).values()
        assert older.policy == Policy(quiet=True)
        tx.run(sa.update(t.turn).values(policy=None))
        [oldest] = turns.open_turns_of(tx, [session.id]).values()
        assert oldest.policy == Policy()

    store.write_now(work)
