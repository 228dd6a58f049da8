"""What channels show beside messages: that an answer is being written, and that a card was answered.

Best effort, and never owed (rule 51): nothing waits for a sign, nothing is tried again, and what fails is only logged.
Typing is shown by the worker that has the turn, and stops with it; the buttons of a card are taken away once.
"""

import asyncio
from collections.abc import Coroutine

import structlog

from homing.channels import Channels, shows
from homing.model.approvals import Question
from homing.model.errors import NotReady
from homing.model.sessions import channel_of
from homing.operations.approvals import name_of, settled_text
from homing.operations.reach import may_use
from homing.store import Store, Tx, approvals, parts, questions, turns
from homing.store.parts import OpenButtons

log = structlog.get_logger(__name__)

# Platforms take the sign away by themselves after five seconds or more.
_AGAIN_SECONDS = 4.0
# Between two looks: many things ring, and a sign may be late.
_PAUSE_SECONDS = 0.5
_CALL_SECONDS = 10.0
# After a failure an address gets no sign for so long.
_LEFT_ALONE_SECONDS = 60.0
_MOST_EDITS = 20


class Signs:
    """Shows typing and edits cards, for the channels of this process."""

    def __init__(self, store: Store, channels: Channels, worker_id: str) -> None:
        """`channels` may change while it runs, and some of them may show nothing."""
        self._store = store
        self._given = channels
        self._worker_id = worker_id
        self._calls: dict[str, asyncio.Task[None]] = {}
        self._again_at: dict[str, float] = {}

    async def step(self) -> bool:
        """Take away buttons that are of no use any more, and show typing where it is time. Say whether anybody waits
        for an answer.
        """
        if not self._channels:
            return False
        # It looks often and seldom finds anything: only then it asks for a write.
        useless = await self._store.read(lambda tx: parts.has_useless_buttons(tx, self._channels))
        for gone, text in await self._store.write(self._take) if useless else ():
            external_id = gone.external_id.partition(":")[2]
            if (channel := self._channels.get(channel_of(gone.address))) is not None:
                self._call(gone.external_id, channel.edit(gone.address, external_id, text))
        waiting = await self._store.read(self._answering)
        now = self._store.clock.monotonic()
        for address in waiting:
            channel = self._channels.get(channel_of(address))
            if channel is not None and self._again_at.get(address, 0.0) <= now and address not in self._calls:
                self._again_at[address] = now + _AGAIN_SECONDS
                self._call(address, channel.show(address, "typing"))
        self._again_at = {
            address: at for address, at in self._again_at.items() if address in waiting or at > now + _AGAIN_SECONDS
        }
        return bool(waiting)

    async def run(self) -> None:
        """Show signs until cancelled."""
        # A turn that opens rings its user, and an answered card rings `cards`.
        ear = self._store.bell.listen("cards", "user:")
        try:
            while True:
                busy = False
                try:
                    busy = self._store.outdated is None and await self.step()
                except NotReady as error:
                    log.warning("signs_wait", reason=str(error))
                await asyncio.sleep(_PAUSE_SECONDS)
                await ear.wait(_PAUSE_SECONDS if busy else self._store.look_seconds)
        finally:
            ear.close()
            for call in self._calls.values():
                call.cancel()
            await asyncio.gather(*self._calls.values(), return_exceptions=True)

    async def settle(self) -> None:
        """Wait for the calls that are under way."""
        await asyncio.gather(*self._calls.values(), return_exceptions=True)

    @property
    def _channels(self) -> Channels:
        return {name: one for name, one in self._given.items() if shows(one)}

    def _take(self, tx: Tx) -> list[tuple[OpenButtons, str]]:
        return [(gone, _settled(tx, gone)) for gone in parts.take_useless_buttons(tx, self._channels, _MOST_EDITS)]

    def _answering(self, tx: Tx) -> list[str]:
        waiting = dict.fromkeys(
            (user_id, address)
            for user_id, address in turns.answering(tx, self._worker_id)
            if channel_of(address) in self._channels
        )
        return [address for user_id, address in waiting if may_use(tx, user_id, address)]

    def _call(self, name: str, call: Coroutine[object, object, None]) -> None:
        async def safely() -> None:
            try:
                async with asyncio.timeout(_CALL_SECONDS):
                    await call
            except Exception as error:  # noqa: BLE001 - the rim: a sign is not worth more than a line
                log.info("sign_failed", address=name, error=str(error) or type(error).__name__)
                self._again_at[name] = self._store.clock.monotonic() + _LEFT_ALONE_SECONDS

        task = self._calls[name] = asyncio.create_task(safely(), name=f"sign {name}")
        task.add_done_callback(lambda _: self._calls.pop(name, None))


def _settled(tx: Tx, gone: OpenButtons) -> str:
    """Say what became of what a card asked."""
    if gone.approval_id is not None:
        approval = approvals.get(tx, gone.approval_id)
        return settled_text(tx, approval) if approval is not None else "This request is over."
    question = questions.get(tx, gone.question_id or "")
    return _answered(tx, question) if question is not None else "This question is over."


def _answered(tx: Tx, question: Question) -> str:
    if question.answer is None:
        return f"{question.title}\nNobody answered in time."
    by = question.answered_by or ""
    # Somebody who is not a user is known by a place, which is nobody's business here.
    who = "a guest" if ":" in by else name_of(tx, by)
    return f"{question.title}\nAnswer: {question.answer} ({who})"
