"""A channel that people talk through, the receiver that hears it, and short ways to link, say and look."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from homing.engine.courier import Courier
from homing.engine.receiver import Receiver
from homing.model.people import Caller
from homing.operations.contacts import link_channel, list_contacts
from homing.operations.shapes.base import Nothing
from homing.operations.shapes.contact_asks import ContactShape, LinkChannel
from homing.store import Store, Tx, listeners
from homing.store import tables as t
from homing.store.listeners import Listener
from homing.testing import ListeningChannel
from support.worlds import OWNER_CALLER, World

PATIENCE = 40.0


@dataclass(kw_only=True)
class Place:
    """A world with one listening channel, `chat`."""

    world: World
    channel: ListeningChannel
    receiver: Receiver
    extra: list[Receiver] = field(default_factory=list[Receiver])

    def another(self, store: Store | None = None, worker_id: str = "worker_b") -> Receiver:
        """A receiver of another worker on the same channel."""
        made = make_receiver(store or self.world.store, self.world, self.channel, worker_id)
        self.extra.append(made)
        return made

    async def hear(self) -> None:
        """Let the receiver take everything that was said."""
        async with asyncio.timeout(PATIENCE):
            while self.channel.confirmed < len(self.channel.said):
                await self.receiver.step()
                await asyncio.sleep(0.002)

    async def say(self, text: str, **more: Any) -> None:
        self.channel.say(text, at=self.world.clock.now(), **more)
        await self.hear()

    async def deliver(self) -> None:
        """Let the courier carry what is owed."""
        courier = Courier(self.world.store, self.world.instance, {self.channel.name: self.channel})
        async with asyncio.timeout(PATIENCE):
            while await courier.step():
                pass

    def make_code(self, *, caller: Caller = OWNER_CALLER, **ask: Any) -> str:
        """Make a code, as on the page."""
        ask_for = LinkChannel(name=self.channel.name, **ask)
        return self.world.ask(link_channel, ask_for, caller=replace(caller, approve=True)).code

    async def link(self, *, sender: str = "7", caller: Caller = OWNER_CALLER, **ask: Any) -> ContactShape:
        """Link a person, as the page and the chat do it together."""
        await self.say(f"link {self.make_code(caller=caller, **ask)}", sender=sender)
        return self.contacts(caller=caller)[-1]

    def contacts(self, *, caller: Caller = OWNER_CALLER) -> list[ContactShape]:
        return self.world.ask(list_contacts, Nothing(), caller=caller).items

    def listener(self) -> Listener:
        found = self.world.write(lambda tx: listeners.get(tx, self.channel.name))
        assert found is not None
        return found

    def rows(self, table: Any) -> list[Any]:
        def read(tx: Tx) -> list[Any]:
            return tx.rows(table.select().order_by(table.c.n))

        return self.world.write(read)

    def inbounds(self) -> list[str]:
        """Read what came into lanes, in order."""
        return [row.text for row in self.rows(t.inbound)]

    def notes(self) -> list[str]:
        """Read what Homing itself said."""
        return [row.text for row in self.rows(t.message) if row.kind == "note" and row.role == "assistant"]


async def until(condition: Callable[[], object]) -> None:
    """Let the tasks of this loop go on until something is so."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.005)


def make_receiver(store: Store, world: World, channel: ListeningChannel, worker_id: str = "worker_a") -> Receiver:
    return Receiver(store, world.instance, {channel.name: channel}, worker_id)
