"""The receiver hears what people say in channels: rows and cursor are committed, and only then is the platform told.

One worker in the cluster listens to a channel account, under a claim; what it takes is written under its fence. Killed
before the commit, the platform gives it again; killed after it, the message's id refuses the second (rule 52).
"""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

import structlog

from homing.channels import IncomingMessage, listens
from homing.engine.incoming_files import IncomingFiles
from homing.model.errors import ChannelFailed, Lost, NotReady
from homing.model.incoming import Incoming, link_code_in
from homing.operations.context import Instance
from homing.operations.incoming import NONE, Heard, LeftOut, count_unstored, may_talk, take_incoming
from homing.operations.kept_channels import with_kept
from homing.store import Store, Tx, contacts, listeners
from homing.store.bell import Ear

log = structlog.get_logger(__name__)

CLAIM_SECONDS = 60.0
_RENEWALS = 3
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0
# Below this a look at the clock costs more than it saves.
_SHORTEST_SECONDS = 0.05
_CHECK_SECONDS = 10.0
_MOST_AT_ONCE = 50
_LONGEST_ERROR = 500


@dataclass(kw_only=True, eq=False)
class _Claim:
    """A channel that this worker may listen to."""

    fence: int
    cursor: str | None
    cutoff: float
    """This worker's own, monotonic end of its right, counted from before the claim was sent."""
    renew_at: float
    task: "asyncio.Task[None] | None" = None
    begun_at: float = 0.0
    again_at: float = 0.0
    failures: int = 0
    failing: bool = False


@dataclass(kw_only=True, eq=False)
class _Intake:
    """Where one listener hands over what it heard."""

    receiver: "Receiver"
    channel: str
    claim: _Claim

    @property
    def cursor(self) -> str | None:
        return self.claim.cursor

    async def knows(self, address: str, sender: str) -> bool:
        return await self.receiver.knows(self.channel, address, sender)

    async def awaits_link(self) -> bool:
        return await self.receiver.awaits_link(self.channel)

    async def take(
        self, messages: Sequence[IncomingMessage], cursor: str | None, *, unread: int = 0, strangers: int = 0
    ) -> None:
        left_out = LeftOut(unread=unread, strangers=strangers)
        await self.receiver.take(self.channel, self.claim, messages, cursor, left_out)


class ListeningChannel(Protocol):
    """What the receiver asks of a channel."""

    async def check(self) -> str: ...

    async def listen(self, intake: _Intake) -> None: ...


