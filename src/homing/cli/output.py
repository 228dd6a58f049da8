"""Answers on stdout: the API's JSON, one object per line, or text for people. Rich is imported only for people."""

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from homing.cli.visible import json_text, visible
from homing.model.contract import Json

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

PIPED_WIDTH = 200


@dataclass(frozen=True, kw_only=True)
class Screen:
    """Where an answer goes, and in which of the two ways."""

    as_json: bool
    warnings: set[str] = field(default_factory=set[str])
    """What the answers warned of so far."""

    def show(self, answer: Json, drawn: Callable[[], "RenderableType"]) -> None:
        """Show one object."""
        self.warnings.update(answer.get("warnings") or ())
        if self.as_json:
            write_json(answer)
        else:
            draw_on_stdout(drawn())

    def show_all(self, answers: Iterable[Json], drawn: Callable[[list[Json]], "RenderableType"]) -> None:
        """Show a list: as JSON each object as it comes, for people a table of all."""
        if not self.as_json:
            draw_on_stdout(drawn(list(answers)))
            return
        for answer in answers:
            write_json(answer)

    def say(self, text: str) -> None:
        """Say a plain sentence to people; programs have the object."""
        if not self.as_json:
            sys.stdout.write(visible(text) + "\n")


def write_json(answer: Any) -> None:
    sys.stdout.write(json_text(answer) + "\n")


def note(text: str) -> None:
    """Say something beside the answer, on stderr."""
    sys.stderr.write(visible(text) + "\n")


def abandon_stdout() -> None:
    """The reader has seen enough (`| head`): nothing is left to say, not even by Python at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def draw_on_stdout(drawing: "RenderableType") -> None:
    """Draw for people; piped, without the blanks that fill a table's cells."""
    from homing.cli.widgets import Visible

    paper = console()
    if sys.stdout.isatty():
        paper.print(Visible(drawing))
        return
    with paper.capture() as captured:
        paper.print(Visible(drawing))
    sys.stdout.write("".join(line.rstrip() + "\n" for line in captured.get().splitlines()))


def console() -> "Console":
    """Make the console for people: as wide as the terminal; piped, wide enough to cut nothing, and plain."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPED_WIDTH
    return Console(width=width, highlight=False, emoji=False, markup=False)
