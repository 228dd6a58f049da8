"""What happens to the processes: death, sleep, a database that goes away, a model that fails, a clock that jumps.

Which event, to whom and how long comes from one seeded source of chance: the seed is printed and plays the same
programme again (what the processes make of it still depends on the machine).
"""

import asyncio
import random
import shutil
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import httpx2

from torture.commands import ancestor_of, lasting
from torture.stage import CLAIM_SECONDS, Actor, Stage

# However short a campaign is, this happens in it.
_FIRST = ("kill", "freeze", "kill in command", "kill")
# So long a kill waits for a command to run: one comes soon, but not on a machine that is busy with other things.
_COMMAND_SECONDS = 180.0

Event = Callable[["Chaos"], Awaitable[str]]


class Chaos:
    """Lets one event follow the other."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self.stage = stage
        self.dice = random.Random(f"chaos {seed}")
        self.counts: dict[str, int] = {}
        self.clock_moved = False
        self.farthest = 0.0
        self._client = httpx2.AsyncClient(timeout=5.0, trust_env=False)
        self._began = time.monotonic()
        self._thawing: set[asyncio.Task[None]] = set()

    async def rage(self, seconds: float) -> None:
        """Rage for so long."""
        self.farthest = min(90.0, seconds / 3)
        programme = {**PROGRAMMES[self.stage.kind], **(_WITH_RESTATE if self.stage.restate else {})}
        names, weights = list(programme), [weight for _, weight in programme.values()]
        until = time.monotonic() + seconds
        coming = [*_FIRST, *(_WITH_RESTATE if self.stage.restate else ())]
        while coming or time.monotonic() < until:
            name = coming.pop(0) if coming else self.dice.choices(names, weights)[0]
            event, _ = programme[name]
            told = await event(self)
            self.note(name, told)
            await asyncio.sleep(self.dice.choice((0.1, 0.4, 0.8, 1.5, 2.5)))

    def note(self, name: str, told: str) -> None:
        at = round(time.monotonic() - self._began, 2)
        self.counts[name] = self.counts.get(name, 0) + 1
        self.stage.note("events.jsonl", at=at, event=name, told=told)

    async def end(self) -> None:
        """Undo what lasts: thaw, empty the disk, open the gates; everybody is alive afterwards."""
        await asyncio.gather(*self._thawing)
        self.stage.panel.set(full=0.0)
        for actor in self.stage.actors:
            self.thaw(actor)
            self.revive(actor)
        await self.release()

    async def release(self) -> None:
        """Let go what model and receiver hold back."""
        await self.post(f"{self.stage.model}/__stub__/release", {})
        await self.post(f"{self.stage.receiver}/__receiver__/release", {})

    async def close(self) -> None:
        await self._client.aclose()

    def revive(self, actor: Actor) -> None:
        """Start an actor that is dead; whether it is sick this time is left to chance."""
        if not self.stage.alive(actor):
            # Only the sick know the time once it has moved; with a healthy one in between it would move back and forth.
            moved = self.stage.kind == "sqlite" and self.stage.panel.clock_seconds != 0
            self.stage.start(actor, sick=self.dice.random() < 0.7 or moved)

    def anybody(self, command: str | None = None) -> Actor:
        return self.dice.choice([a for a in self.stage.actors if command is None or a.command == command])

    def worker(self) -> Actor:
        return self.dice.choice([a for a in self.stage.actors if a.command != "serve"])

    def thaw(self, actor: Actor) -> None:
        if actor.frozen:
            actor.frozen = False
            # Noted before: what was on its way goes out within the same millisecond.
            self.stage.note("thaws.jsonl", at=datetime.now(UTC).isoformat())
            self.stage.signal(actor, signal.SIGCONT)

    def thaw_later(self, actor: Actor, seconds: float) -> None:
        pid = actor.pid

        async def wait() -> None:
            await asyncio.sleep(seconds)
            if actor.pid == pid:
                self.thaw(actor)

        task = asyncio.create_task(wait())
        self._thawing.add(task)
        task.add_done_callback(self._thawing.discard)

    async def post(self, url: str, body: Any) -> None:
        (await self._client.post(url, json=body)).raise_for_status()


async def _kill(chaos: Chaos) -> str:
    return await _kill_actor(chaos, chaos.anybody())


async def _kill_in_command(chaos: Chaos) -> str:
    """Kill a process while a command of it runs: hardly any other kill meets one."""
    if shutil.which("bwrap") is None:
        return "no sandbox, so no commands"
    until = time.monotonic() + _COMMAND_SECONDS
    while time.monotonic() < until:
        actors = {actor.pid: actor for actor in chaos.stage.actors if actor.pid is not None}
        for pid in lasting(chaos.stage.folder):
            found = ancestor_of(pid, actors)
            if found is None or not chaos.stage.signal(actors[found], signal.SIGSTOP):
                continue
            actors[found].frozen = True
            # Held still, it cannot end the command in the moment before it dies itself.
            if pid in lasting(chaos.stage.folder):
                actors[found].frozen = False
                return await _kill_actor(chaos, actors[found])
            chaos.thaw(actors[found])
        await asyncio.sleep(0.05)
    return "no command ran"


async def _kill_actor(chaos: Chaos, actor: Actor) -> str:
    chaos.thaw(actor)
    chaos.stage.signal(actor, signal.SIGKILL)
    if actor.pid is not None:
        await asyncio.to_thread(chaos.stage.nursery.wait_ended, actor.pid, 20)
    await asyncio.sleep(chaos.dice.choice((0.0, 0.0, 0.5, 3.0)))
    chaos.revive(actor)
    return actor.name


async def _leave(chaos: Chaos) -> str:
    actor = chaos.worker()
    chaos.thaw(actor)
    chaos.stage.signal(actor, signal.SIGTERM)
    if actor.pid is not None:
        await asyncio.to_thread(chaos.stage.nursery.wait_ended, actor.pid, 60)
    chaos.revive(actor)
    return actor.name


async def _freeze(chaos: Chaos) -> str:
    """Freeze one beyond its claim, while the others go on; the lone one of SQLite too."""
    actor = chaos.worker()
    if actor.frozen or not chaos.stage.signal(actor, signal.SIGSTOP):
        return f"{actor.name} not"
    actor.frozen = True
    seconds = CLAIM_SECONDS * chaos.dice.uniform(0.7, 3.5)
    chaos.thaw_later(actor, seconds)
    return f"{actor.name} for {seconds:.1f} s"


async def _restart_database(chaos: Chaos) -> str:
    assert chaos.stage.server
    mode = chaos.dice.choice(("fast", "immediate"))
    await asyncio.to_thread(chaos.stage.server.restart, mode)
    return mode


async def _kill_restate(chaos: Chaos) -> str:
    """Kill the Restate server in the middle of its calls, sometimes together with one of its workers."""
    assert chaos.stage.restate
    await asyncio.to_thread(chaos.stage.restate.kill)
    actor = chaos.worker() if chaos.dice.random() < 0.5 else None
    if actor is not None:
        await _kill_actor(chaos, actor)
    seconds = chaos.dice.choice((0.0, 1.0, 4.0))
    await asyncio.sleep(seconds)
    await asyncio.to_thread(chaos.stage.restate.start)
    return f"for {seconds:g} s" + (f", and {actor.name}" if actor else "")


async def _cut_connections(chaos: Chaos) -> str:
    share = chaos.dice.choice((0.3, 1.0))
    statement = (
        "select count(pg_terminate_backend(pid)) from pg_stat_activity"
        f" where pid <> pg_backend_pid() and datname = current_database() and random() < {share}"
    )
    [(count,)] = await asyncio.to_thread(chaos.stage.ask, statement)
    return f"{count} connections"


async def _fail_model(chaos: Chaos) -> str:
    kind = chaos.dice.choice((429, 429, 500, 503, "cut", "drop", "stream_error", "truncated", "malformed"))
    times = chaos.dice.choice((1, 2, 6))
    retry = {"retry_after_seconds": chaos.dice.choice((0, 1))} if isinstance(kind, int) else {}
    await chaos.post(f"{chaos.stage.model}/__stub__/script", {"faults": [{"fault": kind, "times": times, **retry}]})
    return f"{kind} {times} times"


async def _hang_model(chaos: Chaos) -> str:
    times = chaos.dice.choice((1, 2))
    await chaos.post(f"{chaos.stage.model}/__stub__/script", {"faults": [{"fault": "hang", "times": times}]})
    return f"{times} times"


async def _refuse_model(chaos: Chaos) -> str:
    await chaos.post(f"{chaos.stage.model}/__stub__/script", {"faults": [{"fault": 400, "times": 1}]})
    return "400"


async def _fail_receiver(chaos: Chaos) -> str:
    hows: Sequence[int | str] = [
        chaos.dice.choice((500, 503, "close", "hang", 404, 410)) for _ in range(chaos.dice.randint(1, 4))
    ]
    await chaos.post(f"{chaos.stage.receiver}/__receiver__/answers", hows)
    return str(hows)


async def _release(chaos: Chaos) -> str:
    await chaos.release()
    return ""


async def _fill_disk(chaos: Chaos) -> str:
    full, seconds = chaos.dice.choice((0.2, 1.0)), chaos.dice.uniform(0.2, 2.5)
    chaos.stage.panel.set(full=full)
    await asyncio.sleep(seconds)
    chaos.stage.panel.set(full=0.0)
    return f"{full:.0%} for {seconds:.1f} s"


async def _jump(chaos: Chaos) -> str:
    """Move the clock of the sick. On SQLite that is the store's clock; on PostgreSQL nobody may care."""
    panel = chaos.stage.panel
    by = chaos.dice.choice((-10.0, -1.0, 3.0, chaos.farthest / 3, chaos.farthest))
    # Bounded: what was promised for a later hour has to come within the time we wait for it.
    by = by if abs(panel.clock_seconds + by) <= chaos.farthest else -panel.clock_seconds
    panel.set(clock_seconds=panel.clock_seconds + by)
    chaos.clock_moved = True
    return f"by {by:+.0f} s"


_EVERYWHERE: Mapping[str, tuple[Event, float]] = {
    "kill": (_kill, 5),
    "kill in command": (_kill_in_command, 1),
    "leave": (_leave, 1.5),
    "freeze": (_freeze, 6),
    "model fails": (_fail_model, 3),
    "model hangs": (_hang_model, 0.7),
    "model refuses": (_refuse_model, 0.5),
    "receiver fails": (_fail_receiver, 2),
    "gates open": (_release, 3),
    "disk full": (_fill_disk, 1.5),
    "clock jumps": (_jump, 0.7),
}

_WITH_RESTATE: Mapping[str, tuple[Event, float]] = {"kill restate": (_kill_restate, 2)}

PROGRAMMES: Mapping[str, Mapping[str, tuple[Event, float]]] = {
    # There is nobody else to go on meanwhile.
    "sqlite": {**_EVERYWHERE, "kill": (_kill, 3), "freeze": (_freeze, 2)},
    "postgresql": {
        **_EVERYWHERE,
        "database restarts": (_restart_database, 1),
        "connections cut": (_cut_connections, 2),
    },
}
