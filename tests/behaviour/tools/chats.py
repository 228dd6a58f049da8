"""A conversation whose agent calls `schedule_task` as a turn of it would."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from homing.model.errors import Refused
from homing.model.jobs import Job
from homing.model.people import ActingTurn, Caller, Source
from homing.model.sessions import Session
from homing.operations.desk import Desk
from homing.store import Tx, jobs
from homing.store.steps import Done
from homing.tools.schedule_task import schedule_task
from support.worlds import World


@dataclass(frozen=True, kw_only=True)
class Chat:
    """One session, and who acts in it."""

    world: World
    session: Session
    source: Source = "person"
    job_id: str | None = None
    may_schedule: bool = False

    def desk(self, tx: Tx) -> Desk:
        turn = ActingTurn(
            id="turn_test",
            session_id=self.session.id,
            session_key=self.session.key,
            agent_id=self.session.agent_id,
            source=self.source,
            job_id=self.job_id,
            sender_id="anna",
            may_schedule=self.source == "person" or self.may_schedule,
        )
        caller = Caller(user_id=self.session.user_id, role="user", door="tool", turn=turn)
        return self.world.desk(tx, caller)

    def call(self, **arguments: object) -> Done:
        return self.world.write(lambda tx: schedule_task(self.desk(tx), self.session, arguments))

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
