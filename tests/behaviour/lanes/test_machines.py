"""An engine goes on: a machine that breaks, by whatever bug, says so and begins again."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from homing.engine.scheduler import Scheduler
from homing.model.clock import SystemClock
from homing.settings import load
from homing.wiring import Homing, make_channels, make_engine, prepare, running, wire
from support.ledger import CHAT, Ledger
from support.rooms import Room


class Unhurried(SystemClock):
    """A clock whose cut-offs never come: however slowly a machine renews, its own watch takes no turn from it."""

    def monotonic(self) -> float:
        return 0.0


class Stumbling(Scheduler):
    """A scheduler with a bug that shows once."""

    def __init__(self, homing: Homing) -> None:
        super().__init__(homing.store, homing.instance, homing.clock)
        self.again = asyncio.Event()
        self.starts = 0

    async def run(self) -> None:
        self.starts += 1
        if self.starts == 1:
            raise ZeroDivisionError("a bug")
        self.again.set()
        await asyncio.Event().wait()


def open_homing(folder: Path) -> Homing:
    homing = wire(load({"HOMING_HOME": str(folder), "HOMING_MODEL": "offline", "HOMING_TIMEZONE": "UTC"}))
    prepare(homing)
    return homing


async def test_a_machine_that_breaks_begins_again(tmp_path: Path) -> None:
    homing = open_homing(tmp_path)
    stumbling = Stumbling(homing)
    async with running(homing, replace(make_engine(homing), scheduler=stumbling)), asyncio.timeout(20):
        await stumbling.again.wait()
    await homing.store.close()
    assert stumbling.starts == 2


async def test_channels_are_wired_once_at_the_start_and_only_those_that_are_set_up(tmp_path: Path) -> None:
    plain = open_homing(tmp_path)
    assert set(make_channels(plain)) == {"webhook", "push"}
    with_mail = replace(plain, settings=replace(plain.settings, smtp_url="smtp://127.0.0.1:25?from=a@b.example"))
    made = make_channels(with_mail)
    names = {"webhook": "webhook", "push": "push", "email": "email"}
    assert {name: channel.name for name, channel in made.items()} == names
    await plain.store.close()


async def test_a_renewal_that_breaks_loses_no_turn(room: Room) -> None:
    """Whatever the database says to one renewal, the next one is made."""
    broken: list[str] = []

    def stumble(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if re.match("UPDATE turn SET claimed_until", statement) and not broken:
            broken.append(statement)
            raise ZeroDivisionError("a bug")

    room = Room(room.store, claim_seconds=3)
    room.clock = Unhurried()
    room.model.reply("slowly", hold="answer")
    event.listen(room.store.engine, "before_cursor_execute", stumble)
    room.ledger.say("hello")
    async with room.running():
        room.ring()
        await room.until(lambda: broken, "a renewal breaks")
        first = _claimed_until(room.ledger)
        await room.until(lambda: _claimed_until(room.ledger) > first, "a later renewal is made")
        room.model.release("answer")
        await room.until_closed(1)
    assert (room.ledger.turn().fence, room.ledger.texts(CHAT)) == (1, ["hello", "slowly"])


def _claimed_until(ledger: Ledger) -> int:
    return ledger.write(lambda tx: tx.rows(sa.text("select coalesce(max(claimed_until), 0) from turn"))[0][0])
