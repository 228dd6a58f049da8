"""What the terminal shows: finished messages, the answer being written, and a prompt that survives both."""

import os
import sys
import termios
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.patch_stdout import patch_stdout
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text

from homing.cli.files import told
from homing.cli.format import hook_of, in_zone, moment, now, unkept_promise
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

    def __init__(self, zone: str, *, history: Path | None = None, words: Sequence[str] = ()) -> None:
        self.console = Console(highlight=False, emoji=False, markup=False)
        self._history = history
        self._words = list(words)
        self._prompt: PromptSession[str] | None = None
        self._zone = zone
        self._lock = threading.RLock()
        self._typing = False
        self._live: Live | None = None
        self._text = ""
        self._doing = ""

    def say(self, drawing: RenderableType) -> None:
        """Write something finished; a prompt that is open stays below it."""
        with self._lock:
            self._stop_live()
            self.console.print(Visible(drawing))
            sys.stdout.flush()

    def message(self, message: Json) -> None:
        """Write a message of the conversation."""
        self.say(drawn(message, self._zone))

    def ask(self) -> str:
        """Let the person write a line."""
        with self._lock:
            self._stop_live()
            self._typing = True
            self._prompt = self._prompt or self._open_prompt()
        try:
            # What is written meanwhile goes above the prompt.
            with patch_stdout(raw=True):
                return self._prompt.prompt(PROMPT)
        finally:
            with self._lock:
                self._typing = False

    def _open_prompt(self) -> "PromptSession[str]":
        # Asking the terminal where the cursor is takes an answer that not every terminal gives.
        os.environ.setdefault("PROMPT_TOOLKIT_NO_CPR", "1")
        completer = WordCompleter(self._words, sentence=True)
        return PromptSession(history=open_history(self._history), completer=completer, complete_while_typing=False)

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
    unkept = unkept_promise(message)
    mark = [Padding(Text(unkept, style="yellow"), (0, 0, 1, 2))] if unkept else []
    files = [Padding(Text(told(file), style=QUIET), (0, 0, 0, 2)) for file in message.get("files") or ()]
    return Group(head, Padding(body, (0, 0, 1, 2)), *files, *mark)


def _head(message: Json) -> tuple[str, str]:
    if hook := hook_of(message):
        return hook, "bold yellow"
    if message["kind"] in _HEADS and not (message["kind"] == "scheduled" and message["role"] == "assistant"):
        return _HEADS[message["kind"]]
    return ("You", "bold cyan") if message["role"] == "user" else ("Homing", "bold green")


def open_history(path: Path | None) -> History:
    """Keep what was typed in a file that only its owner reads; where that cannot be, for this time only."""
    if path is None:
        return InMemoryHistory()
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        path.chmod(0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))
