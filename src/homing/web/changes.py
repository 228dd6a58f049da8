"""One look at what changed in a session, as a stream tells it. Clients that stand at the same place look together."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from homing.model.messages import Message
from homing.model.people import Caller
from homing.operations.approvals import may_see
from homing.operations.context import Context, Instance
from homing.operations.deliveries import show_deliveries
from homing.operations.inbox import count_inbox
from homing.operations.shapes.approval import ApprovalShape, QuestionShape
from homing.operations.shapes.base import Answer
from homing.operations.shapes.inbox import InboxCounts
from homing.operations.views import show_jobs, show_messages, show_runs, show_session
from homing.store import Store, Tx, approvals, deliveries, jobs, messages, questions, runs, sessions

BATCH = 200
_PLACE = re.compile(r"(\d{1,15})(?:\.(\d{1,15}))?")


@dataclass(frozen=True, kw_only=True)
class Place:
    """How far somebody has read: everything up to a revision, and of the next ones the messages up to a seq."""

    rev: int
    seq: int = 0

    def __str__(self) -> str:
        return f"{self.rev}.{self.seq}" if self.seq else str(self.rev)


def read_place(text: str | None) -> Place | None:
    """Read a place that we wrote; None for anything else."""
    found = _PLACE.fullmatch(text or "")
    return Place(rev=int(found[1]), seq=int(found[2] or 0)) if found else None


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What one look found."""

    place: Place
    events: bytes = b""
    more: bool = False
    gone: bool = False
    """The session was deleted: nothing follows."""
    closed: frozenset[str] = frozenset()
    """Turns whose end this batch tells; whatever is still said of them is late."""
    recount: bool = False
    """Something changed that may stand in an inbox."""


_Key = tuple[int, Place, bool, bool]
"""Session, place, whether messages are numbered, and whether an admin looks: all that makes two looks differ."""


class Looks:
    """Looks into the store for all streams of this process."""

    def __init__(self, store: Store, instance: Instance) -> None:
        self._store = store
        self._instance = instance
        self._gathering: dict[_Key, asyncio.Task[Batch]] = {}

    async def at(self, caller: Caller, session_id: int, place: Place, *, numbered: bool) -> Batch:
        """Look at what follows a place. The look begins after this call, so it sees whatever rang before it."""
        key = (session_id, place, numbered, caller.admin)
        task = self._gathering.get(key)
        if task is None:
            task = self._gathering[key] = asyncio.create_task(self._look(caller, key))
        # One client that leaves takes nobody's look along.
        return await asyncio.shield(task)

    async def session(self, caller: Caller, session_id: int, place: Place) -> bytes:
        """Tell a session as it is to somebody who comes back to a place: the last event there may have been lost."""

        def work(tx: Tx) -> bytes:
            ctx = Context(tx=tx, caller=caller, instance=self._instance)
            return event("session", show_session(ctx, sessions.get(tx, session_id)), place)

        return await self._store.read(work)

    async def inbox(self, caller: Caller) -> InboxCounts:
        """Count the caller's inbox."""
        return await self._store.read(lambda tx: count_inbox(Context(tx=tx, caller=caller, instance=self._instance)))

    async def _look(self, caller: Caller, key: _Key) -> Batch:
        # Those woken by the same ring come in the same round of the loop, and join here.
        await asyncio.sleep(0)
        del self._gathering[key]
        session_id, place, numbered, _ = key

        def work(tx: Tx) -> Batch:
            return look(Context(tx=tx, caller=caller, instance=self._instance), session_id, place, numbered=numbered)

        return await self._store.read(work)


def look(ctx: Context, session_id: int, after: Place, *, numbered: bool) -> Batch:
    """Read what follows a place: states first, then messages in order, and at the end the session as it is now."""
    tx = ctx.tx
    session = sessions.get(tx, session_id)
    gone = session.deleted_at is not None
    if session.rev <= after.rev:
        return Batch(place=after, gone=gone)
    found = messages.changes(tx, session_id, after.rev, BATCH, after_seq=after.seq)
    last = found.messages[-1] if found.messages else None
    place = Place(rev=found.rev, seq=last.seq if last is not None and last.rev > found.rev else 0)
    if session.channel == "unified":
        # The lane that a user's chats share is not a chat itself.
        return Batch(place=place, more=found.more, gone=gone)
    told = [message for message in found.messages if not message.folded]
    places = _places(told, found.rev) if numbered else [None] * len(told)
    shapes = show_messages(ctx, told)
    events = [*_states(ctx, found), *(event("message", *pair) for pair in zip(shapes, places, strict=True))]
    shape = show_session(ctx, session)
    if not found.more:
        events.append(event("session", shape, place if numbered else None))
    open_turn = shape.turn.id if shape.turn else None
    turns = {message.turn_id for message in found.messages if message.turn_id and message.turn_id != open_turn}
    last_words = gone and not found.more
    return Batch(
        place=place,
        events=b"".join(events),
        more=found.more,
        gone=last_words,
        closed=frozenset(turns),
        recount=any((found.approval_ids, found.question_ids, found.job_ids, found.run_ids, found.delivery_ids)),
    )


def event(noun: str, shape: Answer, place: Place | None = None) -> bytes:
    """Spell one event; with a place, a client that saw it can go on from there."""
    return spelled(noun, shape.model_dump_json(), place)


def spelled(noun: str, data: str, place: Place | None = None, *, retry: int | None = None) -> bytes:
    """Spell an event as the stream has it. JSON is one line, whatever text it holds."""
    extra = (f"id: {place}\n" if place is not None else "") + (f"retry: {retry}\n" if retry is not None else "")
    return f"event: {noun}\ndata: {data}\n{extra}\n".encode()


def _states(ctx: Context, found: messages.Changes) -> Iterator[bytes]:
    changed = runs.get_many(ctx.tx, found.run_ids)
    for run in show_runs(ctx, [changed[run_id] for run_id in found.run_ids if run_id in changed]):
        yield event("run", run)
    bound = jobs.get_many(ctx.tx, found.job_ids)
    for job in show_jobs(ctx, [bound[job_id] for job_id in found.job_ids if job_id in bound]):
        yield event("job", job)
    carried = deliveries.get_many(ctx.tx, found.delivery_ids)
    for delivery in show_deliveries(ctx.tx, [carried[delivery_id] for delivery_id in found.delivery_ids]):
        yield event("delivery", delivery)
    for approval in approvals.get_many(ctx.tx, found.approval_ids).values():
        # An administrator's home shows cards of others, and a token of theirs may be a plain user's.
        if may_see(ctx, approval):
            yield event("approval", ApprovalShape.show(approval))
    for question in questions.get_many(ctx.tx, found.question_ids).values():
        yield event("question", QuestionShape.show(question))


def _places(told: Sequence[Message], rev: int) -> list[Place]:
    """Say where a client stands that was cut off after each message: at its revision, or inside it if more follow."""
    last_of = {message.rev: message.seq for message in told if message.rev <= rev}
    return [
        Place(rev=message.rev)
        if last_of.get(message.rev) == message.seq
        else Place(rev=message.rev - 1, seq=message.seq)
        for message in told
    ]
