"""The courier carries what people are owed: first the attempt is written, then the call is made, then how it ended.

Killed in between, the same delivery is tried again under the same id. No call is made inside a transaction. A receiver
that hangs holds one slot and its own line; all that one user has by one channel hold at most a quarter of the slots.
"""

import asyncio
from collections import Counter

import structlog

from homing.channels import Channels, Letter, Receipt
from homing.model.errors import ChannelFailed, NotReady
from homing.model.messages import Delivery, retry_at
from homing.model.sessions import Session, channel_of
from homing.operations.context import Instance
from homing.store import Store, Tx, deliveries, inbounds, lanes, messages, people, sessions, turns
from homing.store.bell import Ear

log = structlog.get_logger(__name__)

_BELL = "deliveries"
_PAUSE_SECONDS = 2.0
# Below this a look at the clock costs more than it saves.
_SHORTEST_SECONDS = 0.05


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
        self._settings = instance.settings
        self._slots = slots
        self._share = max(1, slots // 4)
        self._ceiling_seconds = ceiling_seconds
        self._grace_seconds = grace_seconds

    async def step(self) -> bool:
        """Try what is due, once; wait for all of it. Say whether there was any."""
        taken = await self._store.write(lambda tx: deliveries.take_deliveries(tx, self._slots, share=self._share))
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
        longest = self._store.look_seconds
        taken = deliveries.take_deliveries(tx, free, share=self._share, busy=busy)
        under_way = busy + Counter(deliveries.party_of(one.user_id, one.address) for one in taken)
        # What waits for its user's share begins when one of theirs ends, which rings.
        due = deliveries.next_attempt(tx, full=deliveries.full_parties(under_way, self._share))
        if due is None or len(taken) == free:
            return taken, longest
        return taken, min(max((due - tx.now()).total_seconds(), _SHORTEST_SECONDS), longest)

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
        receipt, failure = None, None
        try:
            receipt = await self._send(delivery)
        except ChannelFailed as error:
            failure = error
        state = await self._store.write(lambda tx: self._finish(tx, delivery, receipt, failure))
        which, key, channel, tried = delivery.id, delivery.session_key, channel_of(delivery.address), delivery.attempts
        if failure is None:
            log.info("delivery_sent", delivery_id=which, session_key=key, channel=channel, attempt=tried)
            return
        why = failure.detail
        if state == "dead":
            log.warning("delivery_dead", delivery_id=which, session_key=key, channel=channel, attempt=tried, error=why)
        else:
            log.info("delivery_failed", delivery_id=which, session_key=key, channel=channel, attempt=tried, error=why)

    async def _send(self, delivery: Delivery) -> Receipt:
        if delivery.attempts > self._settings.delivery_attempts:
            raise ChannelFailed("The last attempt broke off without an answer.", permanent=True)
        letter = await self._store.read(lambda tx: _write_letter(tx, delivery))
        name = channel_of(delivery.address)
        channel = self._channels.get(name)
        if channel is None:
            hint = ": set HOMING_SMTP_URL" if name == "email" else ""
            raise ChannelFailed(f"The channel {name} is not set up on this server{hint}.")
        try:
            async with asyncio.timeout(self._ceiling_seconds):
                return await channel.send(letter)
        except (ChannelFailed, NotReady):
            # A channel looks things up: a database that is away then is nobody's failure, and is written nowhere.
            raise
        except TimeoutError as error:
            raise ChannelFailed(f"There was no answer within {self._ceiling_seconds:g} seconds.") from error
        except Exception as error:  # a broken channel is a failure like any other, and never a success
            log.exception("delivery_broken", delivery_id=delivery.id, channel=name)
            raise ChannelFailed(f"The channel {name} broke ({type(error).__name__}); see the server's log.") from error

    def _finish(self, tx: Tx, delivery: Delivery, receipt: Receipt | None, failure: ChannelFailed | None) -> str:
        session = sessions.get(tx, delivery.session_id)
        lane_id = lanes.enter(tx, session, unified=self._settings.unified_session)
        rev = sessions.touch(tx, session.id)
        if failure is None:
            deliveries.finish_delivery(tx, delivery, rev=rev, sent=True, receipt=receipt.detail if receipt else None)
            return "sent"
        most = self._settings.delivery_attempts
        again = None if failure.permanent else retry_at(delivery.attempts, tx.now(), most, failure.retry_after)
        changed = deliveries.finish_delivery(
            tx, delivery, rev=rev, sent=False, error=failure.detail, next_attempt_at=again
        )
        if changed and again is None and session.deleted_at is None:
            _tell_agent(tx, session, lane_id, delivery)
        return "failed" if again else "dead"


def _write_letter(tx: Tx, delivery: Delivery) -> Letter:
    session = sessions.get(tx, delivery.session_id)
    if session.deleted_at is not None:
        raise ChannelFailed("The session was deleted before this was sent.", permanent=True)
    message = messages.get(tx, delivery.session_id, delivery.seq)
    if message is None:
        raise ChannelFailed("The message is gone.", permanent=True)
    own_words = message.kind == "note" and message.turn_id is None and message.run_id is None
    if not _may_send(tx, session, delivery.address, own_words=own_words):
        raise ChannelFailed(
            f"This session may not send to {delivery.address}: it is neither one of its addresses nor granted.",
            permanent=True,
        )
    return Letter(
        delivery_id=delivery.id,
        address=delivery.address,
        session_key=delivery.session_key,
        text=message.text,
        message=message,
        job_id=message.job_id,
        depth=turns.depth_behind(tx, turn_id=message.turn_id, run_id=message.run_id) + 1,
        created_at=message.created_at,
    )


def _may_send(tx: Tx, session: Session, address: str, *, own_words: bool) -> bool:
    """Rule 33: a session writes to its own addresses, or to one granted to its agent.

    Words of Homing itself, such as a test, also go to a webhook of the session's user: it is tried before it is added.
    """
    if address in sessions.addresses(tx, [session.id])[session.id]:
        return True
    channel, _, place = address.partition(":")
    if own_words and channel == "webhook":
        webhook = people.get_webhook(tx, place)
        return webhook is not None and webhook.user_id == session.user_id
    return people.granted(tx, user_id=session.user_id, agent_id=session.agent_id, address=address)


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
