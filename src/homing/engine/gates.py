"""Gates: a job's script looks before its run, outside the lane, and says whether the agent is needed (rule 50).

A worker takes a gate under a claim, runs the script outside any transaction, and ends it in one transaction under its
fence. Killed in between, the script runs again, three times in all: it only looks. A slow script holds one slot here
and nothing else; no user holds more than three quarters of the slots.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from homing.engine.abilities import Abilities
from homing.engine.gate_ending import end_gate
from homing.model.errors import Refused
from homing.model.jobs import Job
from homing.model.runs import Run
from homing.model.scripts import MOST_RUNS, Said, Script, ScriptEnd, given_to_script
from homing.operations.context import Instance
from homing.operations.scripts import about_job, last_run
from homing.operations.shapes.base import local
from homing.operations.workers import SANDBOX
from homing.store import Store, Tx, gates, jobs, runs
from homing.store.bell import Ear
from homing.store.gates import Taken

log = structlog.get_logger(__name__)

RunScript = Callable[[Script, Mapping[str, Any]], Awaitable[ScriptEnd]]

SLOTS = 8
_BELL = "gates"
_PAUSE_SECONDS = 2.0
# Below this a look at the clock costs more than it saves.
_SHORTEST_SECONDS = 0.05


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A gate that this worker holds, and what its script is given. Without a script there is nothing left to ask."""

    taken: Taken
    script: Script | None
    given: Mapping[str, Any]


class Gates:
    """Runs the scripts of runs that wait for their gate."""

    def __init__(
        self,
        store: Store,
        instance: Instance,
        run_script: RunScript,
        worker_id: str,
        abilities: Abilities | None = None,
        *,
        slots: int = SLOTS,
    ) -> None:
        self._store = store
        self._instance = instance
        self._run_script = run_script
        self._worker_id = worker_id
        self._abilities = abilities or Abilities()
        self._slots = slots
        self._share = max(1, slots * 3 // 4)

    async def step(self) -> bool:
        """Take what waits, as far as the slots go, and see it through. Say whether there was any."""
        working: list[asyncio.Task[None]] = []
        while len(working) < self._slots and (gate := await self._store.write(self._take)) is not None:
            working.append(asyncio.create_task(self._work(gate)))
        await asyncio.gather(*working)
        return bool(working)

    async def run(self) -> None:
        """Work until cancelled; what runs then is handed back uncounted."""
        ear = self._store.bell.listen(_BELL)
        working: dict[asyncio.Task[None], str] = {}
        try:
            while True:
                await ear.wait(await self._start(working, ear))
        finally:
            ear.close()
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)

    async def _start(self, working: dict[asyncio.Task[None], str], ear: Ear) -> float:
        """Begin what waits in the free slots; say how long there is nothing more to do."""
        try:
            while len(working) < self._slots and self._store.outdated is None:
                busy = Counter(working.values())
                full = [user_id for user_id, count in busy.items() if count >= self._share]
                # In one transaction, so at one instant: a claim that runs out in between would be overlooked.
                gate = await self._store.write(lambda tx, full=full: self._take(tx, full) or self._pause(tx))
                if not isinstance(gate, Gate):
                    return gate
                task = asyncio.create_task(self._work_safely(gate), name=f"gate {gate.taken.run_id}")
                working[task] = gate.taken.user_id

                def leave(task: asyncio.Task[None]) -> None:
                    working.pop(task, None)
                    ear.hear([_BELL])

                task.add_done_callback(leave)
        except Exception:  # the rim: a database that is away comes back, and the gates are still there
            log.exception("gate_take")
            return _PAUSE_SECONDS
        return self._store.look_seconds

    def _pause(self, tx: Tx) -> float:
        claim_end = gates.next_claim_end(tx)
        longest = self._store.look_seconds
        if claim_end is None:
            return longest
        return min(max((claim_end - tx.now()).total_seconds(), _SHORTEST_SECONDS), longest)

    def _take(self, tx: Tx, full: list[str] | None = None) -> Gate | None:
        languages = ["python", *(["bash"] if SANDBOX in self._abilities.can else [])]
        taken = gates.take(tx, self._worker_id, languages=languages, full=full or [])
        if taken is None:
            return None
        job, run = jobs.get(tx, taken.job_id), runs.get(tx, taken.run_id)
        assert job is not None
        assert run is not None
        return Gate(taken=taken, script=job.gate, given=_given(job, run))

    async def _work_safely(self, gate: Gate) -> None:
        try:
            await self._work(gate)
        except Exception:  # the rim: nothing was written, so it is taken again when the claim has run out
            log.exception("gate_lost", run_id=gate.taken.run_id)

    async def _work(self, gate: Gate) -> None:
        taken = gate.taken
        end: ScriptEnd | Said | None = None
        if gate.script is None:
            end = Said(wake=True)
        elif taken.attempts <= MOST_RUNS:
            try:
                end = await self._look(gate.script, gate.given)
            except asyncio.CancelledError:
                # This worker stops: another may go on at once.
                await asyncio.shield(self._store.write(lambda tx: gates.release(tx, taken.run_id, taken.fence)))
                raise
        became = await self._store.write(
            lambda tx: end_gate(tx, taken, script=gate.script, end=end, instance=self._instance)
        )
        log.info("gate_ended", job_id=taken.job_id, run_id=taken.run_id, attempt=taken.attempts, became=became)

    async def _look(self, script: Script, given: Mapping[str, Any]) -> ScriptEnd:
        try:
            return await self._run_script(script, given)
        except Refused as refused:
            # A sandbox that worked at the start and does not now.
            return ScriptEnd(ended="exit", code=126, out="", err=refused.detail)


def _given(job: Job, run: Run) -> dict[str, Any]:
    return given_to_script(
        job=about_job(job),
        scheduled_for=str(local(run.scheduled_for, run.tz)),
        last_run=last_run(job),
        missed_count=run.missed_count or 0,
        state=job.script_state,
    )
