"""A webhook to loopback means the loopback of the machine on which it was added, and of no other (ADR 0024)."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from homing.agent.models import Models
from homing.engine.courier import Courier
from homing.operations import deliveries as desk_of_deliveries
from homing.operations.deliveries import list_deliveries
from homing.operations.sessions import add_session, update_session
from homing.operations.shapes import session_asks
from homing.operations.shapes.base import read
from homing.operations.shapes.people_asks import AddWebhook
from homing.operations.shapes.session_asks import AddSession, ListDeliveries, UpdateSession
from homing.operations.webhooks import add_webhook
from homing.store import tables as t
from homing.testing import WebhookReceiver
from homing.wiring import Homing, make_channels
from support.worlds import World

KEY = "web:abc"


def courier(world: World, *, apart: bool = False) -> Courier:
    """Make the courier of an engine that runs in this world's home; `apart` as `homing work` does."""
    homing = Homing(
        settings=world.settings, clock=world.clock, store=world.store, instance=world.instance, models=Models()
    )  # fmt: skip
    return Courier(world.store, world.instance, make_channels(homing, apart=apart))


def owe(world: World, url: str) -> None:
    """Add a webhook and a message for it."""
    world.ask(add_session, AddSession(key=KEY))
    address = world.ask(add_webhook, AddWebhook(url=url)).address
    world.ask(update_session, read(UpdateSession, {"session_key": KEY, "addresses": [KEY, address]}))
    world.ask(desk_of_deliveries.test_address, session_asks.TestAddress(session_key=KEY, address=address))


def tried(world: World) -> tuple[str, str | None]:
    [delivery] = world.ask(list_deliveries, ListDeliveries()).items
    return delivery.state, delivery.error


@pytest.fixture
def homes(world: World, tmp_path: Path) -> tuple[World, World]:
    """Two homes over one database, as on two machines."""
    made: list[World] = []
    for name in ("door", "elsewhere"):
        (tmp_path / name).mkdir()
        made.append(world.with_settings(home=tmp_path / name))
    return made[0], made[1]


async def test_an_engine_of_the_same_home_sends_there(homes: tuple[World, World]) -> None:
    door, _ = homes
    with WebhookReceiver() as receiver:
        owe(door, receiver.url)
        await courier(door).step()
        assert (tried(door), len(receiver.requests)) == (("sent", None), 1)


async def test_an_engine_of_another_home_does_not_and_says_what_helps(homes: tuple[World, World]) -> None:
    door, elsewhere = homes
    with WebhookReceiver() as receiver:
        owe(door, receiver.url)
        await courier(elsewhere).step()
        state, error = tried(door)
        assert len(receiver.requests) == 0
    # Not for good: an engine of the right place may take the next attempt.
    assert state == "pending"
    assert error is not None
    assert "Run `homing work` there" in error


@pytest.mark.parametrize("apart", [False, True])
async def test_one_from_before_goes_on_beside_its_doors_only(homes: tuple[World, World], *, apart: bool) -> None:
    door, _ = homes
    with WebhookReceiver() as receiver:
        owe(door, receiver.url)
        door.write(lambda tx: tx.run(sa.update(t.webhook).values(local_to=None)))
        await courier(door, apart=apart).step()
        assert len(receiver.requests) == (0 if apart else 1)


def test_the_name_of_a_place_is_kept_private_and_stays(homes: tuple[World, World]) -> None:
    door, elsewhere = homes
    for world in (door, door, elsewhere):
        world.ask(add_webhook, AddWebhook(url="http://localhost:9/"))
    world = door
    world.ask(add_webhook, AddWebhook(url="https://example.com/in"))
    kept = [local for (local,) in door.write(lambda tx: tx.rows(sa.select(t.webhook.c.local_to)))]
    assert kept[0] == kept[1] != kept[2]
    assert kept[3] is None
    assert [path.name for path in door.settings.home.iterdir()] == ["place"]
    assert (door.settings.home / "place").stat().st_mode & 0o777 == 0o600
