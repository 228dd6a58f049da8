"""What a test writes into the rows from outside, as a door would, and what it reads out of them."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

import sqlalchemy as sa

from homing.model.jobs import DueJob, Timing, due_at
from homing.model.messages import Message
from homing.model.people import OWNER, Source
from homing.model.runs import Run
from homing.model.schedules import At
from homing.model.sessions import Session
from homing.model.turns import Inbound, Step, Turn
from homing.operations.firing import Firing, fire
from homing.store import Store, Tx, inbounds, jobs, people, runs, sessions, steps, turns
from homing.store import rows as r
from homing.store import tables as t
from homing.store.lanes import lane_of

T = TypeVar("T")

CHAT = "web:chat"
# A wait ends when the rows say so: this only ends a test whose wait is in vain, on a busy machine too.
PATIENCE = 60.0


class Ledger:
    """One database, seen and written from outside the engine."""

    def __init__(self, store: Store, *, unified: bool = False) -> None:
        self.store = store
        self.unified = unified
        self._jobs = 0

    def write(self, work: Callable[[Tx], T]) -> T:
        return self.store.write_now(work)

    def session(self, key: str = CHAT, *, user_id: str | None = None) -> Session:
        """Find a session, or make it, with its user; unnamed, the one who has this key already, else the owner."""

        def work(tx: Tx) -> Session:
            has = sa.select(t.session.c.user_id).where(t.session.c.key == key, t.session.c.deleted_at.is_(None))
            whose = user_id or next((name for (name,) in tx.rows(has)), OWNER)
            people.add_user(tx, whose, role="user")
            found = sessions.find(tx, key, user_id=whose) or sessions.add(tx, key=key, user_id=whose, agent_id="main")
            assert found is not None
            return found

        return self.write(work)

    def say(self, text: str, key: str = CHAT, *, mode: str = "inject", user_id: str = OWNER, **more: Any) -> str:
        """Let a person say something."""
        return self.put(text, key, source="person", line="people", mode=mode, user_id=user_id, **more)

    def note(self, text: str, key: str = CHAT, **more: Any) -> str:
        """Lay something in that wakes nobody."""
        return self.put(text, key, source="system", line="note", **more)

    def put(
        self,
        text: str,
        key: str = CHAT,
        *,
        source: Source,
        line: str,
        user_id: str = OWNER,
        **more: Any,
    ) -> str:
        """Put one inbound into the lane of a session."""
        session = self.session(key, user_id=user_id)

        def work(tx: Tx) -> str:
            lane_id = lane_of(tx, session, unified=self.unified)
            sessions.lock(tx, {session.id, lane_id})
            values: dict[str, Any] = {"address": key} | more
            new = inbounds.NewInbound(
                session_id=session.id, lane_id=lane_id, user_id=session.user_id, source=source, text=text, line=line,
                **values,
            )  # fmt: skip
            return inbounds.take_in(tx, [new])[0]

        return self.write(work)

    def job(self, message: str, key: str = CHAT, *, user_id: str = OWNER, **values: Any) -> str:
        """Add a job that is never due by itself; return its id."""
        session = self.session(key, user_id=user_id)
        self._jobs += 1
        job_id = f"job_{self._jobs}"

        def work(tx: Tx) -> None:
            at = tx.now() + timedelta(days=300)
            jobs.insert(
                tx,
                {
                    "id": job_id, "session_id": session.id, "user_id": session.user_id, "agent_id": "main",
                    "kind": "user", "name": message, "schedule_kind": "at", "at": at, "tz": "UTC",
                    "payload_kind": "agent_turn", "message": message, "timeout_seconds": 300.0, "context": "session",
                    "write_back": "full", "wake": "now", "catch_up": "latest", "catch_up_window_seconds": 86400,
                    "origin_door": "api", "next_run_at": at,
                }
                | values,
            )  # fmt: skip

        self.write(work)
        return job_id

    def fire(self, *job_ids: str) -> list[str]:
        """Queue a run of each job now; return the runs' ids."""

        def work(tx: Tx) -> list[str]:
            now = tx.now()
            known = jobs.get_many(tx, set(job_ids))
            firings = [
                Firing(job=_due(known[job_id]), trigger="timer", scheduled_for=now, next_run_at=None)
                for job_id in job_ids
            ]
            fire(tx, firings, unified=self.unified)
            return [firing.run_id for firing in firings]

        return self.write(work)

    def run(self, message: str, key: str = CHAT, **values: Any) -> str:
        """Queue one run of a fresh job; return the run's id."""
        return self.fire(self.job(message, key, **values))[0]

    def cancel(self, key: str = CHAT, reason: str = "asked") -> bool:
        """Ask that the open turn of a session be stopped, as a door does."""
        session = self.session(key)

        def work(tx: Tx) -> bool:
            lane_id = lane_of(tx, session, unified=self.unified)
            sessions.lock(tx, {session.id, lane_id})
            turn = turns.open_turn_of(tx, lane_id)
            return turn is not None and turns.request_cancel(tx, turn.id, reason)

        return self.write(work)

    def turns(self, key: str | None = CHAT) -> list[Turn]:
        """Read the turns of a session (or all) in the order of their opening."""
        statement = sa.select(*r.turn_columns).order_by(t.turn.c.n)
        if key is not None:
            statement = statement.where(t.turn.c.session_id == self.session(key).id)
        return [r.turn_of(row) for row in self._rows(statement)]

    def turn(self, key: str = CHAT) -> Turn:
        """Read the only turn of a session."""
        [turn] = self.turns(key)
        return turn

    def messages(self, key: str = CHAT) -> list[Message]:
        """Read all messages of a session, folded ones as well."""
        where = t.message.c.session_id == self.session(key).id
        return [r.message_of(row) for row in self._rows(r.messages.where(where).order_by(t.message.c.seq))]

    def texts(self, key: str = CHAT) -> list[str]:
        return [message.text for message in self.messages(key)]

    def steps(self, turn_id: str) -> list[Step]:
        return self.write(lambda tx: steps.kept(tx, turn_id))

    def inbound(self, inbound_id: str) -> Inbound:
        found = self.write(lambda tx: inbounds.inbound_by_id(tx, inbound_id))
        assert found is not None
        return found

    def find_run(self, run_id: str) -> Run:
        found = self.write(lambda tx: runs.get(tx, run_id))
        assert found is not None
        return found

    def outbounds(self, key: str = CHAT) -> list[Any]:
        where = t.outbound.c.session_id == self.session(key).id
        return self._rows(sa.select(t.outbound).where(where).order_by(t.outbound.c.n))

    def count(self, table: sa.Table, *where: sa.ColumnElement[bool]) -> int:
        return self._rows(sa.select(sa.func.count()).select_from(table).where(*where))[0][0]

    def change_turn(self, turn_id: str, **values: Any) -> None:
        """Write into a turn's row what only time could have written."""
        self.write(lambda tx: tx.run(sa.update(t.turn).where(t.turn.c.id == turn_id).values(values)))

    def until(self, true: Callable[[], Any], what: str, *, seconds: float = PATIENCE) -> None:
        """Wait until the rows say so."""
        until = time.monotonic() + seconds
        while not true():
            if time.monotonic() > until:
                raise TimeoutError(f"Waited {seconds:g} s until {what}; turns: {self._story()}")
            time.sleep(0.01)

    def until_closed(self, count: int, key: str | None = CHAT, *, seconds: float = PATIENCE) -> list[Turn]:
        """Wait until so many turns have closed and none is open."""

        def closed() -> bool:
            known = self.turns(key)
            return len(known) >= count and all(turn.state == "closed" for turn in known)

        self.until(closed, f"{count} turns of {key} have closed", seconds=seconds)
        return self.turns(key)

    def check_whole(self, key: str = CHAT) -> None:
        """One opening and one closing for each turn, and each owed once."""
        messages = self.messages(key)
        assert [message.seq for message in messages] == list(range(1, len(messages) + 1))
        owed = [(row.turn_id, row.seq) for row in self.outbounds(key) if row.cause == "closing"]
        for turn in self.turns(key):
            mine = [m for m in messages if m.turn_id == turn.id]
            openings = [m.seq for m in mine if m.role == "user" and m.kind != "note" and not m.meta.get("injected")]
            closings = [m.seq for m in mine if m.role == "assistant"]
            assert (openings, closings) == ([turn.opening_seq], [turn.closing_seq])
            assert [seq for turn_id, seq in owed if turn_id == turn.id] == [turn.closing_seq]

    def _rows(self, statement: sa.Select[Any]) -> list[Any]:
        return self.write(lambda tx: tx.rows(statement))

    def _story(self) -> str:
        return "; ".join(
            f"{turn.id} {turn.state} {turn.outcome or ''} fence {turn.fence} attempts {turn.attempts}"
            f" worker {turn.worker_id} claimed until {turn.claimed_until}"
            for turn in self.turns(None)[-20:]
        )


def _due(job: Any) -> DueJob:
    return replace(due_at(job, job.next_run_at), timing=Timing(schedule=At(at=job.next_run_at, tz="UTC")))
