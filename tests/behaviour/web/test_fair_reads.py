"""Long reads of one user do not keep others waiting, nor the look at who is asking."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable

import pytest

from homing.store import Tx
from support.asking import add, session
from support.site import Site
from support.worlds import STRANGER

WITHIN = 20.0


@pytest.fixture
async def gate() -> AsyncIterator[threading.Event]:
    gate = threading.Event()
    yield gate
    gate.set()


def until(gate: threading.Event) -> Callable[[Tx], bool]:
    return lambda _: gate.wait(WITHIN * 3)


async def have_begun() -> None:
    """Let tasks that were made stand in line before whatever comes next."""
    await asyncio.sleep(0)


async def test_six_long_reads_of_one_user_leave_readers_for_others(site: Site, gate: threading.Event) -> None:
    add(site.world)
    store = site.world.store
    reads = [asyncio.create_task(store.read_for(STRANGER.user_id, until(gate))) for _ in range(6)]
    await have_begun()
    async with asyncio.timeout(WITHIN):
        assert (await site.owner.get("/api/jobs")).status_code == 200
        assert (await site.owner.get("/api/upcoming")).status_code == 200
        said = await site.owner.post("/api/sessions/web:abc/messages", json={"text": "hello"})
    assert said.status_code == 202
    assert not any(read.done() for read in reads)
    gate.set()
    assert await asyncio.gather(*reads) == [True] * 6


async def test_who_is_asking_is_found_out_while_every_reader_is_taken(site: Site, gate: threading.Event) -> None:
    session(site.world)
    reads = [asyncio.create_task(site.world.store.read(until(gate))) for _ in range(20)]
    await have_begun()
    async with asyncio.timeout(WITHIN):
        assert (await site.client("hom_wrong").get("/api/me")).status_code == 401
    gate.set()
    await asyncio.gather(*reads)


async def test_what_is_computed_after_a_read_holds_no_reader(site: Site, gate: threading.Event) -> None:
    store = site.world.store
    computed = [
        asyncio.create_task(store.read_for(f"user{n}", lambda _: None, lambda _: gate.wait(WITHIN * 3)))
        for n in range(20)
    ]
    await have_begun()
    async with asyncio.timeout(WITHIN):
        assert (await site.owner.get("/api/jobs")).status_code == 200
    gate.set()
    assert await asyncio.gather(*computed) == [True] * 20
