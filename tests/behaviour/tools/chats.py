"""A conversation whose agent calls the scheduling tool as a turn of it would."""

import contextlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from homing.agent.journal import ToolCall
from homing.model.agents import SCHEDULERS, Agent
from homing.model.errors import Refused
from homing.model.jobs import Job
from homing.model.people import ActingTurn, Caller, Source
from homing.model.sessions import Session
from homing.model.turns import Policy, Turn
from homing.operations.context import Context
from homing.store import Tx, jobs
from homing.store.steps import Done
from homing.tools.toolbox import toolbox
from support.worlds import World

AGENT = Agent(id="main", name="Main", model=None, instructions="Be kind.", tools={SCHEDULERS[0]: "allow"})


@dataclass(frozen=True, kw_only=True)
class Chat:
    """One session, and who acts in it."""

    world: World
    session: Session
    source: Source = "person"
    job_id: str | None = None
    may_schedule: bool = False
    tool: str = SCHEDULERS[0]
    """The name by which the model calls; the agent is offered the first."""

    def ctx(self, tx: Tx) -> Context:
        turn = ActingTurn(
            id="turn_test",
            session_id=self.session.id,
            session_key=self.session.key,
            agent_id=self.session.agent_id,
            source=self.source,
            job_id=self.job_id,
            sender_id="anna",
            depth=0,
            may_schedule=self.source == "person" or self.may_schedule,
        )
        caller = Caller(user_id=self.session.user_id, role="user", door="tool", turn=turn)
        return self.world.ctx(tx, caller)

    def call(self, **arguments: object) -> Done:
        """Call the tool by its name, as a turn would."""
        kept: list[Done] = []

        async def commit(call: ToolCall, work: Callable[[Tx], Done]) -> str:
            kept.append(self.world.write(work))
            return kept[0].text

        tools = toolbox(
            turn=self._turn(),
            session_key=self.session.key,
            agent=AGENT,
            instance=self.world.instance,
            store=self.world.store,
            commit=commit,
        )
        [tool] = [tool for tool in tools if self.tool in (tool.name, *tool.aliases)]
        working = tool.run(ToolCall(key="call_1", name=self.tool, args=arguments))
        assert inspect.iscoroutine(working)
        # Nothing in it waits for anything.
        with contextlib.suppress(StopIteration):
            working.send(None)
        return kept[0]

    def _turn(self) -> Turn:
        now = self.world.now()
        return Turn(
            id="turn_test", lane_id=self.session.id, session_id=self.session.id, user_id=self.session.user_id,
            agent_id=self.session.agent_id, source=self.source, run_id=None, job_id=self.job_id, state="running",
            outcome=None, reason=None, worker_id=None, claimed_until=None, fence=1, attempts=1, deadline_at=None,
            cancel_requested_at=None, cancel_reason=None, address=None, sender_id="anna", depth=0,
            model="offline", thinking=None, prompt="", policy=Policy(may_schedule=self.may_schedule), error=None,
            opening_seq=None, closing_seq=None, input_tokens=0, output_tokens=0, opened_at=now, closed_at=None,
        )  # fmt: skip

    def say(self, **arguments: object) -> str:
        return self.call(**arguments).text

    def refused(self, **arguments: object) -> str:
        with pytest.raises(Refused) as refused:
            self.call(**arguments)
        return refused.value.detail

    def add(self, name: str, when: str = "every day at 9", **arguments: object) -> Job:
        """Add a job and read it back from the store."""
        done = self.call(action="add", name=name, when=when, **({"message": f"do {name}"} | arguments))
        return self.job(str(done.cards[0]["job_id"]))

    def job(self, job_id: str) -> Job:
        job = self.world.write(lambda tx: jobs.get(tx, job_id))
        assert job is not None
        return job

    def jobs(self) -> list[Job]:
        return self.world.write(lambda tx: jobs.bound_to(tx, self.session.id))


MakeChat = Callable[..., Chat]
