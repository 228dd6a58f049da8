"""`cron try-script`: run a script once, as its automation would."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, connected
from homing.cli.problems import FAILED, refused
from homing.model.contract import Json


def try_script(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The script; - reads it from stdin.")],
    language: Annotated[str | None, typer.Option(help="bash or python; a .py file is python.")] = None,
    hosts: Annotated[str | None, typer.Option(help="Hosts that it may reach, with commas.")] = None,
    seconds: Annotated[int | None, typer.Option(help="Time limit in seconds (default 30).")] = None,
    state: Annotated[str | None, typer.Option(help="The state that it finds, as JSON.")] = None,
    agent: Annotated[str | None, typer.Option(help="Agent whose hosts it may use (default: main).")] = None,
    as_json: AsJson = False,
) -> None:
    """Test-run a check script; nothing is kept. Exit 1 if it does not work."""
    body: Json = {
        "script": _read(file),
        "script_language": language or ("python" if file.endswith(".py") else None),
        "script_hosts": [host.strip() for host in hosts.split(",") if host.strip()] if hosts else None,
        "script_seconds": seconds,
        "agent_id": agent,
        "state": None if state is None else _parsed(state),
    }
    with connected(as_json) as connection:
        answer = connection.server.ask("try_script", **body)
        connection.screen.show(answer, lambda: _drawn(answer))
    if answer["fault"]:
        raise typer.Exit(FAILED)


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise refused(f"{file} cannot be read: {error}.") from None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise refused(f"--state is not JSON: {error}.") from None


def _drawn(answer: Json) -> Any:
    from rich.console import Group
    from rich.text import Text

    from homing.cli.visible import visible

    lines = [Text(visible(answer[stream].rstrip()), style="dim") for stream in ("out", "err") if answer[stream].strip()]
    return Group(*lines, Text(sentence(answer), style="red" if answer["fault"] else "green"))


def sentence(answer: Json) -> str:
    """Say how a script that was tried ended."""
    if answer["fault"]:
        return answer["fault"]
    said = answer["result"]
    kept = ", and its state would be kept" if said["state"] is not None else ""
    return f"The agent {'would be woken' if said['wakeAgent'] else 'would not be woken'}{kept}."
