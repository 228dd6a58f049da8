"""Short ways to ask the operations in tests."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from homing.model.approvals import Approval, Question
from homing.model.errors import Invalid
from homing.model.people import OWNER, ActingTurn, Caller, Source
from homing.operations.approvals import Request, ask
from homing.operations.jobs import add_job
from homing.operations.questions import ask_people
from homing.operations.shapes.base import read
from homing.operations.shapes.job import JobShape
from homing.operations.shapes.job_asks import AddJob
from homing.store import Tx, approvals, sessions, turns
from homing.tools.toolbox import caller_of
from support.worlds import OWNER_CALLER, World

E = TypeVar("E", bound=Exception)

PERSON_TURN: Source = "person"
RUN_TURN: Source = "run"


def session(world: World, key: str = "web:abc", user_id: str = OWNER) -> int:
    """Make a session if it is not there; return its id."""

    def work(tx: Tx) -> int:
        made = sessions.find(tx, key, user_id=user_id) or sessions.add(tx, key=key, user_id=user_id, agent_id="main")
        assert made is not None
        return made.id

    return world.write(work)


def add(world: World, *, caller: Caller = OWNER_CALLER, **given: Any) -> JobShape:
    """Add a job; `None` leaves a field of the plain one out."""
    plain: dict[str, Any] = {"session_key": "web:abc", "when": "every 2h", "message": "look for fruit"}
    if "schedule" in given and "when" not in given and given["schedule"] != {"every_ms": 60000}:
        plain.pop("when")
    ask = {name: value for name, value in (plain | given).items() if value is not None}
    if "session_key" in ask:
        session(world, ask["session_key"], caller.user_id)
    return world.ask(add_job, read(AddJob, ask), caller=caller)


def agent(
    world: World,
    source: Source,
    *,
    job_id: str | None = None,
    may_schedule: bool = False,
    agent_id: str = "main",
    turn_id: str = "turn_test",
) -> Caller:
    """Be an agent in a turn of web:abc."""
    turn = ActingTurn(
        id=turn_id, session_id=session(world), session_key="web:abc", agent_id=agent_id, source=source,
        job_id=job_id, sender_id=None, depth=0, may_schedule=may_schedule,
    )  # fmt: skip
    return Caller(user_id=OWNER, role="admin", door="tool", turn=turn)


def refused(act: Callable[[], object], kind: type[E]) -> E:
    """Do what must be refused, and give the refusal."""
    with pytest.raises(kind) as caught:
        act()
    return caught.value


def field_codes(error: Invalid) -> dict[str, str]:
    return {one.field: one.code for one in error.errors}


def ask_people_for(world: World, key: str, turn_id: str) -> tuple[Approval, Question]:
    """Let an open turn ask for an approval and ask a question, as its tools do."""

    def work(tx: Tx) -> tuple[Approval, Question]:
        session = sessions.find(tx, key, user_id=OWNER)
        turn = turns.get_turn(tx, turn_id)
        assert session is not None
        assert turn is not None
        acting = caller_of(turn, key, None, call_key=f"{turn_id}:1")
        ctx = world.ctx(tx, acting)
        request = Request(tool="remember", args={"text": "pears"}, title="Main asks to use remember")
        ask(ctx, session, request, call_key=f"{turn_id}:2")
        question = ask_people(ctx, session, title="Which fruit?", options=["Apple", "Pear"])
        [approval] = approvals.open_in(tx, session.id)
        return approval, question

    return world.write(work)
