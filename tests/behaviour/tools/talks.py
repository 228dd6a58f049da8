"""A conversation through the real lane: a person's message in, the closing out; model, keeper and tools are real."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import sqlalchemy as sa

from homing.agent.models import Models
from homing.agent.offline.plans import LABEL
from homing.engine.claims import Claim
from homing.engine.lane import Lanes, work_lane
from homing.engine.turn_context import TurnThinker
from homing.model.jobs import Job
from homing.model.messages import Message
from homing.model.people import OWNER
from homing.model.sessions import Session
from homing.store import Tx, inbounds, jobs, messages, sessions
from homing.store import tables as t
from homing.store.inbounds import NewInbound
from homing.tools.tool import OutsideTool
from homing.tools.toolbox import toolbox
from support.worlds import World


@dataclass(kw_only=True, eq=False)
class Talk:
    """One session with a worker that works its lane whenever something was said."""

    world: World
    session: Session
    models: Models = field(default_factory=Models)
    outside: Sequence[OutsideTool] = ()

    def __post_init__(self) -> None:
        world = self.world
        thinker = TurnThinker(
            store=world.store,
            instance=world.instance,
            models=self.models,
            toolbox=lambda opened, keeper, agent: toolbox(
                turn=opened.turn,
                session_key=opened.session_key,
                agent=agent,
                instance=world.instance,
                store=world.store,
                commit=keeper.commit,
                outside=self.outside,
            ),
        )
        self.lanes = Lanes(store=world.store, instance=world.instance, think=thinker)

    async def say(self, text: str) -> str:
        """Say something and read the closing, without the label that every offline answer carries."""
        answer = (await self.closing(text)).text
        assert answer.startswith(LABEL)
        return answer.removeprefix(LABEL)

    async def closing(self, text: str) -> Message:
        def enter(tx: Tx) -> None:
            sessions.lock(tx, [self.session.id])
            inbounds.take_in(tx, [self._inbound(text)])

        before = len(self.messages())
        await self.world.store.write(enter)
        await self.work()
        said = self.messages()[before:]
        return next(message for message in said if message.role == "assistant" and message.kind != "question")

    async def dies(self, text: str, *, at: asyncio.Event) -> None:
        """Say something to a worker that dies when an event is set: it writes nothing more, and its claim ends."""
        working = asyncio.create_task(self.closing(text))
        await at.wait()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        self.world.write(lambda tx: tx.run(sa.update(t.turn).values(claimed_until=tx.now() - timedelta(seconds=1))))

    async def work(self, lane_id: int | None = None) -> None:
        """Work whatever waits in the lane, or in that of an isolated run."""
        worked = "more"
        while worked == "more":
            claim = Claim(worker_id="worker_test", clock=self.world.clock, seconds=10)
            worked = await work_lane(self.lanes, lane_id or self.session.id, claim)

    def messages(self) -> list[Message]:
        return self.world.write(lambda tx: messages.page(tx, self.session.id, after=0, before=None, limit=200))

    def jobs(self) -> list[Job]:
        return self.world.write(lambda tx: jobs.bound_to(tx, self.session.id))

    def _inbound(self, text: str) -> NewInbound:
        return NewInbound(
            session_id=self.session.id,
            lane_id=self.session.id,
            user_id=OWNER,
            source="person",
            text=text,
            line="people",
            address=self.session.key,
        )


MakeTalk = Callable[..., Talk]
