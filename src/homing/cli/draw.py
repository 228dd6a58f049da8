"""Small drawings that tables are made of. Imports Rich: for people's answers only."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from homing.cli.look import RUN_GLYPHS, away, moment
from homing.cli.server import Json

QUIET = "bright_black"


def listing(*columns: str, fold: str | None = None) -> Table:
    """Begin a table without lines; `fold` names the column that gives way first."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=QUIET)
    for name in columns:
        table.add_column(name.upper(), overflow="ellipsis", no_wrap=name != fold, ratio=None)
    return table


def facts(rows: Iterable[tuple[str, RenderableType | None]]) -> Table:
    """Draw names and what they stand for; what is not there is left out."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style=QUIET, no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        if value is not None and value != "":
            table.add_row(name, value)
    return table


def stacked(*lines: RenderableType) -> Group:
    return Group(*lines)


def sign(glyphs: Mapping[str, tuple[str, str]], state: str) -> Text:
    """Draw a state's shape in its colour."""
    glyph, colour = glyphs.get(state, ("?", QUIET))
    return Text(glyph, style=colour)


def strip(recent: Sequence[Json], room: int = 10) -> Text:
    """Draw a job's last runs, the oldest at the left."""
    drawn = Text()
    for run in reversed(recent[:room]):
        drawn.append_text(sign(RUN_GLYPHS, run["state"]))
    return drawn


def point(at: datetime, tz: str, now: datetime) -> Text:
    """Draw an instant on one line: wall time, zone, how far."""
    return Text.assemble(moment(at, now), (f" {tz}", QUIET), (f"  {away(at, now)}", QUIET))


def two_lines(first: str | Text, second: str | Text, style: str = "") -> Text:
    """Draw a cell of two lines, the second one quiet."""
    drawn = Text(first, style=style) if isinstance(first, str) else first.copy()
    drawn.append("\n")
    drawn.append_text(second if isinstance(second, Text) else Text(second, style=QUIET))
    return drawn
