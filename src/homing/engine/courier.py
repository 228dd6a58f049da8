"""The courier carries what people are owed: first the attempt is written, then the call is made, then how it ended.

It takes one part of a delivery at a time, and writes each receipt before the next part. Killed in between, the same
part is tried again under the same id. No call is made inside a transaction. A receiver that hangs holds one slot and
its own line; all that one user has by one channel hold at most a quarter of the slots. An account that was told to slow
down waits alone.
"""

import asyncio
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog

from homing.channels import Channel, Channels, Part, Receipt
from homing.engine.delivery_parts import Needless, OpenedPart, open_part
from homing.engine.outgoing_files import OutgoingFile, file_store, refused_there, seconds_for
from homing.model.errors import ChannelFailed, FilesAway, NoFiles, NotReady
from homing.model.files import AttachedFile
from homing.model.messages import Delivery, retry_at
from homing.model.push import PUSH
from homing.model.sessions import Session, channel_of
from homing.operations.context import Instance
from homing.store import Store, Tx, alerts, contacts, deliveries, inbounds, lanes, parts, push, sessions
from homing.store.bell import Ear

log = structlog.get_logger(__name__)

_BELL = "deliveries"
_PAUSE_SECONDS = 2.0
# Below this a look at the clock costs more than it saves.
_SHORTEST_SECONDS = 0.05
# Where a repeat is shown twice, a platform that was only slow has this long to show the first.
_UNSURE_SECONDS = 30.0
# For an account that was told to slow down, but not for how long.
_LIMITED_SECONDS = 5.0
GONE = "gone"
"""Why nothing was pushed: the push service does not know this browser any more."""


@dataclass(frozen=True, kw_only=True)
class _End:
    """How one attempt ended."""

    delivery: Delivery
    channel: Channel | None
    part: Part | None = None
    file: AttachedFile | None = None
    receipt: Receipt | None = None
    failure: ChannelFailed | None = None
    needless: str | None = None
    """Why nothing was sent, and need not be."""

    @property
    def name(self) -> str:
        return channel_of(self.delivery.address)

    @property
    def may_come_twice(self) -> bool:
        if self.channel is None or self.channel.capabilities.resend != "duplicates":
            return False
        return (self.part is not None and self.part.unsure) or (self.failure is not None and self.failure.unsure)

    @property
    def file_refused(self) -> bool:
        """The file cannot be sent there; whether anything else can is for a line of text to find out."""
        failure = self.failure if self.file is not None else None
        return failure is not None and failure.permanent and not failure.blocked

    @property
    def external_id(self) -> str | None:
        """The platform's id, by which a reply finds this part: unique over all accounts."""
        known = self.receipt.external_id if self.receipt else None
        return f"{self.name}:{known}" if known else None


