"""Jobs and runs as people read them: two lines per job fit into 80 columns, one where the screen is wide."""

from collections.abc import Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.text import Text

from homing.cli import widgets
from homing.cli.format import (
    JOB_GLYPHS,
    RUN_GLYPHS,
    away,
    in_zone,
    instant,
    moment,
    now,
    outcome,
    spent,
    took,
    why_empty,
    words_and_zone,
)
from homing.model.clock import NOTHING_FIRES
from homing.model.contract import Json


def jobs_table(jobs: Sequence[Json], *filters: object) -> RenderableType:
    """Draw jobs: mark, name and id, when and where, next, last runs."""
    if not jobs:
        none = 'No automations. Add one: homing cron add "every weekday at 8" "Say good morning"'
        return Text(why_empty(none, "cron list", *filters))
    current = now()
    rows = [(widgets.sign(JOB_GLYPHS, job["status"]), _cells(job, current)) for job in jobs]
    return widgets.Roomy(
        wide=widgets.Listing(
            headings=("", "name", "", "when", "in", "next", "", "last", ""),
            rows=[(mark, *(part for cell in cells for part in cell)) for mark, cells in rows],
            gives=(),
        ),
        # What does not fit goes on in the next line: at the end of "when" is its time.
        narrow=widgets.Listing(
            headings=("", "name", "when", "next", "last"),
            rows=[(mark, *(widgets.two_lines(*cell) for cell in cells)) for mark, cells in rows],
            gives=("when", "name"),
            fold=True,
        ),
    )


def _cells(job: Json, current: datetime) -> tuple[tuple[Text, Text], ...]:
    """Give the cells of a job, each as what counts and what is beside it."""
    words, tz = words_and_zone(job)
    where = job["session_key"] + (" (isolated)" if job["session"] == "isolated" else "")
    kind = "" if job["payload"]["kind"] == "agent_turn" else f", {job['payload']['kind'].replace('_', ' ')}"
    at = instant(job["next"][0]) if job["next"] else None
    upcoming = Text(moment(at, current)) if at else Text(_standing(job, current), style=widgets.QUIET)
    return (
        (Text(job["name"], style="bold"), _quiet(job["id"])),
        (Text(words), _quiet(where + kind)),
        (upcoming, _quiet(f"{tz}, {away(at, current)}" if at else tz)),
        (widgets.strip(job.get("recent") or []), _quiet(_last(job, current))),
    )


def _quiet(words: str) -> Text:
    return Text(words, style=widgets.QUIET)


def _last(job: Json, current: datetime) -> str:
    state = job["state"]
    if state["last_run_at"] is None:
        return ""
    return f"{away(instant(state['last_run_at']), current)}"


def changed(job: Json, sentence: str) -> RenderableType:
    """Draw what a job is after a change: words, zone, next three."""
    words = ", ".join([job["words"], *_limits(job, now())])
    parts: list[RenderableType] = [Text(sentence), Text(words), *_upcoming(job)]
    # The warning that nothing fires is printed once, at the end of the command.
    warnings = [warning for warning in job.get("warnings") or () if warning != NOTHING_FIRES]
    parts += [Text(f"Note: {warning}", style="yellow") for warning in warnings]
    return Group(*parts)


def _upcoming(job: Json) -> list[RenderableType]:
    current = now()
    tz = job["schedule"]["tz"]
    if not job["next"]:
        standing = f"{_standing(job, current)} {tz}" if _pause_end(job) else _standing(job, current)
        return [] if job.get("removed_at") else [Text(f"Nothing is scheduled: it is {standing}.")]
    points = [widgets.point(instant(at), tz, current) for at in job["next"]]
    return [widgets.facts([("Next" if n == 0 else " ", point) for n, point in enumerate(points)])]


def job_card(job: Json) -> RenderableType:
    """Draw all of a job."""
    current = now()
    state, payload, tz = job["state"], job["payload"], job["schedule"]["tz"]
    head = Text.assemble(
        widgets.sign(JOB_GLYPHS, job["status"]),
        " ",
        (job["name"], "bold"),
        "  ",
        (job["id"], widgets.QUIET),
        ("  " + job["status_words"], widgets.QUIET),
    )
    points = [widgets.point(instant(at), tz, current) for at in job["next"]]
    rows: list[tuple[str, RenderableType | None]] = [
        ("When", job["words"]),
        *(("Next" if n == 0 else "", point) for n, point in enumerate(points)),
        ("Paused", _paused(job, current)),
        ("Says" if payload["kind"] == "reminder" else "Does", payload["message"]),
        ("Script", _script(job)),
        ("About", job["description"]),
        ("In", _where(job)),
        ("How", ", ".join(_ways(job))),
        ("Bounds", ", ".join(_bounds(job, current))),
        ("Alerts", _alerts(job)),
        ("Last", _last_run(state, tz, current)),
        ("Found", _last_note(state, tz, current)),
        ("Error", Text(state["last_error"], style="red") if state["last_error"] else None),
        ("Runs", widgets.strip(job.get("recent") or []) if job.get("recent") else None),
        ("Since", f"{moment(instant(job['created_at']), current)} UTC, by {job['origin']['door']}"),
    ]
    return Group(head, widgets.facts(rows))


