"""`homing doctor`: looks at everything that commonly goes wrong, and says how to fix what did."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import homing
from homing.cli.connection import AsJson
from homing.cli.output import draw_on_stdout, write_json
from homing.cli.problems import FAILED
from homing.settings import Settings, load

if TYPE_CHECKING:
    from homing.cli.checks import Finding

_SIGNS = {"ok": ("●", "green"), "note": ("○", "yellow"), "wrong": ("✕", "red")}


def doctor(as_json: AsJson = False) -> None:
    """Check clock, time zones, disk, database, model, channels, sandbox and engine, and say how to fix problems."""
    findings = _look(load())
    if as_json:
        for finding in findings:
            write_json(asdict(finding))
    else:
        _draw(findings)
    if any(finding.state == "wrong" for finding in findings):
        raise typer.Exit(FAILED)


def _look(settings: Settings) -> "list[Finding]":
    from homing.cli import checks
    from homing.cli.logs import quiet_logs

    quiet_logs()
    ask_server = cache(lambda: checks.ask_server(settings))
    looks: Sequence[tuple[str, Callable[[], Finding | list[Finding]]]] = (
        ("Clock", lambda: checks.look_at_clock(checks.made_at(Path(homing.__file__)))),
        ("Time zones", lambda: checks.look_at_zones(settings)),
        ("Disk", lambda: checks.look_at_disk(settings)),
        ("Database", lambda: checks.look_at_store(settings)),
        ("Model", lambda: checks.look_at_model(settings)),
        ("Channels", lambda: checks.look_at_channels(settings, ask_server()[1])),
        ("Notifications", lambda: checks.look_at_push(settings)),
        ("Sandbox", lambda: checks.look_at_sandbox(settings)),
        ("Files", lambda: checks.look_at_files(settings)),
        ("Restate", lambda: checks.look_at_restate(settings)),
        ("Server", lambda: ask_server()[0]),
    )
    found: list[Finding] = []
    for what, look in looks:
        try:
            seen = look()
        except Exception as error:  # noqa: BLE001 - a look that breaks is a finding, and the others go on
            seen = checks.wrong(what, f"This could not be looked at: {error}", "HOMING_DEBUG=1 shows more.")
        found += seen if isinstance(seen, list) else [seen]
    return found


def _draw(findings: "Sequence[Finding]") -> None:
    from rich.text import Text

    from homing.cli import widgets

    rows = [
        (
            widgets.sign(_SIGNS, one.state),
            one.what,
            Text(one.said) if one.fix is None else widgets.two_lines(one.said, one.fix),
        )
        for one in findings
    ]
    draw_on_stdout(widgets.Listing(headings=("", "what", "how it is"), rows=rows, gives=("how it is",), fold=True))
