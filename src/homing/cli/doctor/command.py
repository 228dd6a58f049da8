"""The command `homing doctor`."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import typer

import homing
from homing.cli.connection import AsJson, running_server
from homing.cli.doctor.findings import Finding, noted, ok, wrong
from homing.cli.output import draw_on_stdout, write_json
from homing.cli.problems import FAILED, Problem, hint_of, spoken
from homing.settings import Settings, load

_SIGNS = {"ok": ("●", "green"), "note": ("○", "yellow"), "wrong": ("✕", "red")}


def doctor(as_json: AsJson = False) -> None:
    """Look at clock, zones, disk, database, model, channels, sandbox and engine; say how to fix what is wrong."""
    findings = _look(load())
    if as_json:
        for finding in findings:
            write_json(asdict(finding))
    else:
        _draw(findings)
    if any(finding.state == "wrong" for finding in findings):
        raise typer.Exit(FAILED)


def _look(settings: Settings) -> list[Finding]:
    from homing.cli.doctor.host import look_at_clock, look_at_disk, look_at_sandbox, look_at_zones, made_at
    from homing.cli.doctor.store import look_at_store
    from homing.cli.doctor.world import look_at_channels, look_at_model
    from homing.cli.logs import quiet_logs

    quiet_logs()
    looks: Sequence[tuple[str, Callable[[], Finding | list[Finding]]]] = (
        ("Clock", lambda: look_at_clock(made_at(Path(homing.__file__)))),
        ("Time zones", lambda: look_at_zones(settings)),
        ("Disk", lambda: look_at_disk(settings)),
        ("Database", lambda: look_at_store(settings)),
        ("Model", lambda: look_at_model(settings)),
        ("Channels", lambda: look_at_channels(settings)),
        ("Sandbox", lambda: look_at_sandbox(settings)),
        ("Server", lambda: _look_at_server(settings)),
    )
    found: list[Finding] = []
    for what, look in looks:
        try:
            seen = look()
        except Exception as error:  # noqa: BLE001 - a look that breaks is a finding, and the others go on
            seen = wrong(what, f"This could not be looked at: {error}", "HOMING_DEBUG=1 shows more.")
        found += seen if isinstance(seen, list) else [seen]
    return found


def _look_at_server(settings: Settings) -> Finding:
    try:
        server = running_server(settings)
        if server is None:
            return noted("Server", "none of this home is running", "homing up")
        with closing(server):
            version = server.ask("get_status")["version"]
    except Problem as problem:
        return wrong("Server", spoken(problem), hint_of(problem) or "Start it again.")
    if version != homing.__version__:
        fix = "Start the server again, so that both are the same."
        return wrong("Server", f"{server.url} is version {version}, this command {homing.__version__}.", fix)
    return ok("Server", f"{server.url} answers")


def _draw(findings: Sequence[Finding]) -> None:
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
