"""`homing import FOLDER`: a persona in files becomes an agent, or changes the agent that came from it before."""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from homing.cli.connection import Connection, connected
from homing.cli.problems import Problem, refused
from homing.model.agents import MAX_INSTRUCTIONS, check_id, id_from_name
from homing.model.contract import Json

_HEADINGS = {"SOUL.md": "Who you are", "AGENTS.md": "How you work", "USER.md": "About the user"}
_CHECKLIST = "HEARTBEAT.md"
_MOST_BYTES = 4 * MAX_INSTRUCTIONS
_IGNORED_SHOWN = 20
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Persona:
    """What a folder says about an agent."""

    instructions: str
    checklist: str | None
    files: tuple[Json, ...]
    ignored: tuple[str, ...]


def import_folder(folder: Path, agent: str | None, *, apply: bool, as_json: bool) -> None:
    """Show what a persona would become; with `apply`, make or change its agent."""
    persona = read_persona(folder)
    with connected(as_json) as connection:
        agent_id = agent or id_from_name(folder.resolve().name)
        before = _known(connection, agent_id)
        if connection.server.ask("get_me")["role"] != "admin":
            raise refused("Only an admin may make or change agents.", code="forbidden")
        if before is None:
            check_id(agent_id)
        body: Json = {"instructions": persona.instructions, "heartbeat": {"checklist": persona.checklist}}
        changes = before is None or _differs(before, persona)
        name = folder.resolve().name
        after = _written(connection, agent_id, name, body, before) if apply and changes else before
        told: Json = {
            "agent_id": agent_id,
            "action": "add" if before is None else "update" if changes else "none",
            "applied": apply and changes,
            "files": list(persona.files),
            "ignored": list(persona.ignored),
            **body,
            "agent": after if apply else None,
        }
        connection.screen.show(told, lambda: _drawn(told, before))


def read_persona(folder: Path) -> Persona:
    """Read the files of a persona that are there; what else lies in the folder is named and left alone."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise refused(f"{folder} cannot be read: {error.strerror}.") from None
    texts = {name: _read(folder / name) for name in (*_HEADINGS, _CHECKLIST) if name in names}
    parts = [f"# {heading}\n\n{texts[name]}" for name, heading in _HEADINGS.items() if texts.get(name)]
    if not parts:
        raise refused(
            f"{folder} holds no persona: there is nothing in {', '.join(_HEADINGS)}.",
            hint="Write SOUL.md (who it is), AGENTS.md (how it works) or USER.md (about you) and try again.",
        )
    instructions = "\n\n".join(parts)
    if len(instructions) > MAX_INSTRUCTIONS:
        raise refused(
            f"Together these files have {len(instructions):,} characters; instructions have at most"
            f" {MAX_INSTRUCTIONS:,}. Shorten them."
        )
    checklist = texts.get(_CHECKLIST)
    uses = {**_HEADINGS, _CHECKLIST: "Checklist of the heartbeat"}
    files = [{"name": name, "use": uses[name], "characters": len(text)} for name, text in texts.items()]
    return Persona(
        instructions=instructions,
        checklist=checklist if checklist and _says_something(checklist) else None,
        files=tuple(files),
        ignored=tuple(name for name in names if name not in texts),
    )


def _read(path: Path) -> str:
    try:
        # Not through a link, which may lead out of the folder; and a pipe must not keep us waiting.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        reason = "it is a link, and links are not followed" if path.is_symlink() else error.strerror
        raise refused(f"{path} cannot be read: {reason}.") from None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise refused(f"{path} is not a regular file.")
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise refused(f"{path} is larger than {_MOST_BYTES:,} bytes. Shorten it.")
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").strip()
    except UnicodeDecodeError:
        raise refused(f"{path} is not UTF-8 text.") from None


def _says_something(checklist: str) -> bool:
    """Headings and comments alone ask for nothing."""
    lines = (line.strip() for line in _COMMENT.sub("", checklist).splitlines())
    return any(line and not line.startswith("#") for line in lines)


def _known(connection: Connection, agent_id: str) -> Json | None:
    try:
        return connection.server.ask("get_agent", agent_id=agent_id)
    except Problem as problem:
        if problem.code != "not_found":
            raise
        return None


def _differs(before: Json, persona: Persona) -> bool:
    now = (before.get("instructions"), before.get("heartbeat", {}).get("checklist"))
    return now != (persona.instructions, persona.checklist)


def _written(connection: Connection, agent_id: str, name: str, body: Json, before: Json | None) -> Json:
    if before is None:
        return connection.server.ask("add_agent", id=agent_id, name=name, **body)
    return connection.server.ask("update_agent", agent_id=agent_id, revision=before["revision"], **body)


def _drawn(told: Json, before: Json | None) -> Any:
    from rich.console import Group
    from rich.text import Text

    from homing.cli import widgets

    rows = [(file["name"], file["use"], f"{file['characters']:,} characters") for file in told["files"]]
    table = widgets.Listing(headings=("file", "becomes", "length"), rows=rows, gives=("becomes",))
    lines = [_ending(told, before)]
    if told["ignored"]:
        more = len(told["ignored"]) - _IGNORED_SHOWN
        shown = ", ".join(told["ignored"][:_IGNORED_SHOWN]) + (f" and {more} more" if more > 0 else "")
        lines.insert(0, f"Ignored: {shown}.")
    agent: Json = told["agent"] or {}
    lines += [f"Note: {warning}" for warning in agent.get("warnings", ())]
    return Group(table, *map(Text, lines))


def _ending(told: Json, before: Json | None) -> str:
    agent_id = told["agent_id"]
    if told["action"] == "none":
        return f"The agent {agent_id} is already as these files say."
    if not told["applied"]:
        would = "be made" if before is None else f"change (revision {before['revision']})"
        return f"The agent {agent_id} would {would}. Nothing is changed yet: add --apply."
    verb = "Added" if before is None else "Changed"
    return f"{verb} the agent {agent_id}. Talk to it: homing chat --agent {agent_id}"
