"""A worker dies at any write of a turn with a workspace tool: what may be repeated is, and what may not is not.

Each of these would fail if its tool had the other mark.
"""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from homing.agent.tool_calls import UNKNOWN_OUTCOME
from homing.engine.lane import work_lane
from homing.model.agents import MAIN
from homing.sandbox.files import Workspace
from homing.sandbox.share import make_share_id, open_share
from homing.sandbox.trial import try_sandbox
from homing.store import Store, Tx, agents
from homing.testing import tool_call
from homing.testing.scripted import wire_messages
from homing.tools.workspace import WorkspaceTools
from support.hands import StillHands
from support.mortal import MortalStore
from support.rooms import Room, room_store
from support.sandboxes import need_bubblewrap

__all__ = ["room_store"]

Place = Literal["before", "after"]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A room whose agent has the workspace tools, and its workspace."""

    room: Room
    workspace: Workspace
    database: str

    async def call(self, name: str, arguments: dict[str, Any], nth: int, place: Place) -> tuple[bool, str]:
        """Let a worker call one tool and die at its nth write; say whether it died, and what the next one told."""
        room, key = self.room, f"web:{name}-{place}-{nth}"
        room.model.when(f"go {nth}", [tool_call(name, arguments, call_id="call_1")], "Done.")
        room.ledger.say(f"go {nth}", key)
        store = MortalStore(self.database, nth=nth, place=place)
        died = await _live_and_die(room, store, key)
        if died:
            if room.ledger.turns(key):
                room.expire(key)
            await room.work(key)
        turn = room.ledger.turn(key)
        assert (turn.state, turn.outcome) == ("closed", "answered")
        told = [message.text for message in wire_messages(room.model.seen[-1]) if message.role == "tool"]
        return died, told[-1]


async def _live_and_die(room: Room, store: MortalStore, key: str) -> bool:
    task = asyncio.create_task(work_lane(room.lanes(store=store), room.lane_id(key), room.claim()))
    death = asyncio.create_task(store.died.wait())
    async with asyncio.timeout(30):
        await asyncio.wait({task, death}, return_when=asyncio.FIRST_COMPLETED)
    died = store.died.is_set()
    for one in (task, death):
        one.cancel()
    await asyncio.gather(task, death, return_exceptions=True)
    await store.close()
    return died


@pytest.fixture
async def scene(database: str, room_store: Store, tmp_path: Path) -> Scene:
    need_bubblewrap()
    room, share = Room(room_store), open_share(tmp_path / "share", make_share_id(tmp_path / "share"))
    tools = WorkspaceTools(bubblewrap=await try_sandbox(), share=share, store=room_store)
    room.outside, room.own = tools.offers(), tools.own_offers()
    room.instance = replace(room.instance, hands=StillHands())

    def arm(tx: Tx) -> None:
        main = agents.lock(tx, MAIN)
        assert main is not None
        agents.change(tx, replace(main, tools=None))

    room_store.write_now(arm)
    return Scene(room=room, workspace=share.workspace(MAIN, "default"), database=database)


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("write_file", {"path": "new.txt", "text": "new"}, "Wrote new.txt (3 bytes)."),
        ("read_file", {"path": "a.txt"}, "]\nfirst\n[end"),
        ("list_files", {}, "a.txt (5 bytes)"),
    ],
)
async def test_what_may_be_repeated_ends_as_if_nobody_had_died(
    scene: Scene, place: Place, name: str, arguments: dict[str, Any], told: str
) -> None:
    scene.workspace.write_file("a.txt", "first")
    nth, died = 0, True
    while died:
        nth += 1
        died, answer = await scene.call(name, arguments, nth, place)
        assert told in answer
    assert nth > 4


@pytest.mark.parametrize("place", ["before", "after"])
async def test_an_edit_is_made_once_at_most(scene: Scene, place: Place) -> None:
    nth, died, unknown = 0, True, 0
    while died:
        nth += 1
        scene.workspace.write_file("a.txt", "x")
        died, answer = await scene.call("edit_file", {"path": "a.txt", "old": "x", "new": "xy"}, nth, place)
        unknown += UNKNOWN_OUTCOME in answer
        expected = {"x", "xy"} if UNKNOWN_OUTCOME in answer else {"xy"}
        assert scene.workspace.read_file("a.txt").text in expected
    assert unknown >= 1
    assert nth > 5


@pytest.mark.parametrize("place", ["before", "after"])
async def test_a_command_is_run_once_at_most(scene: Scene, place: Place) -> None:
    nth, died, unknown = 0, True, 0
    while died:
        nth += 1
        scene.workspace.write_file("log", "")
        died, answer = await scene.call("run_command", {"command": "echo once >> log"}, nth, place)
        unknown += UNKNOWN_OUTCOME in answer
        expected = {"", "once\n"} if UNKNOWN_OUTCOME in answer else {"once\n"}
        assert scene.workspace.read_file("log").text in expected
    assert unknown >= 1
    assert nth > 5


@pytest.mark.parametrize("place", ["before", "after"])
async def test_a_file_is_sent_once(scene: Scene, place: Place) -> None:
    """Dying also between the file's row, its bytes and the message: what was kept twice is swept, not sent."""
    scene.workspace.write_file("a.txt", "x")
    nth, died = 0, True
    while died:
        nth += 1
        died, answer = await scene.call("send_file", {"path": "a.txt", "text": "Here."}, nth, place)
        assert answer.startswith("Sent a.txt (1 byte)")
        key = f"web:send_file-{place}-{nth}"
        sent = [message for message in scene.room.ledger.messages(key) if message.files]
        assert [message.text for message in sent] == ["Here."]
    assert nth > 6
