"""Answers that are mostly sentences: why, and what a schedule means."""

from rich.console import Group, RenderableType
from rich.text import Text

from homing.cli import widgets
from homing.cli.format import RUN_GLYPHS, instant, now
from homing.model.contract import Json


def why_card(answer: Json) -> RenderableType:
    """Draw the sentences, and those of further runs."""
    parts: list[RenderableType] = [Text(answer["answer"])]
    if answer["next_run_at"]:
        point = widgets.point(instant(answer["next_run_at"]), answer["timezone"], now())
        parts.append(Text.assemble(("Next  ", widgets.QUIET), point))
    further = [run for run in answer["runs"] if run["sentence"] not in answer["answer"]]
    parts += [Text.assemble(widgets.sign(RUN_GLYPHS, run["state"]), " ", run["sentence"]) for run in further]
    return Group(*parts)


def preview_card(answer: Json) -> RenderableType:
    """Draw the words and the instants of a schedule."""
    current = now()
    parts: list[RenderableType] = [Text(answer["words"], style="bold")]
    parts += [widgets.point(instant(at), answer["timezone"], current) for at in answer["next"]]
    parts += [Text(f"Note: {warning}", style="yellow") for warning in answer["warnings"]]
    return Group(*parts)
