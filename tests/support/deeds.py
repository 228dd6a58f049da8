"""Tools for tests: they leave a line in a file when they begin, and wait at a gate, which is a file as well.

`deed` must not be done twice; `look` may; `never` does not come back; `deaf` does not even hear that it shall stop.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from homing.agent.journal import Tool, ToolCall
from homing.tools.tool import CallContext, OutsideTool

_PARAMETERS: Mapping[str, object] = {
    "type": "object",
    "properties": {"what": {"type": "string"}, "gate": {"type": "string"}},
}


def make_tools(folder: Path, renamed: Mapping[str, str] | None = None) -> list[Tool]:
    """Make the tools whose lines and gates lie in a folder, some under another name."""
    names = renamed or {}

    def tool(name: str, run: Callable[[ToolCall], Awaitable[str]], *, repeatable: bool, seconds: float) -> Tool:
        return Tool(
            name=names.get(name, name), description=f"A test's {name}.", parameters=_PARAMETERS, run=run,
            repeatable=repeatable, seconds=seconds,
        )  # fmt: skip

    async def work(call: ToolCall) -> str:
        _note(folder, call)
        await _pass(folder, str(call.args.get("gate") or ""))
        return f"{call.args.get('what')} done"

    async def never(call: ToolCall) -> str:
        _note(folder, call)
        await asyncio.Event().wait()
        return "unreachable"

    async def deaf(call: ToolCall) -> str:
        _note(folder, call)
        while not (folder / "gate-deaf").exists():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                _note(folder, call)
        return "came back after all"

    return [
        tool("deed", work, repeatable=False, seconds=60),
        tool("look", work, repeatable=True, seconds=60),
        tool("never", never, repeatable=False, seconds=60),
        tool("hasty", never, repeatable=False, seconds=0.3),
        tool("deaf", deaf, repeatable=False, seconds=60),
    ]


def make_asking_tools(folder: Path) -> list[OutsideTool]:
    """Make tools of which each call needs an approval: `asked_deed` must not be done twice, `asked_look` may."""

    def tool(name: str, *, repeatable: bool) -> OutsideTool:
        async def work(context: CallContext, arguments: Mapping[str, object]) -> str:
            _note(folder, ToolCall(key="", name=name, args=arguments))
            await _pass(folder, str(arguments.get("gate") or ""))
            return f"{arguments.get('what')} done"

        return OutsideTool(
            name=name,
            description=f"A test's {name}.",
            parameters=_PARAMETERS,
            run=work,
            repeatable=repeatable,
            seconds=60,
            asks=True,
            sha256="1",
        )

    return [tool("asked_deed", repeatable=False), tool("asked_look", repeatable=True)]


def lines(folder: Path) -> list[str]:
    """Name what was begun so far, in order."""
    path = folder / "deeds"
    return path.read_text().splitlines() if path.exists() else []


def open_gate(folder: Path, gate: str) -> None:
    """Let through whoever waits there, now and later."""
    (folder / f"gate-{gate}").touch()


def _note(folder: Path, call: ToolCall) -> None:
    line = f"{call.name} {call.args.get('what')}\n"
    handle = os.open(folder / "deeds", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, line.encode())
    finally:
        os.close(handle)


async def _pass(folder: Path, gate: str) -> None:
    while gate and not (folder / f"gate-{gate}").exists():  # noqa: ASYNC110 - a gate for several processes
        await asyncio.sleep(0.01)


def arguments(what: str, gate: str = "") -> str:
    """Spell a call's arguments."""
    return json.dumps({"what": what, "gate": gate})