class Receiver:
    """Listens to those channels of this process that no other worker listens to.

    `channels` may change while it runs: a replaced channel is listened to again, a removed one no longer.
    """

    def __init__(
        self,
        store: Store,
        instance: Instance,
        channels: Mapping[str, ListeningChannel],
        worker_id: str,
        *,
        claim_seconds: float = CLAIM_SECONDS,
    ) -> None:
        self._store = store
        self._given = channels
        self._channels: dict[str, ListeningChannel] = {}
        """Those that were given at the last look."""
        self._send_only: dict[str, ListeningChannel] = {}
        """Channels that turned out not to listen."""
        self._worker_id = worker_id
        self._files = IncomingFiles(store=store, instance=instance)
        self._unified = instance.settings.unified_session
        self._settings = instance.settings
        self._claim_seconds = claim_seconds
        self._claims: dict[str, _Claim] = {}
        self._looks: dict[str, float] = {}
        """When to look again at a channel that another worker listens to."""

    async def step(self) -> bool:
        """Claim what is free, renew what is held, begin to listen where it is time. Say whether anything began."""
        if self._store.outdated is not None:
            await self.leave()
            return False
        await self._follow()
        return any([await self._attend(name) for name in list(self._channels)])

    async def run(self) -> None:
        """Listen until cancelled; then hand the claims back."""
        ear = self._store.bell.listen(listeners.LISTENERS_BELL)
        try:
            while True:
                await self.step()
                for claim in self._claims.values():
                    _call_when_done(claim, ear)
                await ear.wait(self._pause())
        finally:
            ear.close()
            await asyncio.shield(self.leave())

    async def leave(self) -> None:
        """Stop listening and hand the claims back: another worker goes on at once."""
        for name in list(self._claims):
            await self._leave(name)

    async def _leave(self, name: str) -> None:
        claim = self._claims.pop(name)
        await _stop(claim)
        try:
            await self._store.write(lambda tx: listeners.release(tx, name, claim.fence))
        except NotReady:
            log.warning("listener_not_released", channel=name)

    async def _follow(self) -> None:
        """Take up what was added, replaced or removed since the last look."""
        given = {
            name: one for name, one in self._given.items() if listens(one) and self._send_only.get(name) is not one
        }
        for name, one in self._channels.items():
            if given.get(name) is not one and name in self._claims:
                # Handed back first: what the old one still says is under a fence that no longer counts.
                await self._leave(name)
        self._channels = given
        self._looks = {name: at for name, at in self._looks.items() if name in given}

    async def knows(self, channel: str, address: str, sender: str) -> bool:
        """Say whether this person may talk there in a direct chat."""

        def look(tx: Tx) -> bool:
            mail = channel in with_kept(tx, self._settings).mail_names
            return may_talk(tx, channel, address, sender, mail=mail)

        return await self._store.read(look)

    async def awaits_link(self, channel: str) -> bool:
        """Say whether somebody has a code for this channel that nobody has used yet."""
        return await self._store.read(lambda tx: contacts.awaits_link(tx, channel))

    async def take(
        self,
        channel: str,
        claim: _Claim,
        messages: Sequence[IncomingMessage],
        cursor: str | None,
        left_out: LeftOut = NONE,
    ) -> None:
        """Store what was heard, the cursor and the counts of what was left out with the last of it. An empty poll
        writes nothing.
        """
        if self._store.clock.monotonic() >= claim.cutoff:
            raise Lost(f"The claim to {channel} ran out.")
        if messages or cursor != claim.cursor or left_out != NONE:
            await self._take_all(channel, claim, messages, cursor, left_out)
        elif claim.failing:
            await self._report(channel, claim, None)
        claim.failing, claim.failures = False, 0

    async def _take_all(
        self, channel: str, claim: _Claim, messages: Sequence[IncomingMessage], cursor: str | None, left_out: LeftOut
    ) -> None:
        names = await self._store.read(lambda tx: with_kept(tx, self._settings).mail_names)
        mail = channel in names
        given = [(_incoming(channel, message, mail=mail), message) for message in messages]
        files_of = {one.taken_id: message.files for one, message in given if not message.edited}
        *firsts, last = _batches([one for one, _ in given])

        async def with_files(batch: Sequence[Incoming]) -> list[Incoming]:
            # Only now: whether somebody's files are kept may depend on what was taken just before.
            return [await self._files.keep(channel, one, files_of.get(one.taken_id, ())) for one in batch]

        for batch in firsts:
            await self._take_batch(channel, claim, await with_files(batch), claim.cursor)
        await self._take_batch(channel, claim, await with_files(last), cursor, left_out)
        claim.cursor = cursor

    async def _take_batch(
        self, channel: str, claim: _Claim, batch: Sequence[Incoming], cursor: str | None, left_out: LeftOut = NONE
    ) -> None:
        def work(tx: Tx) -> Heard:
            return take_incoming(
                tx, channel, claim.fence, batch, cursor=cursor, unified=self._unified, left_out=left_out
            )

        try:
            heard = await self._store.write(work)
        except (Lost, NotReady):
            raise
        except Exception:  # the rim: a message that cannot be stored must not keep the others from being heard
            if len(batch) > 1:
                # The cursor moves with the last of them.
                for message in batch[:-1]:
                    await self._take_batch(channel, claim, [message], claim.cursor)
                await self._take_batch(channel, claim, batch[-1:], cursor, left_out)
                return
            log.exception("message_unstored", channel=channel)
            unstored = replace(left_out, unread=left_out.unread + len(batch))
            await self._store.write(lambda tx: count_unstored(tx, channel, claim.fence, unstored, cursor=cursor))
            return
        if batch:
            log.info("messages_heard", channel=channel, taken=heard.taken, strangers=heard.strangers)

    async def _attend(self, name: str) -> bool:
        try:
            claim = await self._hold(name)
            if claim is None or claim.task is not None or self._now < claim.again_at:
                return False
            claim.begun_at = self._now
            claim.task = asyncio.create_task(self._listen(name, claim), name=f"listener {name}")
        except NotReady:
            log.warning("listener_waits", channel=name)
            return False
        else:
            return True

    async def _hold(self, name: str) -> _Claim | None:
        """Give the claim to a channel, taken or renewed; None when another worker has it."""
        claim = self._claims.get(name)
        if claim is None:
            return await self._claim(name)
        if self._now >= claim.cutoff:
            await self._lose(name, claim)
            return await self._claim(name)
        if self._now < claim.renew_at:
            return claim
        asked_at = self._now
        if not await self._store.write(lambda tx: listeners.renew(tx, name, claim.fence, self._claim_seconds)):
            await self._lose(name, claim)
            return None
        self._prolong(claim, asked_at)
        if claim.failing and claim.task is not None and asked_at - claim.begun_at >= self._renewal:
            # It has listened since, and nobody has said anything yet.
            await self._report(name, claim, None)
        return claim

    async def _claim(self, name: str) -> _Claim | None:
        asked_at = self._now

        def look(tx: Tx) -> float:
            known = listeners.get(tx, name)
            return 0.0 if known is None or known.claimed_until is None else seconds_until(tx, known.claimed_until)

        taken_for = await self._store.read(look)
        found = None
        if taken_for <= 0:
            found = await self._store.write(lambda tx: listeners.claim(tx, name, self._worker_id, self._claim_seconds))
        if found is None:
            self._looks[name] = asked_at + max(taken_for, _SHORTEST_SECONDS)
            return None
        self._looks.pop(name, None)
        claim = _Claim(
            fence=found.fence, cursor=found.cursor, cutoff=0.0, renew_at=0.0, failing=found.error is not None
        )
        self._prolong(claim, asked_at)
        self._claims[name] = claim
        log.info("listener_claimed", channel=name, fence=claim.fence)
        return claim

    async def _listen(self, name: str, claim: _Claim) -> None:
        channel = self._channels[name]
        try:
            await self._introduce(name, claim, channel)
            await channel.listen(_Intake(receiver=self, channel=name, claim=claim))
        except Lost:
            claim.cutoff = 0.0
        except NotReady:
            self._back_off(claim, None)
        except ChannelFailed as error:
            await self._failed(name, claim, error.detail, error.retry_after)
        except Exception as error:  # the rim: a broken channel is tried again, and the others are heard meanwhile
            log.exception("listener_broken", channel=name)
            said = f"The channel {name} broke ({type(error).__name__}); see the server's log."
            await self._failed(name, claim, said, None)
        else:
            self._send_only[name] = channel
            self._claims.pop(name, None)
            await self._store.write(lambda tx: listeners.release(tx, name, claim.fence))
        finally:
            claim.task = None

    async def _introduce(self, name: str, claim: _Claim, channel: ListeningChannel) -> None:
        try:
            async with asyncio.timeout(_CHECK_SECONDS):
                account = await channel.check()
        except TimeoutError as error:
            raise ChannelFailed(f"There was no answer within {_CHECK_SECONDS:g} seconds.") from error
        link_url = getattr(channel, "link_url", None)
        await self._store.write(
            lambda tx: listeners.introduce(tx, name, claim.fence, account=account, link_url=link_url)
        )

    async def _failed(self, name: str, claim: _Claim, error: str, retry_after: float | None) -> None:
        log.warning("listener_failed", channel=name, error=error)
        self._back_off(claim, retry_after)
        try:
            await self._report(name, claim, error[:_LONGEST_ERROR])
        except NotReady:
            log.warning("listener_waits", channel=name)

    def _back_off(self, claim: _Claim, retry_after: float | None) -> None:
        pause = min(_FIRST_PAUSE_SECONDS * 2.0**claim.failures, _LONGEST_PAUSE_SECONDS)
        claim.failures = min(claim.failures + 1, 10)
        claim.again_at = self._now + max(pause, retry_after or 0.0)

    async def _report(self, name: str, claim: _Claim, error: str | None) -> None:
        await self._store.write(lambda tx: listeners.fail(tx, name, claim.fence, error))
        claim.failing = error is not None

    async def _lose(self, name: str, claim: _Claim) -> None:
        log.warning("listener_lost", channel=name, fence=claim.fence)
        self._claims.pop(name, None)
        await _stop(claim)

    @property
    def _now(self) -> float:
        return self._store.clock.monotonic()

    @property
    def _renewal(self) -> float:
        return self._claim_seconds / _RENEWALS

    def _prolong(self, claim: _Claim, asked_at: float) -> None:
        claim.cutoff, claim.renew_at = asked_at + self._claim_seconds, asked_at + self._renewal

    def _pause(self) -> float:
        """Say how long there is nothing to do but to listen."""
        now = self._now
        times = [*self._looks.values(), *(claim.renew_at for claim in self._claims.values())]
        times += [claim.again_at for claim in self._claims.values() if claim.task is None]
        return min([self._store.look_seconds, *(max(at - now, _SHORTEST_SECONDS) for at in times)])


