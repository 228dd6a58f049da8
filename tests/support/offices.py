"""A session whose messages a courier carries, with short ways to owe, look and wait."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa

from homing.channels import Channel
from homing.engine.courier import Courier
from homing.model.messages import Delivery, NewMessage
from homing.model.people import OWNER
from homing.model.sessions import Session
from homing.store import Store, Tx, deliveries, inbounds, sessions
from homing.store import tables as t
from support.worlds import World


@dataclass(frozen=True, kw_only=True)
class Office:
    """A session, its couriers, and short ways to owe and look."""

    world: World
    session: Session

    @classmethod
    def of(cls, world: World) -> "Office":
        session = world.write(lambda tx: sessions.add(tx, key="web:fruit", user_id=OWNER, agent_id="main"))
        assert session is not None
        return cls(world=world, session=session)

    def courier(self, *channels: Channel, store: Store | None = None, **options: float) -> Courier:
        by_name = {channel.name: channel for channel in channels}
        return Courier(store or self.world.store, self.world.instance, by_name, **options)  # type: ignore[arg-type]

    def owe(
        self, text: str, *addresses: str, own: bool = True, files: Sequence[Mapping[str, object]] = ()
    ) -> list[str]:
        """Write a message that is owed to addresses; return the deliveries' ids."""
        return self.world.write(lambda tx: owe(tx, self.session, text, addresses, own=own, files=files))

    def look(self, delivery_id: str) -> Delivery:
        delivery = self.world.write(lambda tx: deliveries.get(tx, delivery_id))
        assert delivery is not None
        return delivery

    def make_due(self) -> None:
        """Let the time come for every next attempt, without waiting for it."""
        if not self.world.postgres:
            self.world.clock.advance(timedelta(hours=1))
            return

        def move(tx: Tx) -> None:
            due = t.delivery.c.state == "pending"
            tx.run(sa.update(t.delivery).where(due).values(next_attempt_at=tx.now()))

        self.world.write(move)

    def notes(self) -> list[str]:
        waiting = self.world.write(lambda tx: inbounds.waiting(tx, self.session.id, 20))
        assert {(inbound.line, inbound.source) for inbound in waiting} <= {("note", "system")}
        return [inbound.text for inbound in waiting]

    def retry(self, delivery_id: str) -> bool:
        def again(tx: Tx) -> bool:
            sessions.lock(tx, [self.session.id])
            rev = sessions.touch(tx, self.session.id)
            return deliveries.retry(tx, delivery_id, rev=rev)

        return self.world.write(again)


def owe(
    tx: Tx,
    session: Session,
    text: str,
    addresses: Sequence[str],
    *,
    own: bool = True,
    files: Sequence[Mapping[str, object]] = (),
) -> list[str]:
    sessions.lock(tx, [session.id])
    if own:
        known = sessions.addresses(tx, [session.id])[session.id]
        sessions.set_addresses(tx, session.id, list(dict.fromkeys([*known, *addresses])))
    message = NewMessage(
        session_id=session.id, lane_id=session.id, role="assistant", kind="chat", text=text, files=files
    )
    [seq], _ = deliveries.post(tx, [message], only=addresses)
    return [delivery.id for delivery in deliveries.of_messages(tx, session.id, [seq])[seq]]


@asynccontextmanager
async def running(courier: Courier) -> AsyncIterator[None]:
    """Let a courier run until the end of the block, which may take ten seconds."""
    task = asyncio.create_task(courier.run())
    try:
        async with asyncio.timeout(10):
            yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def assert_waits(office: Office, delivery: Delivery, seconds: float) -> None:
    assert delivery.next_attempt_at is not None
    left = (delivery.next_attempt_at - office.world.now()).total_seconds()
    if office.world.postgres:
        assert seconds - 1 < left <= seconds
    else:
        assert left == seconds
