"""Walk one due job from the clock to the screen, and count what it passes: files, functions and record types.

One process, SQLite, the offline model; a profiler sees every call inside `homing`. A record
type is one of our dataclasses or pydantic models that a function took or returned.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import is_dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Any

from pydantic import BaseModel

from benchmarks._instance import database, instance, let_be_due, stock
from homing.model.people import OWNER, Caller
from homing.operations.context import Context
from homing.store import Tx, sessions
from homing.web.changes import Place, look
from homing.wiring import Homing, make_engine

SOURCE = str(Path(__file__).resolve().parents[1] / "src" / "homing")


class Steps:
    """What a walk has passed so far."""

    def __init__(self) -> None:
        self.files = set[str]()
        self.functions = set[tuple[str, str]]()
        self.records = set[str]()
        self.calls = 0

    def see(self, frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(SOURCE):
            return
        if event == "call":
            self.calls += 1
            self.files.add(code.co_filename)
            self.functions.add((code.co_filename, code.co_qualname))
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            for name in names:
                self._note(frame.f_locals.get(name))
        elif event == "return":
            self._note(arg)

    def _note(self, value: Any) -> None:
        if isinstance(value, list | tuple) and value:
            self._note(value[0])
            return
        kind = type(value)
        if kind.__module__.startswith("homing.") and (is_dataclass(value) or isinstance(value, BaseModel)):
            self.records.add(f"{kind.__module__}.{kind.__qualname__}")


@contextmanager
def _watched(see: Callable[[FrameType, str, Any], None]) -> Iterator[None]:
    """Profile this thread, and whatever pools of threads are given meanwhile: transactions run there."""
    submit = ThreadPoolExecutor.submit

    def watched_submit(pool: ThreadPoolExecutor, function: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
        def work() -> Any:
            sys.setprofile(see)
            try:
                return function(*args, **named)
            finally:
                sys.setprofile(None)

        return submit(pool, work)

    ThreadPoolExecutor.submit = watched_submit
    sys.setprofile(see)
    try:
        yield
    finally:
        sys.setprofile(None)
        ThreadPoolExecutor.submit = submit


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks walk")
    parser.add_argument("--list", action="store_true", help="name every file and record type")
    ask = parser.parse_args(arguments)
    with database("sqlite") as url, instance(url) as homing:
        stock(homing, stored=1, sessions=1)
        asyncio.run(_walk_twice(homing))
        whole = asyncio.run(_walk_twice(homing))
    for stage, steps in whole.items():
        print(f"{stage:24} {len(steps.files):4} files {len(steps.functions):5} functions {steps.calls:6} calls", end="")
        print(f" {len(steps.records):4} record types")
    if ask.list:
        steps = whole["whole"]
        for name in sorted(path.removeprefix(SOURCE + "/") for path in steps.files) + sorted(steps.records):
            print(f"  {name}")


async def _walk_twice(homing: Homing) -> dict[str, Steps]:
    """The first walk imports and compiles; the second one counts."""
    await _walk(homing)
    return await _walk(homing)


async def _walk(homing: Homing) -> dict[str, Steps]:
    engine = make_engine(homing)
    assert engine.scheduler is not None
    found: dict[str, Steps] = {"whole": Steps()}
    now = datetime.now(UTC) - timedelta(seconds=1)
    homing.store.write_now(lambda tx: let_be_due(tx, now, 0, 1))
    session = homing.store.write_now(lambda tx: sessions.find(tx, "web:s0", user_id=OWNER))
    assert session is not None
    caller = Caller(user_id=OWNER, role="admin")

    def show(tx: Tx) -> object:
        ctx = Context(tx=tx, caller=caller, instance=homing.instance)
        return look(ctx, session.id, Place(rev=session.rev), numbered=True)

    async def stage(name: str, work: Callable[[], Any]) -> None:
        steps = found[name] = Steps()

        def see(frame: FrameType, event: str, arg: Any) -> None:
            steps.see(frame, event, arg)
            found["whole"].see(frame, event, arg)

        with _watched(see):
            await work()

    await stage("tick", engine.scheduler.step)
    await stage("open, think, close", engine.runner.step)
    await stage("send", engine.courier.step)
    await stage("show", lambda: homing.store.read(show))
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