def _script(job: Json) -> str | None:
    """Show the script that looks before a run: its first line, and how it runs."""
    if not job["script"]:
        return None
    first, *more = job["script"].strip().splitlines()
    hosts = f", may reach {', '.join(job['script_hosts'])}" if job["script_hosts"] else ""
    cut = f" … ({len(more) + 1} lines)" if more else ""
    return f"{first}{cut} [{job['script_language']}, at most {job['script_seconds']:g} s{hosts}]"


def _standing(job: Json, current: datetime) -> str:
    """Say why nothing is next; a pause that ends says when, and the zone stands beside it."""
    until = _pause_end(job)
    return job["status_words"] + (f" until {moment(instant(until), current)}" if until else "")


def _pause_end(job: Json) -> str | None:
    return None if job["enabled"] else job["state"]["disabled_until"]


def _paused(job: Json, current: datetime) -> str | None:
    state = job["state"]
    if job["enabled"] or not (state["disabled_reason"] or state["disabled_until"]):
        return None
    until = state["disabled_until"]
    ends = f"until {moment(instant(until), current)} {job['schedule']['tz']}" if until else ""
    return ", ".join(filter(None, (state["disabled_words"], ends)))


def _where(job: Json) -> str:
    if job["session"] != "isolated":
        return str(job["session_key"])
    goes_on = "" if job["continue"] else ", does not continue it"
    return f"a session of its own; reports to {job['session_key']} ({job['write_back']}{goes_on})"


def _ways(job: Json) -> list[str]:
    payload = job["payload"]
    ways = [payload["kind"].replace("_", " ")]
    if payload["kind"] == "agent_turn":
        ways += [f"context {payload['context']}", f"at most {payload['timeout_seconds']} s"]
    ways += [f"{name} {payload[name]}" for name in ("model", "thinking") if payload[name]]
    ways += [name.replace("_", " ") for name in ("quiet", "delete_after_run", "may_schedule") if job[name]]
    if payload["kind"] == "system_event":
        ways.append(f"wakes {job['wake'].replace('_', ' ')}")
    if job["dedupe_key"]:
        ways.append(f"dedupe key {job['dedupe_key']}")
    return ways


def _limits(job: Json, current: datetime) -> list[str]:
    tz = job["schedule"]["tz"]
    bounds = [
        f"{word} {moment(instant(job[name]), current)} {tz}"
        for word, name in (("from", "starts_at"), ("until", "ends_at"))
        if job[name]
    ]
    if job["max_runs"]:
        bounds.append(f"at most {job['max_runs']} runs")
    return bounds


def _bounds(job: Json, current: datetime) -> list[str]:
    hours = job["catch_up_window_seconds"] / 3600
    late = "left out" if job["catch_up"] == "skip" else f"caught up once within {hours:g} h"
    budget = job["max_cost_usd_per_day"]
    spends = [] if budget is None else [f"at most ${budget:g} a day"]
    return [*_limits(job, current), *spends, f"missed times are {late}"]


def _alerts(job: Json) -> str:
    if job["alert_after"] == 0:
        return "never"
    where = ", ".join(job["alert_to"]) or "your other addresses"
    after = job["alert_after"]
    return f"after {after} failure{'' if after == 1 else 's in a row'}, to {where}"


def _last_run(state: Json, tz: str, current: datetime) -> Text | None:
    if state["last_run_at"] is None:
        return None
    at = in_zone(state["last_run_at"], tz)
    glyph = widgets.sign(RUN_GLYPHS, state["last_status"] or "")
    long = f"  took {took(state['last_duration_ms'])}" if state["last_duration_ms"] is not None else ""
    return Text.assemble(glyph, " ", widgets.point(at, tz, current), (long, widgets.QUIET))


def _last_note(state: Json, tz: str, current: datetime) -> str | None:
    if (found := state.get("last_note")) is None:
        return None
    return f"{found['text']} ({moment(in_zone(found['at'], tz), current)})"


def named(job: Json) -> Text:
    """Draw the line that says which job an answer is about."""
    return Text.assemble((job["name"], "bold"), "  ", (job["id"], widgets.QUIET))


def runs_table(runs: Sequence[Json], job: Json) -> RenderableType:
    """Draw a job's runs, newest first."""
    if not runs:
        return Group(named(job), Text("It has not run yet."))
    current, tz = now(), job["schedule"]["tz"]
    heading = f"for ({tz})"
    rows = [
        (
            widgets.sign(RUN_GLYPHS, run["state"]),
            moment(instant(run["scheduled_for"]), current),
            Text(away(instant(run["scheduled_for"]), current), style=widgets.QUIET),
            took(run["duration_ms"]),
            _became(run, current),
        )
        for run in runs
    ]
    headings = ("", heading, " ", "took", "outcome")
    return Group(named(job), widgets.Listing(headings=headings, rows=rows, gives=("outcome",), fold=True))


def _became(run: Json, current: datetime) -> Text:
    given = Text(outcome(run))
    if run["trigger"] != "timer":
        given.append(f" ({run['trigger_words']})", style=widgets.QUIET)
    if run["missed_count"] and run["missed_count"] > 1:
        until = f", the last {moment(instant(run['missed_until']), current)}" if run["missed_until"] else ""
        given.append(f", {run['missed_count']} times{until}", style=widgets.QUIET)
    if used := spent(run["usage"]):
        given.append(f", {used}", style=widgets.QUIET)
    for line in filter(None, (run["summary"], run["error_summary"])):
        given.append(f"\n{line}", style=widgets.QUIET)
    return given
