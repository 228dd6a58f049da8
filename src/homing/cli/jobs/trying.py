"""`cron try`: what an automation would do now, without writing into its conversation."""

import time
from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, Connection, connected, need_server
from homing.cli.jobs.scripts import sentence
from homing.cli.lookup import find_job
from homing.cli.problems import FAILED
from homing.model.contract import Json

_FIRST_SECONDS, _LONGEST_SECONDS = 0.1, 1.0


def try_job(
    given: Annotated[str, typer.Argument(metavar="ID", help="Its id, or words of its name.")],
    message: Annotated[
        str | None, typer.Option("-m", "--message", help="Test with this message instead of its own.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Test an automation now: nothing is written into its conversation. Exit 1 if it fails.

    Tools that may change something are not called; the answer lists what would have been called.
    """
    with connected(as_json) as connection:
        need_server(connection, "cron try")
        job = find_job(connection.server, given)
        trial = connection.server.ask("try_job", job_id=job["id"], message=message)
        turn = _watch(connection, trial["id"]) if trial["id"] else None
        shown = trial if turn is None else trial | {"state": "closed", "answer": turn["answer"], "turn": turn}
        connection.screen.show(shown, lambda: _drawn(job, trial, turn))
    if (turn and turn["outcome"] != "answered") or (trial["script"] and trial["script"]["fault"]):
        raise typer.Exit(FAILED)


def _watch(connection: Connection, turn_id: str) -> Json:
    pause = _FIRST_SECONDS
    while (turn := connection.server.ask("get_turn", turn_id=turn_id))["state"] != "closed":
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_SECONDS)
    return turn


def _drawn(job: Json, trial: Json, turn: Json | None) -> Any:
    from rich.console import Group
    from rich.markdown import Markdown
    from rich.text import Text

    from homing.cli.format import spent, took
    from homing.cli.visible import visible

    used = f", {spent(turn['usage'])}" if turn and spent(turn["usage"]) else ""
    lasted = f" took {took(turn['duration_ms'])}{used};" if turn else ""
    parts: list[Any] = [Text(f"Test of {visible(job['name'])}:{lasted} nothing was written into its conversation.")]
    if trial["script"]:
        parts.append(Text(visible(sentence(trial["script"])), style="dim"))
    if answer := (turn or trial)["answer"]:
        parts.append(Markdown(visible(answer)))
    parts += [
        Text(f"Would have called {call['name']} {visible(call['arguments'])}", style="yellow")
        for call in (turn["would_have_called"] if turn else ())
    ]
    if turn and turn["error_summary"]:
        parts.append(Text(visible(turn["error_summary"]), style="red"))
    return Group(*parts)