def seconds_until(tx: Tx, instant: datetime) -> float:
    return (instant - tx.now()).total_seconds()


def _incoming(channel: str, message: IncomingMessage, *, mail: bool) -> Incoming:
    taken_id = f"{channel}:{message.external_id}"
    # An edit is another thing that was said; the same edit, given again, is not. Platforms give whole seconds, in which
    # somebody may edit twice.
    words = hashlib.sha256(message.text.encode(errors="surrogatepass")).hexdigest()[:8]
    edited = f"{taken_id}:edit:{int(message.at.timestamp() * 1000)}:{words}"
    return Incoming(
        taken_id=edited if message.edited else taken_id,
        edits=taken_id if message.edited else None,
        address=message.address,
        sender=message.sender,
        sender_name=message.sender_name,
        direct=message.direct,
        addressed=message.addressed,
        text=message.text,
        answer=message.answer,
        mail=mail,
        replies_to=message.replies_to,
    )


def _batches(messages: Sequence[Incoming]) -> list[Sequence[Incoming]]:
    """Cut what was heard into transactions: after a link code, because what follows may be allowed by it, and before an
    edit of what was heard with it, because an edit belongs to what was taken.
    """
    batches: list[list[Incoming]] = [[]]
    for message in messages:
        if len(batches[-1]) >= _MOST_AT_ONCE or message.edits in {one.taken_id for one in batches[-1]}:
            batches.append([])
        batches[-1].append(message)
        if link_code_in(message.text) is not None:
            batches.append([])
    return [batch for batch in batches if batch] or [[]]


def _call_when_done(claim: _Claim, ear: Ear) -> None:
    if claim.task is not None:
        claim.task.add_done_callback(lambda _: ear.hear([listeners.LISTENERS_BELL]))


async def _stop(claim: _Claim) -> None:
    if claim.task is not None:
        claim.task.cancel()
        await asyncio.gather(claim.task, return_exceptions=True)
