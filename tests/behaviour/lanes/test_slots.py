"""Rule 4: people overtake, machines have slots of their own, and whoever has the fewest running goes first."""

from datetime import timedelta

import pytest
import sqlalchemy as sa

from homing.engine.opening import Opened
from homing.engine.runner import pick
from homing.store import Store, Tx, inbounds, people, picking, sessions
from homing.store import tables as t
from support.rooms import Room


def opened(room: Room) -> list[str]:
    """Name the users and sessions of the turns in the order of their opening."""
    rows = room.ledger.write(
        lambda tx: tx.rows(
            sa.select(t.session.c.key).join(t.turn, t.turn.c.session_id == t.session.c.id).order_by(t.turn.c.n)
        )
    )
    return [key for (key,) in rows]


def running(room: Room) -> list[str]:
    return sorted(turn.source for turn in room.ledger.turns(None) if turn.state == "running")


async def drain(room: Room) -> None:
    runner = room.runner()
    while await runner.step():
        pass


async def test_no_more_runs_than_slots_and_people_have_their_own(room_store: Store) -> None:
    room = Room(room_store, max_concurrent_runs=2, slots=2)
    room.model.otherwise("Fine.", hold=True)
    async with room.running():
        for number in range(4):
            room.ledger.run("look", f"web:run-{number}")
        room.ring()
        await room.called(2)
        for number in range(3):
            room.ledger.say("hello", f"web:person-{number}")
        room.ring()
        await room.called(4)
        # Everybody else waits, and holds nothing.
        assert running(room) == ["person", "person", "run", "run"]
        room.model.otherwise("Fine.")
        room.model.release()
        await room.until_closed(7, None)
    assert opened(room)[:2] == ["web:run-0", "web:run-1"]
    assert [key for key in opened(room) if "run" in key] == [f"web:run-{n}" for n in range(4)]
    assert [key for key in opened(room) if "person" in key] == [f"web:person-{n}" for n in range(3)]


async def test_free_slots_go_first_to_users_with_the_fewest_running(room_store: Store) -> None:
    room = Room(room_store, max_concurrent_runs=4)
    room.model.otherwise("Fine.", hold=True)
    for number in range(6):
        room.ledger.run("look", f"web:ann-{number}", user_id="ann")
    room.ledger.run("look", "web:bob-0", user_id="bob")
    room.ledger.run("look", "web:zoe-0", user_id="zoe")
    async with room.running():
        room.ring()
        await room.called(4)
        assert sorted(opened(room)) == ["web:ann-0", "web:ann-1", "web:bob-0", "web:zoe-0"]
        room.ledger.run("look", "web:zoe-1", user_id="zoe")
        room.ledger.run("look", "web:zoe-2", user_id="zoe")
        # One slot becomes free: ann has two running, zoe has one.
        room.ledger.cancel("web:bob-0")
        room.ring()
        await room.called(5)
        room.model.otherwise("Fine.")
        room.model.release()
        await room.until_closed(10, None)
    assert opened(room)[4] == "web:zoe-1"


async def test_with_one_slot_runs_go_in_the_order_of_their_arrival_whoever_they_belong_to(room_store: Store) -> None:
    room = Room(room_store, max_concurrent_runs=1)
    wanted = [f"{user}-{round_}" for round_ in (1, 2) for user in ("zoe", "ann", "bob", "cid", "dan", "eve", "fay")]
    for name in wanted:
        room.ledger.run("look", f"web:{name}", user_id=name.partition("-")[0])
    await drain(room)
    assert opened(room) == [f"web:{name}" for name in wanted]


async def test_nobody_starves_behind_very_many_who_always_have_something_waiting(room: Room) -> None:
    names = [f"u{number:02}" for number in range(picking.USERS + 6)]

    def fill(tx: Tx) -> int:
        lane_id = 0
        for number, name in enumerate((*names, "zoe", *names)):
            people.add_user(tx, name, role="user")
            session = sessions.add(tx, key=f"web:{number}", user_id=name, agent_id="main")
            assert session is not None
            new = inbounds.NewInbound(
                session_id=session.id, lane_id=session.id, user_id=name, source="hook", text="look", line="machines"
            )
            inbounds.take_in(tx, [new])
            lane_id = session.id if name == "zoe" else lane_id
        return lane_id

    zoe = room.ledger.write(fill)

    def look(tx: Tx) -> list[int]:
        served: list[int] = []
        after = ""
        while zoe not in served:
            picked = pick(tx, 0, 1, [], after)
            served += picked.machines
            inbounds.withdraw(tx, t.inbound.c.lane_id.in_(picked.machines))
            after = picked.after
        return served

    # There is a second round for everybody else: it may not come before her first.
    assert len(room.ledger.write(look)) <= len(names) + picking.USERS


