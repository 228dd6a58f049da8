"""A home whose time a test moves: real scheduler, lanes and runner over either database, with a scripted model."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from homing.model.jobs import Job
from homing.model.messages import Message
from homing.model.runs import Run
from homing.operations.shapes.job import JobShape
from homing.store import Store, jobs, messages, run_lists
from homing.store import tables as t
from homing.testing import FakeClock, WireMessage
from homing.testing.scripted import wire_messages
from support import asking
from support.ledger import CHAT
from support.rooms import Room
from support.worlds import World, pass_time, write_job

TOOLS = ("schedule_task", "remember", "recall", "forget")


class Home(Room):
    """One Homing: ask it, let time pass, let it settle, look at the rows."""

    def __init__(self, store: Store, fake: FakeClock, **settings: Any) -> None:
        given: dict[str, Any] = {"max_concurrent_runs": 4}
        super().__init__(store, **(given | settings))
        self.fake = fake
        self.world = World(store=store, clock=fake, instance=self.instance)
        self.ledger.write(lambda tx: tx.run(sa.update(t.agent).values(tools=dict.fromkeys(TOOLS, "allow"))))

    def add(self, message: str | None = "look for fruit", **given: Any) -> JobShape:
        """Add a job to the chat through the front desk."""
        plain: dict[str, Any] = {"session_key": CHAT, "message": message}
        return asking.add(self.world, **(plain | given))

    def ask(self, operation: Callable[..., Any], ask: Any) -> Any:
        return self.world.ask(operation, ask)

    def now(self) -> datetime:
        return self.world.now()

    def pass_time(self, **length: float) -> None:
        """Let time pass, for every row alike."""
        pass_time(self.store, self.fake, timedelta(**length))

    async def tick(self) -> None:
        """Let the scheduler move all that is due."""
        scheduler = self.scheduler()
        while await scheduler.step():
            pass

    async def settle(self) -> None:
        """Tick, and work every lane until nothing waits."""
        await self.tick()
        runner = self.runner()
        while await runner.step():
            pass

    async def say(self, text: str, key: str = CHAT) -> str:
        """Say something as a person and give the answer."""
        self.ledger.say(text, key)
        await self.settle()
        return self.shown(key)[-1].text

    def job(self, job_id: str) -> Job:
        job = self.ledger.write(lambda tx: jobs.get(tx, job_id))
        assert job is not None
        return job

    def change(self, job_id: str, **values: Any) -> None:
        """Write into a job's row what no door would."""
        self.ledger.write(lambda tx: write_job(tx, job_id, values))

    def runs(self, job_id: str) -> list[Run]:
        """Read a job's runs in the order of their writing."""
        found = self.ledger.write(lambda tx: run_lists.listed(tx, user_id=None, job_id=job_id, limit=200))
        return list(reversed(found))

    def only_run(self, job_id: str) -> Run:
        [run] = self.runs(job_id)
        return run

    def ends(self, job_id: str) -> list[tuple[str, str | None]]:
        """Tell how the job's runs ended."""
        return [(run.state, run.reason) for run in self.runs(job_id)]

    def shown(self, key: str = CHAT) -> list[Message]:
        """Read what a person sees."""
        session = self.ledger.session(key)
        return self.ledger.write(lambda tx: messages.page(tx, session.id, after=0, before=None, limit=200))

    def notes(self, key: str = CHAT) -> list[str]:
        return [message.text for message in self.shown(key) if message.kind == "note"]

    def call(self, nth: int = -1) -> list[WireMessage]:
        """Read what the model was shown in one of its calls, instructions first."""
        return wire_messages(self.model.seen[nth], self.model.infos[nth].instructions)

    def heard(self, nth: int = -1) -> str:
        """Read the same as one text."""
        return "\n".join(message.text for message in self.call(nth))

    @contextmanager
    def statements(self) -> Iterator[list[str]]:
        """Take down every statement that the store makes meanwhile."""
        made: list[str] = []

        def take(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
            made.append(" ".join(statement.split()))

        event.listen(self.store.engine, "before_cursor_execute", take)
        try:
            yield made
        finally:
            event.remove(self.store.engine, "before_cursor_execute", take)
