"""How Homing is, on one card."""

from datetime import datetime

from rich.console import RenderableType
from rich.text import Text

from homing.cli import widgets
from homing.cli.format import away, in_zone, instant, now
from homing.model.contract import Json


def status_card(answer: Json, *, alive: bool) -> RenderableType:
    """Draw what get_status tells."""
    current = now()
    scheduler, jobs, runs, deliveries = (answer[name] for name in ("scheduler", "jobs", "runs", "deliveries"))
    wake = scheduler["next_wake_at"]
    zone = answer["timezone"]
    return widgets.facts(
        [
            ("Scheduler", _scheduler(scheduler, alive=alive)),
            ("Next wake", _wake(wake, zone, current, alive=alive)),
            (
                "Automations",
                _counted(jobs, {"active": "active", "paused": "paused", "attention": "need you", "done": "done"}),
            ),
            ("Runs", _counted(runs, {"queued": "waiting", "running": "running"})),
            ("Deliveries", _counted(deliveries, {"pending": "on their way", "dead": "not delivered"})),
            ("Model", f"{answer['model']['name']} ({answer['model']['why'].rstrip('.')})"),
            ("Database", str(answer["database"])),
            ("Beat", away(instant(scheduler["beat_at"]), current) if scheduler["beat_at"] else None),
            ("Version", answer["version"]),
        ]
    )


def _scheduler(scheduler: Json, *, alive: bool) -> Text:
    if alive and scheduler["enabled"] and scheduler["workers"]:
        count = scheduler["workers"]
        return Text.assemble(("●", "green"), f" running, {count} {'worker' if count == 1 else 'workers'}")
    if not scheduler["enabled"]:
        return Text.assemble(("‖", widgets.QUIET), " switched off (HOMING_SCHEDULER_ENABLED)")
    return Text.assemble(("✕", "red"), " not running: start it with `homing up`")


def _wake(at: str | None, zone: str, current: datetime, *, alive: bool) -> RenderableType:
    if at is not None:
        return widgets.point(in_zone(at, zone), zone, current)
    return "nothing is scheduled" if alive else "when a server runs"


def _counted(counts: Json, words: dict[str, str]) -> str:
    return ", ".join(f"{counts[name]} {word}" for name, word in words.items())
