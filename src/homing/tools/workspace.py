"""The workspace tools: files that an agent keeps for a user, and programs that work on them in the sandbox."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from homing.agent.frames import frame
from homing.agent.text import clean
from homing.model.errors import Invalid
from homing.sandbox.bubblewrap import FILES, WORKSPACE, Bubblewrap
from homing.sandbox.files import DEFAULT_LINES, MAX_WORKSPACE, Entry, Excerpt, Workspace
from homing.sandbox.hosts import read_hosts
from homing.sandbox.running import MAX_OUTPUT, Ran, run
from homing.sandbox.share import Share
from homing.store import Store, Tx, sessions
from homing.tools.conversation_files import (
    ConversationFiles,
    FindFiles,
    Shown,
    no_files,
    owner_of,
    send_file_tool,
)
from homing.tools.environments import FindEnvironment, no_environment
from homing.tools.tool import CallContext, OutsideTool, ToolSpec
from homing.tools.typed_arguments import parameters, read_arguments

DEFAULT_SECONDS = 60
MAX_SECONDS = 600
# For the sandbox to stop a program: a call that takes longer hangs.
_GRACE_SECONDS = 30.0
_FILE_SECONDS = 60.0
# What one call shows of a file or of an output.
_MAX_SHOWN = 64 << 10

Given = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class _FileTool:
    """Works in a thread: counting a large workspace takes a while."""

    description: str
    parameters: Mapping[str, object]
    work: Callable[[Workspace, Given], str]
    repeatable: bool
    reads_only: bool = False
    """It changes nothing, and can also look below /files."""


@dataclass(frozen=True, kw_only=True)
class WorkspaceTools:
    """What the tools need: a sandbox that was tried, and the folder of the workspaces."""

    bubblewrap: Bubblewrap
    share: Share
    store: Store
    find_environment: FindEnvironment = no_environment
    find_files: FindFiles = no_files

    @property
    def files(self) -> ConversationFiles:
        """Give what shows the files of a conversation to its programs."""
        return ConversationFiles(store=self.store, share=self.share, find_files=self.find_files)

    def own_offers(self) -> list[ToolSpec]:
        """Give the tools whose effect is in our own rows."""
        return [send_file_tool(self.share)]

    def offers(self) -> list[OutsideTool]:
        """Give the tools; each call finds the workspace of its turn."""
        return [*(self._file_tool(name, tool) for name, tool in _FILE_TOOLS.items()), self._run_command()]

    def _file_tool(self, name: str, tool: _FileTool) -> OutsideTool:
        async def call(context: CallContext, arguments: Mapping[str, object]) -> str:
            given = read_arguments(name, tool.parameters, arguments)
            if tool.reads_only and _is_below_files(given.get("path", "")):
                return _look_at_files(name, given, await self.files.show(context))
            return await asyncio.to_thread(tool.work, await self._workspace(context), given)

        return OutsideTool(
            name=name,
            description=tool.description,
            parameters=tool.parameters,
            run=call,
            repeatable=tool.repeatable,
            reads_only=tool.reads_only,
            seconds=_FILE_SECONDS,
        )

    def _run_command(self) -> OutsideTool:
        async def call(context: CallContext, arguments: Mapping[str, object]) -> str:
            given = read_arguments("run_command", _COMMAND, arguments)
            command, seconds = _command(given)
            workspace, shown = await self._workspace(context), await self.files.show(context)
            started = time.monotonic()
            ran = await run(
                self.bubblewrap,
                [self.bubblewrap.shell, "-c", command],
                workspace=workspace.folder,
                files={name: place.folder for name, place in shown.folders.items()},
                environment=await self.find_environment(context.agent),
                hosts=read_hosts(context.agent.all_hosts) if context.agent.all_hosts else None,
                seconds=seconds,
            )
            took = time.monotonic() - started
            used = await asyncio.to_thread(workspace.used_bytes)
            return _told(command, ran, seconds, took, used, shown.note)

        return OutsideTool(
            name="run_command",
            description=(
                "Run a shell command in a sandbox, with your workspace as its folder. It reaches no network but the"
                " hosts that you were given, and nothing of it goes on running afterwards. Files of this conversation's"
                f" messages are at {FILES}/ID/NAME, to read."
            ),
            parameters=_COMMAND,
            run=call,
            # Nobody knows what a command has changed before it was cut off.
            repeatable=False,
            seconds=MAX_SECONDS + _GRACE_SECONDS,
        )

    async def _workspace(self, context: CallContext) -> Workspace:
        owner = await self.store.read(lambda tx: workspace_owner(tx, context))
        return await asyncio.to_thread(self.share.workspace, *owner)


def workspace_owner(tx: Tx, context: CallContext) -> tuple[str, ...]:
    """Rule 60: a workspace is an agent's for a user; a conversation in which several people write has its own."""
    session = sessions.get(tx, context.turn.session_id)
    if session.parent_id is not None:
        session = sessions.get(tx, session.parent_id)
    return owner_of(context.agent.id, session)


def _is_below_files(path: str) -> bool:
    return path == FILES or path.startswith(f"{FILES}/")


def _look_at_files(name: str, given: Given, shown: Shown) -> str:
    if name == "list_files" and given["path"].rstrip("/") == FILES:
        lines = list(map(_line, shown.entries()))
        notes = [shown.note] if shown.note else []
        listed = frame("workspace.folder", "\n".join(lines), name=FILES) if lines else f"{FILES} is empty."
        return "\n".join([*notes, listed])
    place, file = shown.find(given["path"])
    if name == "list_files":
        return _list_files(place, {})
    return _read_file(place, {**given, "path": file})


