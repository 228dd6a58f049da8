"""`homing watch`: what happens in all conversations, line by line, for as long as somebody looks."""

import http.client
import select
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from homing.cli.chat.stream import Event, Stream
from homing.cli.connection import AsJson, running_server
from homing.cli.output import abandon_stdout, draw_on_stdout, note, write_json
from homing.cli.problems import Problem, failed
from homing.client.problems import Unreachable
from homing.model.contract import Json
from homing.settings import Settings, load

if TYPE_CHECKING:
    from homing.client.remote import Client

_AGAIN_SECONDS = 1.0
_TOLD = frozenset({"message", "run", "job", "delivery", "inbox"})


def watch(as_json: AsJson = False) -> None:
    """Show what happens in all conversations as it happens, until Ctrl-C. A restarted server is found again."""
    settings = load()
    server = running_server(settings)
    if server is None:
        raise failed("Watching needs a running server, and none is.", hint="Start one: `homing up`.")
    # Both are how one stops looking. Typer would call the second a failure.
    try:
        _watch(settings, server, as_json=as_json)
    except KeyboardInterrupt:
        return
    except BrokenPipeError:
        abandon_stdout()


def _watch(settings: Settings, server: "Client", *, as_json: bool) -> None:
    if not as_json:
        from homing.cli.status import status_card

        draw_on_stdout(status_card(server.ask("get_status"), alive=True))
    board = _Board(as_json=as_json)
    for event in _events(settings, server):
        if event.noun == "ping" and _reader_left():
            raise BrokenPipeError
        board.show(event)
        # In a pipe nothing is seen before it is written, and a reader that left is not noticed.
        sys.stdout.flush()


def _events(settings: Settings, server: "Client") -> Iterator[Event]:
    """Give the events of this home's server, whichever it is at the time."""
    while True:
        with suppress(OSError, http.client.HTTPException, Unreachable):
            yield from Stream(server, None).connected()
        server.close()
        note("The server is away; waiting for it.")
        server = _wait_for(settings)
        note("The server is back. What happened meanwhile: `homing inbox`.")


def _wait_for(settings: Settings) -> "Client":
    while True:
        time.sleep(_AGAIN_SECONDS)
        # One that is starting or stopping is a problem to other commands; here it is only not there yet.
        with suppress(Problem):
            if (server := running_server(settings)) is not None:
                return server


def _reader_left() -> bool:
    """Say whether nobody reads our output any more: only writing, or asking, tells."""
    with suppress(OSError, ValueError):
        asked = select.poll()
        asked.register(sys.stdout.fileno(), select.POLLERR)
        return any(state & select.POLLERR for _, state in asked.poll(0))
    return False


class _Board:
    """What was shown, so that a state that comes twice is told once."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._last: dict[str, str] = {}

    def show(self, event: Event) -> None:
        """Show an event; those that only a page needs are left out."""
        if event.noun not in _TOLD:
            return
        if self._as_json:
            write_json({"event": event.noun, "data": event.data})
            return
        told = _LINES[event.noun](event.data)
        which = f"{event.noun} {event.data.get('id') or event.data.get('session_key')}"
        if told is not None and self._last.get(which) != told[1]:
            self._last[which] = told[1]
            draw_on_stdout(_line(*told))


def _line(sign: tuple[str, str], text: str) -> Any:
    from rich.text import Text

    from homing.cli.widgets import QUIET

    at = time.strftime("%H:%M:%S")
    return Text.assemble((at, QUIET), " ", sign, " ", " ".join(text.split()), no_wrap=True, overflow="ellipsis")


def _message(message: Json) -> tuple[tuple[str, str], str] | None:
    signs = {"reminder": ("◷", "yellow"), "scheduled": ("◷", "yellow"), "report": ("◷", "yellow")}
    usual = ("‹", "cyan") if message["role"] == "user" else ("›", "green")
    return signs.get(message["kind"], usual), f"{message['session_key']}  {message['text']}"


def _run(run: Json) -> tuple[tuple[str, str], str] | None:
    from homing.cli.format import RUN_GLYPHS, outcome

    name = run.get("job_name") or run["job_id"]
    return RUN_GLYPHS.get(run["state"], ("?", "")), f"{name}: {outcome(run)}"


def _job(job: Json) -> tuple[tuple[str, str], str] | None:
    from homing.cli.format import JOB_GLYPHS

    state = "removed" if job["removed_at"] else job["status_words"]
    return JOB_GLYPHS.get(job["status"], ("?", "")), f"{job['name']}: {job['words']} ({state})"


def _delivery(delivery: Json) -> tuple[tuple[str, str], str] | None:
    from homing.cli.format import DELIVERY_GLYPHS

    if delivery["state"] == "pending" or delivery["address"].partition(":")[0] in ("web", "cli"):
        return None
    return DELIVERY_GLYPHS[delivery["state"]], f"{delivery['address']}: {delivery['state']}"


def _inbox(counts: Json) -> tuple[tuple[str, str], str] | None:
    told = ", ".join(f"{count} {name}" for name, count in counts.items() if isinstance(count, int) and count)
    return ("·", ""), f"inbox: {told or 'nothing waits for you'}"


_LINES = {"message": _message, "run": _run, "job": _job, "delivery": _delivery, "inbox": _inbox}
