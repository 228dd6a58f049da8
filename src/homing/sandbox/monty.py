"""Runs Python that nobody vouches for in Monty: no files, no network, no clock to wait on but what is given here.

The interpreter is a process of its own, kept warm. One that does not stop in time is killed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pydantic_monty as monty

from homing.model.errors import Refused
from homing.model.scripts import MAX_OUTPUT, Script, ScriptEnd

Fetch = Callable[[str], Awaitable[str]]
"""Reads a URL for a script; raises `Failed` or `Refused` with a sentence for it."""

MAX_MEMORY = 128 << 20
PROCESSES = 12
"""As many as gates have slots (8), and four for scripts that people try."""
# Fresh ones now and then, whatever a script may have left behind in its interpreter.
_CHECKOUTS = 100
_FETCH = "fetch"
_SLEEP = "system.sleep"


class Monty:
    """Warm interpreters, started when the first script comes."""

    def __init__(self) -> None:
        self._pool: monty.AsyncMonty | None = None
        self._opening = asyncio.Lock()

    async def run(self, script: Script, given: Mapping[str, Any], fetch: Fetch) -> ScriptEnd:
        """Run a script with `given` as its variables and `fetch(url)`."""
        pool = await self._open()
        running = _Running(fetch)
        work = asyncio.ensure_future(running.run(pool, script, given))
        flooded = asyncio.ensure_future(running.full.wait())
        try:
            # Cancelled, the interpreter is killed: it may be in a loop that hears nothing.
            await asyncio.wait([work, flooded], timeout=script.seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            flooded.cancel()
            done = work.done()
            work.cancel()
            await asyncio.gather(work, flooded, return_exceptions=True)
        if running.full.is_set():
            return running.ended("output", 137)
        if not done:
            return running.ended("timeout", 137)
        return work.result()

    async def close(self) -> None:
        """End the interpreters."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.__aexit__(None, None, None)

    async def _open(self) -> monty.AsyncMonty:
        async with self._opening:
            if self._pool is None:
                pool = monty.AsyncMonty(min_processes=0, max_processes=PROCESSES, max_checkouts_per_worker=_CHECKOUTS)
                self._pool = await pool.__aenter__()
            return self._pool


class _Running:
    """One script, and what it has printed so far."""

    def __init__(self, fetch: Fetch) -> None:
        self.full = asyncio.Event()
        self._fetch = fetch
        self._loop = asyncio.get_running_loop()
        self._printed: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._left = {"stdout": MAX_OUTPUT, "stderr": MAX_OUTPUT}

    async def run(self, pool: monty.AsyncMonty, script: Script, given: Mapping[str, Any]) -> ScriptEnd:
        limits = monty.ResourceLimits(max_feed_duration_secs=float(script.seconds), max_memory=MAX_MEMORY)
        try:
            async with pool.checkout(script_name="script.py", limits=limits) as session:
                step = await session.feed_start(script.text, inputs=dict(given), print_callback=self._print)
                while not isinstance(step, monty.MontyComplete):
                    step = await self._answer(step)
        except monty.MontyCrashedError as error:
            return self.ended("timeout" if error.timed_out else "exit", 137, str(error))
        except (monty.MontySyntaxError, monty.MontyRuntimeError) as error:
            if isinstance(error.exception(), TimeoutError) and "time limit" in str(error):
                return self.ended("timeout", 137)
            return self.ended("exit", 1, error.display())
        except (monty.MontyError, ValueError, TypeError) as error:
            # The others: what is handed in or out has no counterpart on the other side.
            return self.ended("exit", 1, str(error))
        return self.ended("exit", 0)

    async def _answer(self, step: Any) -> Any:
        """Do what the script asked of us: `fetch` and `time.sleep`; there is nothing else."""
        if not isinstance(step, monty.AsyncFunctionSnapshot):
            return await step.resume_auto()
        if step.function_name == _SLEEP and step.is_os_function:
            return await step.resume(await _slept([*step.args, *step.kwargs.values()]))
        if step.function_name != _FETCH or step.is_os_function:
            return await step.resume_auto()
        return await step.resume(await self._fetched([*step.args, *step.kwargs.values()]))

    async def _fetched(self, given: list[Any]) -> Any:
        if len(given) != 1 or not isinstance(given[0], str):
            return {"exception": TypeError("fetch takes one URL")}
        try:
            return {"return_value": await self._fetch(given[0])}
        except Refused as refused:
            return {"exception": PermissionError(refused.detail)}
        except ConnectionError as error:
            return {"exception": error}
        except Exception as error:  # noqa: BLE001 - whatever a URL leads to, the script is told
            return {"exception": ConnectionError(f"The URL cannot be read: {error}")}

    def ended(self, ended: Any, code: int, more: str = "") -> ScriptEnd:
        out, err = ("".join(self._printed[stream]) for stream in ("stdout", "stderr"))
        return ScriptEnd(ended=ended, code=code, out=out, err=(err + more)[-MAX_OUTPUT:])

    def _print(self, stream: str, text: str) -> None:
        # Called from a thread of the interpreter's.
        kept = text.encode("utf-8", "ignore")[: self._left[stream]].decode("utf-8", "ignore")
        self._left[stream] -= len(text.encode("utf-8", "ignore"))
        if kept:
            self._printed[stream].append(kept)
        if self._left[stream] < 0:
            self._loop.call_soon_threadsafe(self.full.set)


async def _slept(given: list[Any]) -> Any:
    if len(given) != 1 or not isinstance(given[0], int | float):
        return {"exception": TypeError("sleep takes one number of seconds")}
    await asyncio.sleep(max(0.0, given[0]))
    return {"return_value": None}
