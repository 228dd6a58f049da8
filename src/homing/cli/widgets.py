"""Small drawings that tables are made of. Imports Rich: for people's answers only."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from homing.cli.format import RUN_GLYPHS, away, moment
from homing.cli.visible import visible
from homing.model.contract import Json

QUIET = "bright_black"
_GAP = 2
_LEAST = 12


@dataclass(frozen=True)
class Visible:
    """Output that cannot control the terminal: Rich's own colours stay, text from outside is shown as escapes."""

    drawing: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.drawing, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A table without lines that fits its screen: the columns in `gives` become narrower, in that order; others never.

    What does not fit ends in an ellipsis, or with `fold` goes on in the next line.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str | Text]]
    gives: Sequence[str]
    fold: bool = False

    def fits(self, width: int) -> bool:
        """Say whether nothing has to give way."""
        return sum(widths := self._widths()) + _GAP * (len(widths) - 1) <= width

    def _widths(self) -> list[int]:
        return [max([len(heading), *(_width(row[n]) for row in self.rows)]) for n, heading in enumerate(self.headings)]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self._widths()
        over = sum(widths) + _GAP * (len(widths) - 1) - options.max_width
        for n in (self.headings.index(name) for name in self.gives):
            narrower = max(min(widths[n], _LEAST), widths[n] - max(0, over))
            over -= widths[n] - narrower
            widths[n] = narrower
        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style=QUIET)
        for heading, width in zip(self.headings, widths, strict=True):
            folds = self.fold and heading in self.gives
            table.add_column(
                _heading(heading), width=width, overflow="fold" if folds else "ellipsis", no_wrap=not folds
            )
        for row in self.rows:
            table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
        yield table


@dataclass(frozen=True, kw_only=True)
class Roomy:
    """One line per row where the screen has room for all of it, otherwise another drawing."""

    wide: Listing
    narrow: Listing

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.wide if self.wide.fits(options.max_width) else self.narrow


def _heading(given: str) -> str:
    """Shout the word, not the zone that may stand behind it."""
    word, opened, zone = given.partition(" (")
    return word.upper() + opened + zone


def _width(cell: str | Text) -> int:
    text = Text(cell) if isinstance(cell, str) else cell
    return max((line.cell_len for line in text.split()), default=0)


def facts(rows: Iterable[tuple[str, RenderableType | None]]) -> Table:
    """Draw names and what they stand for; what is not there is left out."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style=QUIET, no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        if value is not None and value != "":
            table.add_row(name, value)
    return table


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