def _read_file(workspace: Workspace, given: Given) -> str:
    path = given["path"]
    found = workspace.read_file(path, offset=given.get("offset", 1), limit=given.get("limit", DEFAULT_LINES))
    if not found.total:
        return f"{path} is empty."
    text, last, notes = _fitting_lines(found)
    if (found.first, last) != (1, found.total):
        notes.insert(0, f"Lines {found.first} to {last} of {found.total}.")
    if last < found.total:
        notes.append(f"Go on with offset {last + 1}.")
    return "\n".join([*notes, frame("workspace.file", clean(text), name=path)])


def _fitting_lines(found: Excerpt) -> tuple[str, int, list[str]]:
    """Give as many whole lines as one call shows, the number of the last, and what is to be said about them."""
    text = _fitting(found.text)
    if text == found.text:
        return text, found.last, []
    if whole := text[: text.rfind("\n") + 1]:
        return whole, found.first - 1 + whole.count("\n"), []
    return text, found.first, [f"Line {found.first} is cut after {_MAX_SHOWN >> 10} kB; see the rest with a program."]


def _write_file(workspace: Workspace, given: Given) -> str:
    path, text = given["path"], given["text"]
    workspace.write_file(path, text)
    return f"Wrote {path} ({len(text.encode())} bytes)."


def _edit_file(workspace: Workspace, given: Given) -> str:
    workspace.edit_file(given["path"], given["old"], given["new"])
    return f"Edited {given['path']}."


def _list_files(workspace: Workspace, given: Given) -> str:
    path = given.get("path", "")
    found = workspace.list_files(path)
    if not found:
        return f"{path or 'The workspace'} is empty."
    return frame("workspace.folder", "\n".join(map(_line, found)), name=path or WORKSPACE)


def _line(entry: Entry) -> str:
    # A line break in a name would make two files of one.
    name = entry.name if entry.name.isprintable() else entry.name.encode("unicode_escape").decode()
    return f"{name} ({entry.size} bytes)" if entry.kind == "file" else f"{name} ({entry.kind})"


def _command(given: Given) -> tuple[str, int]:
    command, seconds = given["command"], given.get("seconds", DEFAULT_SECONDS)
    if not command.strip():
        raise Invalid("command is empty.", field="command", code="missing")
    if not 1 <= seconds <= MAX_SECONDS:
        detail = f"seconds is {seconds}, but must be from 1 to {MAX_SECONDS}."
        raise Invalid(detail, field="seconds", code="out_of_range")
    return command, seconds


def _told(command: str, ran: Ran, seconds: int, took: float, used: int, unreadable: str | None) -> str:
    """Say how a command ended. A program that fails is a result: the tool did what it was asked for."""
    notes = [f"Exit code {ran.code} after {took:.1f} s."]
    if ran.ended == "timeout":
        notes = [f"Stopped after {seconds} s, with everything that it had started."]
    if ran.ended == "output":
        notes = [f"Stopped because it printed more than {MAX_OUTPUT >> 10} kB; let it write to a file instead."]
    notes += [unreadable] if unreadable else []
    out, err = _decoded(ran.out), _decoded(ran.err)
    if "\ufffd" in out + err:
        notes.append("Not all of the output is text in UTF-8: \ufffd stands for what is not.")
    if used > MAX_WORKSPACE:
        notes.append(
            f"The workspace holds more than its {MAX_WORKSPACE >> 20} MB, or very many files:"
            " delete what is not needed. Until then write_file and edit_file are refused."
        )
    printed = "\n".join([*([out.removesuffix("\n")] if out else []), *(["[stderr]", err] if err else [])])
    return "\n".join([*notes, frame("command.output", printed, name=command) if printed else "It printed nothing."])


def _decoded(printed: bytes) -> str:
    return _fitting(clean(printed.decode(errors="replace")))


def _fitting(text: str) -> str:
    return text.encode()[:_MAX_SHOWN].decode(errors="ignore")


_PATH: Mapping[str, object] = {"type": "string", "description": f"In your workspace: relative, or below {WORKSPACE}"}
_COMMAND = parameters(
    required=["command"],
    command={"type": "string", "description": "For bash, such as: python3 report.py | head"},
    seconds={"type": "integer", "description": f"Stop it then; default {DEFAULT_SECONDS}, at most {MAX_SECONDS}"},
)
_FILE_TOOLS: Mapping[str, _FileTool] = {
    "read_file": _FileTool(
        description=f"Read a text file of your workspace, or of this conversation's messages at {FILES}/ID/NAME.",
        parameters=parameters(
            required=["path"],
            path=_PATH,
            offset={"type": "integer", "description": "First line, from 1"},
            limit={"type": "integer", "description": f"How many lines; default {DEFAULT_LINES}"},
        ),
        work=_read_file,
        repeatable=True,
        reads_only=True,
    ),
    "write_file": _FileTool(
        description="Write a text file in your workspace, which lasts beyond this conversation. Replaces the old one.",
        parameters=parameters(
            required=["path", "text"], path=_PATH, text={"type": "string", "description": "All of the file"}
        ),
        work=_write_file,
        # The same text again is the same file.
        repeatable=True,
    ),
    "edit_file": _FileTool(
        description="Replace one place in a text file of your workspace.",
        parameters=parameters(
            required=["path", "old", "new"],
            path=_PATH,
            old={"type": "string", "description": "The text there, exactly; it must occur once"},
            new={"type": "string", "description": "What stands there afterwards"},
        ),
        work=_edit_file,
        # The new text may hold the old one, and would be put in twice.
        repeatable=False,
    ),
    "list_files": _FileTool(
        description=f"List a folder of your workspace, or {FILES}: the files of this conversation's messages.",
        parameters=parameters(path={"type": "string", "description": "A folder; default: the whole workspace's top"}),
        work=_list_files,
        repeatable=True,
        reads_only=True,
    ),
}
