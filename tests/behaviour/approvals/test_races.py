"""An answer, its opposite, the end of its time, a deletion and another agent in one instant: one of them counts."""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import sqlalchemy as sa

from homing.engine.actions import Actions
from homing.model.agents import Agent
from homing.model.approvals import MAX_ASKED, Approval
from homing.model.errors import Refused
from homing.model.people import OWNER, ActingTurn, Caller
from homing.model.sessions import Session
from homing.operations.approvals import Request, answer_approval, ask, end_request
from homing.operations.session_deletion import delete_session
from homing.operations.sessions import add_session, update_session
from homing.operations.shapes.approval import AnswerApproval
from homing.operations.shapes.session_asks import AddSession, DeleteSession, UpdateSession
from homing.store import Tx, agents, approvals, sessions
from homing.store import tables as t
from support.worlds import World

PERSON = Caller(user_id=OWNER, role="admin", door="page", approve=True)
ROUNDS = 12


def request(world: World, key: str, text: str = "it", *, agent_id: str = "main") -> Callable[[Tx], str]:
    """Make a request of a turn in a session; the turn itself is of no matter here."""
    found = world.write(lambda tx: sessions.find(tx, key, user_id=OWNER))
    assert found is not None
    session: Session = found
    turn = ActingTurn(
        id=f"turn_{key}",
        session_id=session.id,
        session_key=key,
        agent_id=agent_id,
        source="person",
        job_id=None,
        sender_id=None,
        depth=0,
        may_schedule=True,
    )
    caller = Caller(user_id=OWNER, door="tool", turn=turn)
    what = Request(tool="remember", args={"text": text}, title="Remember it")
    return lambda tx: ask(world.ctx(tx, caller), session, what, call_key=f"turn_{key}:{text}")


def at_once(*works: Callable[[], object]) -> list[str]:
    """Do all of it in the same instant; give the names of those who were not refused."""
    gate = threading.Barrier(len(works))

    def run(work: Callable[[], object]) -> str | None:
        gate.wait()
        try:
            work()
        except Refused:
            return None
        return work.__name__

    with ThreadPoolExecutor(len(works)) as pool:
        return [name for name in pool.map(run, works) if name is not None]


def told(world: World, approval_id: str) -> int:
    c = t.inbound.c
    found = sa.select(sa.func.count()).where(c.meta["approval_id"].as_string() == approval_id)
    return int(world.write(lambda tx: tx.rows(found))[0][0])


def test_of_answers_expiry_and_deletion_at_once_one_counts(world: World) -> None:
    dice = random.Random(5)
    for n in range(ROUNDS):
        key = f"web:race-{n}"
        world.ask(add_session, AddSession(key=key))
        world.write(request(world, key))
        [before] = world.write(lambda tx, key=key: approvals.open_in(tx, _id(tx, key)))

        def approve(before: Approval = before) -> None:
            _answer(world, before, "approve")

        def deny(before: Approval = before) -> None:
            _answer(world, before, "deny")

        def expire(before: Approval = before) -> None:
            world.write(lambda tx: end_request(tx, before, ended="time", unified=False, wakes=False))

        def delete(key: str = key) -> None:
            world.ask(delete_session, DeleteSession(session_key=key))

        works = [approve, deny, expire, *([delete] if n % 2 else [])]
        dice.shuffle(works)
        done = at_once(*works)
        after = world.write(lambda tx, before=before: approvals.get(tx, before.id))
        assert after is not None
        answered = {"approve", "deny"} & set(done)
        assert len(answered) == (after.answered_by is not None), (done, after)
        if n % 2:
            assert after.state in ("denied", "expired")
            assert told(world, before.id) <= 1
        else:
            assert after.state == {"approve": "approved", "deny": "denied"}.get("".join(answered), "expired")
            assert told(world, before.id) == (after.state != "approved")


def test_a_request_and_the_deletion_of_its_session_leave_nothing_that_waits(world: World) -> None:
    for n in range(ROUNDS):
        key = f"web:gone-{n}"
        world.ask(add_session, AddSession(key=key))
        make = request(world, key)

        def ask_for_it(make: Callable[[Tx], str] = make) -> None:
            world.write(make)

        def delete(key: str = key) -> None:
            world.ask(delete_session, DeleteSession(session_key=key))

        assert "delete" in at_once(ask_for_it, delete)
    found = world.write(lambda tx: tx.rows(sa.select(t.approval.c.state).distinct()))
    assert {state for (state,) in found} <= {"expired"}


def test_a_request_and_a_change_of_agent_at_once(world: World) -> None:
    world.write(lambda tx: agents.add(tx, Agent(id="second", name="Second", instructions="")))
    for n in range(ROUNDS):
        key = f"web:moved-{n}"
        world.ask(add_session, AddSession(key=key))
        make = request(world, key)

        def ask_for_it(make: Callable[[Tx], str] = make) -> None:
            world.write(make)

        def move(key: str = key) -> None:
            world.ask(update_session, UpdateSession(session_key=key, agent_id="second"))

        assert "move" in at_once(ask_for_it, move)
        # Asked in time or refused: in no case may it be asked now.
        assert at_once(lambda key=key: world.write(request(world, key, "later"))) == []


def test_conversations_of_one_agent_that_ask_at_once_keep_its_limit(world: World) -> None:
    for n in range(8):
        world.ask(add_session, AddSession(key=f"web:many-{n}"))
    makers = [request(world, f"web:many-{n}", f"fact {m}") for n in range(8) for m in range(5)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda make: at_once(lambda: world.write(make)), makers))
    found = world.write(lambda tx: tx.rows(sa.select(sa.func.count()).select_from(t.approval)))
    assert found[0][0] == MAX_ASKED


def test_of_eight_workers_one_takes_an_action(world: World) -> None:
    world.ask(add_session, AddSession(key="web:taken"))
    for n in range(ROUNDS // 2):
        world.write(request(world, "web:taken", f"fact {n}"))
        [before] = world.write(
            lambda tx: [one for one in approvals.open_in(tx, _id(tx, "web:taken")) if one.state == "pending"]
        )
        _answer(world, before, "approve")
        seen = world.write(lambda tx, before=before: approvals.get(tx, before.id))
        assert seen is not None
        taken: list[Approval] = []

        def take(n: int, seen: Approval = seen, taken: list[Approval] = taken) -> None:
            machine = Actions(world.store, world.instance, f"worker_{n}", lambda asked: None)
            if found := world.write(lambda tx: machine._take(tx, seen)):
                taken.append(found)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(take, range(8)))
        assert len(taken) == 1
        assert (taken[0].state, taken[0].attempts, taken[0].fence) == ("running", 1, seen.fence + 1)


def _answer(world: World, approval: Approval, decision: str) -> None:
    given = {"approval_id": approval.id, "digest": approval.digest, "decision": decision}
    world.ask(answer_approval, AnswerApproval.model_validate(given), caller=PERSON)


def _id(tx: Tx, key: str) -> int:
    found = sessions.find(tx, key, user_id=OWNER)
    assert found is not None
    return found.id
