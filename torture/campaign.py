"""One campaign: set the stage, load, rage, let everything settle, stop, check."""

import asyncio
import json
import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from torture.automations import pause_all, plan
from torture.chaos import Chaos
from torture.checks import Violation, check
from torture.commands import sleeping
from torture.door import Door
from torture.evidence import gather
from torture.model import ASKED
from torture.people import ASKERS, Person, answer, chat, open_session
from torture.stage import TOKEN, USERS, Kind, Stage, set_stage

SETTLE_SECONDS = 300.0
# An attempt that was lost with its process is made again after 45 s.
STILL_SECONDS = 90.0
# So much may wait before nobody asks for more.
_CROWD = {"waiting inbounds": 40, "pending deliveries": 150}
_WATCH_SECONDS = 0.3
# All that may still move once nobody asks for anything.
_MOVING = {
    "open turns": "select count(*) from turn where state <> 'closed'",
    "waiting inbounds": "select count(*) from inbound where state = 'waiting' and line <> 'note'",
    "active runs": "select count(*) from run where state in ('queued', 'running')",
    "pending deliveries": "select count(*) from delivery where state = 'pending'",
    "approved actions": "select count(*) from approval where state in ('approved', 'running')",
    "jobs that come due": "select count(*) from job where next_run_at is not null",
}
_NEVER = {
    "two_turns_at_once": "select lane_id from turn where state <> 'closed' group by lane_id having count(*) > 1",
    "two_active_runs": (
        "select job_id from run where state in ('queued', 'running') group by job_id having count(*) > 1"
    ),
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a campaign showed."""

    violations: list[Violation]
    counts: dict[str, int]
    events: dict[str, int]
    settled: bool


async def wage(
    kind: Kind,
    *,
    seconds: float,
    seed: int,
    folder: Path,
    say: Callable[[str], None],
    broken: str | None = None,
    restate: bool = False,
) -> Outcome:
    """Wage one campaign in a folder; with a guard broken on purpose, if one is named; with Restate, if told so."""
    with set_stage(kind, folder, broken=broken, restate=restate) as stage:
        chaos = Chaos(stage, seed)
        try:
            settled = await _play(stage, chaos, seconds, seed, say)
            evidence = gather(stage.url, folder, clock_moved=chaos.clock_moved and kind == "sqlite")
        finally:
            await chaos.close()
    (folder / "rows.json").write_text(json.dumps(evidence.rows))
    return Outcome(violations=check(evidence), counts=evidence.counts(), events=chaos.counts, settled=settled)


async def _play(stage: Stage, chaos: Chaos, seconds: float, seed: int, say: Callable[[str], None]) -> bool:
    stage.start_extras()
    for actor in stage.actors:
        chaos.revive(actor)
    owner = Door(stage.door, TOKEN, patience=120)
    people = await _invite(stage, owner, seed)
    stage.weaken()
    stop = asyncio.Event()
    watching = asyncio.create_task(_watch(stage, stop))
    load = [asyncio.create_task(each(stage, person, stop)) for person in people for each in (chat, chat, plan, answer)]
    say("raging")
    try:
        await chaos.rage(seconds)
    finally:
        stop.set()
    await chaos.end()
    await asyncio.gather(*load)
    say("settling")
    settled = await _settle(stage, chaos, people, say)
    await watching
    for door in (owner, *(person.door for person in people)):
        await door.close()
    await _part(stage)
    for pid in sleeping(stage.folder):
        stage.note("survivors.jsonl", pid=pid)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return settled


async def _invite(stage: Stage, owner: Door, seed: int) -> list[Person]:
    people: list[Person] = []
    for agent_id in ASKERS:
        tools = {"run_command": "ask", "remember": "ask"}
        await owner.ask("POST", "/api/agents", {"id": agent_id, "name": agent_id, "tools": tools})
    for agent_id in ASKED:
        await owner.ask("POST", "/api/agents", {"id": agent_id, "name": agent_id})
    for name in USERS:
        token = await owner.ask("POST", "/api/tokens", {"user": name, "approve": True})
        assert token is not None, "the door did not open; see the logs"
        assert token.status == 201, token
        person = Person(name=name, door=Door(stage.door, token.body["token"]), dice=random.Random(f"{name} {seed}"))
        for sender, asked in (("main", ASKED[0]), ASKED, ASKED[::-1]):
            await person.door.ask("POST", "/api/grants", {"agent_id": sender, "to_agent_id": asked})
        await open_session(stage, person)
        people.append(person)
    return people


async def _watch(stage: Stage, stop: asyncio.Event) -> None:
    """Look at what no final state can show any more, and at how much waits."""
    while not stop.is_set():
        with suppress(Exception):
            waiting = {name: (await asyncio.to_thread(stage.ask, _MOVING[name]))[0][0] for name in _CROWD}
            stage.crowded = any(waiting[name] > most for name, most in _CROWD.items())
        for rule, statement in _NEVER.items():
            try:
                for (found,) in await asyncio.to_thread(stage.ask, statement):
                    stage.note("seen.jsonl", rule=rule, id=str(found))
            except Exception:  # noqa: BLE001 - the database is away; it is its turn to be tortured
                break
        await asyncio.sleep(_WATCH_SECONDS)


async def _settle(stage: Stage, chaos: Chaos, people: list[Person], say: Callable[[str], None]) -> bool:
    """Pause all jobs and wait until nothing moves any more: for a bounded time, and not where nothing moves on."""
    begun = moved = time.monotonic()
    left: dict[str, int] = {}
    while time.monotonic() < min(begun + SETTLE_SECONDS, moved + STILL_SECONDS):
        for person in people:
            await pause_all(person)
        await chaos.release()
        for actor in stage.actors:
            chaos.revive(actor)
        before, left = left, {name: (await asyncio.to_thread(stage.ask, sql))[0][0] for name, sql in _MOVING.items()}
        if not any(left.values()):
            return True
        if left != before:
            moved = time.monotonic()
        await asyncio.sleep(0.5)
    say(f"not settled: {left}")
    return False


async def _part(stage: Stage) -> None:
    """Stop everybody in good order; a process that does not stop is part of the story."""
    for actor in stage.actors:
        stage.signal(actor, signal.SIGTERM)
    for actor in stage.actors:
        if actor.pid is not None:
            await asyncio.to_thread(stage.nursery.wait_ended, actor.pid, 40)
