"""What the terminal shows: finished messages, the answer being written, and a prompt that survives both."""

import sys
import termios
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text

from homing.cli.format import hook_of, in_zone, moment, now
from homing.cli.visible import visible
from homing.cli.widgets import QUIET, Visible
from homing.model.contract import Json

PROMPT = "› "
_HEADS = {
    "scheduled": ("◷ Scheduled", "yellow"),
    "reminder": ("◷ Reminder", "yellow"),
    "report": ("◷ Report", "yellow"),
    "note": ("· Note", QUIET),
    "status": ("· Status", QUIET),
}


class Paper:
    """The terminal. One lock, since the stream and the person write at the same time."""

    def __init__(self, zone: str) -> None:
        self.console = Console(highlight=False, emoji=False, markup=False)
        self._zone = zone
        self._lock = threading.RLock()
        self._typing = False
        self._live: Live | None = None
        self._text = ""
        self._doing = ""

    def say(self, drawing: RenderableType) -> None:
        """Write something finished; a prompt that is open is drawn again below it."""
        with self._lock:
            self._stop_live()
            if self._typing:
                self._lift_prompt()
            self.console.print(Visible(drawing))
            if self._typing:
                self._draw_prompt()

    def message(self, message: Json) -> None:
        """Write a message of the conversation."""
        self.say(drawn(message, self._zone))

    def ask(self) -> str:
        """Let the person write a line."""
        with self._lock:
            self._stop_live()
            self._typing = True
        try:
            return input(PROMPT)
        finally:
            with self._lock:
                self._typing = False

    def begin(self, doing: str) -> None:
        """Show that an answer is on its way."""
        with self._lock:
            if self._typing or not self.console.is_terminal:
                return
            self._text, self._doing = "", doing
            self._refresh()

    def write(self, text: str, *, whole: bool) -> None:
        """Show more of the answer being written."""
        with self._lock:
            if self._typing or not self.console.is_terminal:
                return
            self._text = text if whole else self._text + text
            self._refresh()

    def end(self) -> None:
        """Take away what was only shown meanwhile."""
        with self._lock:
            self._stop_live()

    def _refresh(self) -> None:
        if self._live is None:
            self._live = Live(console=self.console, transient=True, refresh_per_second=12)
            self._live.start()
        self._live.update(Visible(self._unfinished()))

    def _unfinished(self) -> RenderableType:
        if not self._text:
            return Text(f"  … {self._doing}", style=QUIET)
        # A live region taller than the screen would leave its traces behind: the end of it is what is read.
        room = max(4, self.console.height - 6)
        tail = "\n".join(self._text.splitlines()[-room:])
        return Padding(Markdown(visible(tail)), (0, 0, 0, 2))

    def _stop_live(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        self._text = ""

    def _lift_prompt(self) -> None:
        rows = (len(PROMPT) + len(_typed())) // max(1, self.console.width)
        up = f"\x1b[{rows}A" if rows else ""
        sys.stdout.write(f"\r{up}\x1b[J")
        sys.stdout.flush()

    def _draw_prompt(self) -> None:
        sys.stdout.write(PROMPT + _typed())
        sys.stdout.flush()


@contextmanager
def silent_keys() -> Generator[None]:
    """Do not echo keys while an answer is being written: each would break the lines that are drawn again and again."""
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    silent = termios.tcgetattr(handle)
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(handle, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)


def drawn(message: Json, zone: str) -> RenderableType:
    """Draw a message: who and when, then what."""
    at = moment(in_zone(message["created_at"], zone), now())
    dead = [delivery["address"] for delivery in message["deliveries"] if delivery["state"] == "dead"]
    undelivered = f"  not delivered: {', '.join(dead)}" if dead else ""
    head = Text.assemble(_head(message), (f"  {at} {zone}", QUIET), (undelivered, "red"))
    # Before Markdown, too: a link's address goes into an escape sequence of Rich's own.
    text = visible(message["text"])
    body = Markdown(text) if message["role"] == "assistant" else Text(text)
    return Group(head, Padding(body, (0, 0, 1, 2)))


def _head(message: Json) -> tuple[str, str]:
    if hook := hook_of(message):
        return hook, "bold yellow"
    if message["kind"] in _HEADS and not (message["kind"] == "scheduled" and message["role"] == "assistant"):
        return _HEADS[message["kind"]]
    return ("You", "bold cyan") if message["role"] == "user" else ("Homing", "bold green")


def _typed() -> str:
    with suppress(ImportError):
        import readline

        return readline.get_line_buffer()
    return ""