class Courier:
    """Sends pending deliveries, each address in order, many addresses at once."""

    def __init__(
        self,
        store: Store,
        instance: Instance,
        channels: Channels,
        *,
        slots: int = 16,
        ceiling_seconds: float = 15.0,
        grace_seconds: float = 5.0,
    ) -> None:
        """A ceiling well below `deliveries.ATTEMPT`: an attempt is over before anybody may make the next."""
        self._store = store
        self._channels = channels
        self._instance = instance
        self._settings = instance.settings
        self._slots = slots
        self._share = max(1, slots // 4)
        self._ceiling_seconds = ceiling_seconds
        self._grace_seconds = grace_seconds
        self._paused_until: dict[str, datetime] = {}

    async def step(self) -> bool:
        """Try what is due, once; wait for all of it. Say whether there was any."""
        taken = await self._store.write(
            lambda tx: deliveries.take_deliveries(tx, self._slots, share=self._share, paused=self._paused(tx.now()))
        )
        await asyncio.gather(*(self._carry(delivery) for delivery in taken))
        return bool(taken)

    async def run(self) -> None:
        """Carry until cancelled. What is under way then may end in the grace time; the rest is tried again later."""
        ear = self._store.bell.listen(_BELL)
        sending: dict[asyncio.Task[None], deliveries.Party] = {}
        try:
            while True:
                await ear.wait(await self._start(sending, ear))
        finally:
            ear.close()
            await self._leave(sending)

    async def _start(self, sending: "dict[asyncio.Task[None], deliveries.Party]", ear: Ear) -> float:
        """Begin what is due in the free slots; say how long there is nothing more to do."""
        free = self._slots - len(sending)
        if free == 0 or self._store.outdated is not None:
            return self._store.look_seconds
        busy = Counter(sending.values())
        try:
            taken, pause = await self._store.write(lambda tx: self._take(tx, free, busy))
        except Exception:  # the rim: a database that is away comes back, and the courier is still there
            log.exception("delivery_take")
            return _PAUSE_SECONDS

        def leave(task: asyncio.Task[None]) -> None:
            sending.pop(task, None)
            ear.hear([_BELL])

        for delivery in taken:
            task = asyncio.create_task(self._carry_safely(delivery), name=f"courier {delivery.id}")
            sending[task] = deliveries.party_of(delivery.user_id, delivery.address)
            task.add_done_callback(leave)
        return pause

    def _take(self, tx: Tx, free: int, busy: Counter[deliveries.Party]) -> tuple[list[Delivery], float]:
        longest, paused = self._store.look_seconds, self._paused(tx.now())
        taken = deliveries.take_deliveries(tx, free, share=self._share, busy=busy, paused=paused)
        under_way = busy + Counter(deliveries.party_of(one.user_id, one.address) for one in taken)
        # What waits for its user's share begins when one of theirs ends, which rings.
        due = deliveries.next_attempt(tx, full=deliveries.full_parties(under_way, self._share), paused=paused)
        times = [*([due] if due else []), *(self._paused_until[name] for name in paused)]
        if not times or len(taken) == free:
            return taken, longest
        return taken, min(max((min(times) - tx.now()).total_seconds(), _SHORTEST_SECONDS), longest)

    def _paused(self, now: datetime) -> Collection[str]:
        """Name the accounts that were told to slow down and still wait."""
        self._paused_until = {name: until for name, until in self._paused_until.items() if until > now}
        return self._paused_until.keys()

    async def _leave(self, sending: "dict[asyncio.Task[None], deliveries.Party]") -> None:
        try:
            if sending:
                await asyncio.wait(sending, timeout=self._grace_seconds)
        finally:
            for task in sending:
                task.cancel()
            await asyncio.gather(*sending, return_exceptions=True)

    async def _carry_safely(self, delivery: Delivery) -> None:
        try:
            await self._carry(delivery)
        except Exception:  # the rim: nothing was written, so it is tried again under the same id
            log.exception("delivery_lost", delivery_id=delivery.id)

    async def _carry(self, delivery: Delivery) -> None:
        end = await self._attempt(delivery)
        state = await self._store.write(lambda tx: self._finish(tx, end))
        which, key, tried = delivery.id, delivery.session_key, delivery.attempts
        if end.needless is not None:
            log.info("delivery_skipped", delivery_id=which, session_key=key, channel=end.name, why=end.needless)
            return
        if end.failure is None:
            n = end.delivery.parts_sent
            log.info("delivery_sent", delivery_id=which, session_key=key, channel=end.name, attempt=tried, part=n)
            return
        why = end.failure.detail
        if state == "dead":
            log.warning("delivery_dead", delivery_id=which, session_key=key, channel=end.name, attempt=tried, error=why)
        else:
            log.info("delivery_failed", delivery_id=which, session_key=key, channel=end.name, attempt=tried, error=why)

    async def _attempt(self, delivery: Delivery) -> _End:
        channel = self._channels.get(channel_of(delivery.address))
        end = _End(delivery=delivery, channel=channel)
        try:
            opened = await self._open(delivery, channel)
            if isinstance(opened, Needless):
                return replace(end, needless=opened.why)
            end = _End(delivery=opened.delivery, channel=channel, part=opened.part, file=opened.file)
            return replace(end, receipt=await self._send(opened))
        except ChannelFailed as error:
            # A browser that gave its subscription up waits for nothing.
            gone = error.blocked and end.name == PUSH
            return replace(end, needless=GONE) if gone else replace(end, failure=error)

    async def _open(self, delivery: Delivery, channel: Channel | None) -> OpenedPart | Needless:
        """Read the part that is next; the first attempt cuts the text."""
        if delivery.attempts > self._settings.delivery_attempts:
            raise ChannelFailed("The last attempt broke off without an answer.", permanent=True, unsure=True)
        run = self._store.read if delivery.parts else self._store.write
        return await run(lambda tx: open_part(tx, delivery, channel, settings=self._settings))

    async def _send(self, opened: OpenedPart) -> Receipt:
        if opened.file is None:
            return await self._call(opened, self._ceiling_seconds)
        try:
            files = await file_store(self._instance)
        except (NoFiles, FilesAway) as error:
            raise ChannelFailed(str(error)) from error
        file = OutgoingFile(files=files, attached=opened.file)
        opened = replace(opened, part=replace(opened.part, file=file.part_file()))
        try:
            return await self._call(opened, self._ceiling_seconds + seconds_for(opened.file))
        except ChannelFailed as error:
            # What was wrong with the bytes counts, whatever the channel made of it.
            raise file.trouble or error from error

    async def _call(self, opened: OpenedPart, ceiling_seconds: float) -> Receipt:
        channel = opened.channel
        try:
            async with asyncio.timeout(ceiling_seconds):
                return await channel.send(opened.part)
        except (ChannelFailed, NotReady):
            # A channel looks things up: a database that is away then is nobody's failure, and is written nowhere.
            raise
        except TimeoutError as error:
            detail = f"There was no answer within {ceiling_seconds:.3g} seconds."
            raise ChannelFailed(detail, unsure=True) from error
        except Exception as error:  # a broken channel is a failure like any other, and never a success
            log.exception("delivery_broken", delivery_id=opened.delivery.id, channel=channel.name)
            detail = f"The channel {channel.name} broke ({type(error).__name__}); see the server's log."
            raise ChannelFailed(detail, unsure=True) from error

    def _finish(self, tx: Tx, end: _End) -> str:
        delivery, failure = end.delivery, end.failure
        session = sessions.get(tx, delivery.session_id)
        lane_id = lanes.enter(tx, session, unified=self._settings.unified_session)
        rev = sessions.touch(tx, session.id)
        device_id = delivery.address.partition(":")[2] if end.name == PUSH else None
        if end.needless is not None:
            deliveries.settle(tx, delivery, rev=rev, why=end.needless)
            if device_id is not None and end.needless == GONE:
                push.remove(tx, device_id)
                tx.ring(f"user:{delivery.user_id}")
            return "sent"
        if failure is None:
            if device_id is not None:
                push.touch(tx, device_id)
            receipt = end.receipt
            deliveries.finish_part(
                tx,
                delivery,
                rev=rev,
                receipt=receipt.detail if receipt else None,
                external_id=end.external_id,
                unsure=end.may_come_twice,
                buttons=end.part is not None and end.part.question is not None,
            )
            return "sent"
        if failure.blocked:
            contacts.mark_blocked(tx, delivery.address)
        again = tx.now() if end.file_refused else self._again(tx.now(), end, failure)
        changed = deliveries.fail_attempt(
            tx,
            delivery,
            rev=rev,
            error=failure.detail,
            next_attempt_at=again,
            counted=not (failure.limited or end.file_refused),
            doubt=failure.unsure,
            unsure=end.may_come_twice,
        )
        if changed and end.file_refused and end.file and end.channel:
            line = refused_there(end.file, failure.detail, end.channel.capabilities)
            parts.put_line(tx, delivery.id, delivery.parts_sent, line)
        if changed and again is None and session.deleted_at is None:
            alerts.note_dead(tx, delivery, rev=rev)
            _tell_agent(tx, session, lane_id, delivery)
        return "failed" if again else "dead"

    def _again(self, now: datetime, end: _End, failure: ChannelFailed) -> datetime | None:
        """Say when to try again; None when it is dead."""
        if failure.permanent:
            return None
        if failure.limited:
            until = now + timedelta(seconds=failure.retry_after or _LIMITED_SECONDS)
            self._paused_until[end.name] = max(until, self._paused_until.get(end.name, until))
            return until
        wait = max(failure.retry_after or 0, _UNSURE_SECONDS) if end.may_come_twice else failure.retry_after
        return retry_at(end.delivery.attempts, now, self._settings.delivery_attempts, wait)


def _tell_agent(tx: Tx, session: Session, lane_id: int, delivery: Delivery) -> None:
    """Lay a note into the lane: it wakes nobody, holds no word of the receiver's, and there is one an address."""
    count = deliveries.replace_note(tx, session.id, delivery.address) + 1
    what = "A message" if count == 1 else f"{count} messages"
    inbounds.take_in(
        tx,
        [
            inbounds.NewInbound(
                session_id=session.id,
                lane_id=lane_id,
                user_id=session.user_id,
                source="system",
                line="note",
                text=f"{what} could not be delivered to {delivery.address}. The user sees why, and can try again.",
                meta={"undelivered": delivery.address, "count": count, "delivery_id": delivery.id},
            )
        ],
        revised=True,
    )