async def test_a_person_overtakes_runs_that_wait_in_the_same_lane(room: Room) -> None:
    first = room.ledger.run("first look")
    second = room.ledger.run("second look")
    room.ledger.say("hello")
    await drain(room)
    assert [turn.run_id for turn in room.ledger.turns()] == [None, first, second]


async def test_a_run_overtaken_for_ten_minutes_goes_next(room: Room) -> None:
    run_id = room.ledger.run("look")
    age(room, minutes=10)
    room.ledger.say("hello")
    room.ledger.say("hello again", mode="queue")
    await drain(room)
    assert [turn.run_id for turn in room.ledger.turns()] == [run_id, None, None]


async def test_a_run_that_waited_less_is_overtaken_still(room: Room) -> None:
    run_id = room.ledger.run("look")
    age(room, minutes=9)
    room.ledger.say("hello")
    await drain(room)
    assert [turn.run_id for turn in room.ledger.turns()] == [None, run_id]


@pytest.mark.parametrize("waits", ["run", "person"])
async def test_a_turn_takes_a_slot_of_its_own_kind_whoever_else_waits_in_its_lane(
    room_store: Store, waits: str
) -> None:
    room = Room(room_store, max_concurrent_runs=1, slots=1)
    room.model.otherwise("Fine.", hold=True)
    async with room.running():
        if waits == "run":
            # The only slot for runs is taken; the lane's head is a run, though a person stands there too.
            room.ledger.run("look", "web:busy")
            room.ring()
            await room.called(1)
            room.ledger.run("look")
            age(room, minutes=11)
            room.ledger.say("hello")
        else:
            room.ledger.say("hello", "web:busy")
            room.ring()
            await room.called(1)
            room.ledger.say("hello")
            room.ledger.run("look")
        room.ring()
        # A third conversation shows that the runner has looked: it gets the slot that is free.
        if waits == "run":
            room.ledger.say("hello", "web:third")
        else:
            room.ledger.run("look", "web:third")
        room.ring()
        await room.called(2)
        assert running(room) == ["person", "run"]
        assert room.ledger.turns() == []
        room.model.otherwise("Fine.")
        room.model.release()
        await room.until_closed(4, None)


async def test_a_turn_to_take_up_goes_before_fresh_ones(room_store: Store) -> None:
    room = Room(room_store, slots=1)
    room.model.reply("nobody hears this", hold=True)
    async with room.running():
        room.ledger.say("first", "web:old")
        room.ring()
        await room.called(1)
    for number in range(3):
        room.ledger.say("later", f"web:new-{number}")
    await room.runner().step()
    assert [turn.outcome for turn in room.ledger.turns(None)] == ["answered"]
    assert room.ledger.texts("web:old")[0] == "first"


async def test_many_stale_runs_do_not_hide_a_persons_stale_turn(room: Room) -> None:
    for number in range(6):
        room.ledger.put("look", f"web:machine-{number}", source="hook", line="machines")
    room.ledger.say("hello", "web:person")
    working = room.lanes()
    for key in [*(f"web:machine-{number}" for number in range(6)), "web:person"]:
        opened = await working.open(room.lane_id(key), room.claim())
        assert isinstance(opened, Opened)
        room.expire(key)
    picked = room.ledger.write(lambda tx: pick(tx, 1, 1, []))
    assert picked.people == [room.lane_id("web:person")]
    assert picked.machines == [room.lane_id("web:machine-0")]


def age(room: Room, **length: float) -> None:
    """Let everything that waits have waited so much longer."""

    def work(tx: Tx) -> None:
        waiting = tx.rows(sa.select(t.inbound.c.n, t.inbound.c.queued_at).where(t.inbound.c.state == "waiting"))
        for n, queued_at in waiting:
            tx.run(sa.update(t.inbound).where(t.inbound.c.n == n).values(queued_at=queued_at - timedelta(**length)))

    room.ledger.write(work)
