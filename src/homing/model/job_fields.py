"""A job's fields, each declared once.

What people may set of a job stands here as attributes of the nouns that `jobs` builds on, each with what the doors need
to know of it. `FIELDS` lists them: requests, answers, columns and defaults, undo, import, flags and the tool's
spellings are derived from it. A command reads this module before it does anything, so it imports next to nothing.
"""
# ruff: noqa: RUF009 - settable() is a dataclass field()

import re
from dataclasses import Field, dataclass, field, fields
from datetime import datetime
from types import UnionType
from typing import Any, Literal, get_args, get_origin

from homing.model.bounds import MAX_LONG, MAX_MESSAGE, MAX_NAME, MAX_SHORT
from homing.model.scripts import MAX_SCRIPT, MOST_SECONDS

# How hard a model may be told to think.
THINKING_LEVELS = ("off", "on", "minimal", "low", "medium", "high", "xhigh", "max")

PayloadKind = Literal["agent_turn", "reminder", "system_event"]

_BOUNDS = "Bounds"
HOW = "How it runs"
_SCRIPT = "A script that looks first"
_ALERTS = "Alerts"
_REST = "Everything else"


def settable(default: object, **row: Any) -> Any:
    """Declare an attribute that people may set; `row` is what differs from the defaults of `JobField`."""
    return field(default=default, metadata={"row": row})


@dataclass(frozen=True, kw_only=True)
class Payload:
    """What a job does when it comes due."""

    kind: PayloadKind = settable(
        "agent_turn", column="payload_kind", panel=HOW, help="agent_turn, reminder or system_event."
    )
    message: str = settable(
        "",
        least=1,
        most=MAX_MESSAGE,
        aliases=("prompt",),
        flags=("-m", "--message"),
        help="What should happen; - reads it from stdin.",
    )
    model: str | None = settable(None, foreign=True, panel=HOW, help="Another model for its turns.")
    thinking: str | None = settable(
        None, aliases=("thinking_level",), foreign=True, panel=HOW, help="How hard: off, low, medium, high …"
    )
    timeout_seconds: float | None = settable(
        300.0, least=0, most=604_800, foreign=True, panel=HOW, help="300 unless given."
    )
    context: Literal["session", "since_last", "none"] = settable(
        "session", panel=HOW, help="session, since_last or none."
    )


@dataclass(frozen=True, kw_only=True)
class TimingFields:
    """What bounds a schedule."""

    starts_at: datetime | None = settable(None, panel=_BOUNDS, help="Do not run before this time.")
    ends_at: datetime | None = settable(
        None, aliases=("until",), flags=("--until", "--ends-at"), panel=_BOUNDS, help="Stop repeating then."
    )
    max_runs: int | None = settable(None, least=1, most=1_000_000_000, panel=_BOUNDS, help="Stop after this many runs.")
    catch_up: Literal["latest", "skip"] = settable("latest", panel=_BOUNDS, help="Missed times: latest or skip.")
    catch_up_window_seconds: int = settable(
        86_400, least=0, most=315_360_000, panel=_BOUNDS, help="How late is too late."
    )


@dataclass(frozen=True, kw_only=True)
class JobFields:
    """How a job is called and how it runs."""

    name: str = settable(
        "",
        least=1,
        most=MAX_NAME,
        foreign=True,
        flags=("-n", "--name"),
        help="2 to 5 words; default: the start of the message.",
    )
    isolated: bool = settable(
        False,
        name="session",
        choices=("main", "isolated"),
        aliases=("session_target",),
        flags=("--isolated/--no-isolated",),
        panel=HOW,
        help="Run in a separate session and report back.",
    )
    quiet: bool = settable(False, panel=HOW, help="Silent when there is no news.")
    delete_after_run: bool = settable(
        False,
        foreign=True,
        flags=("--delete-after-run/--keep-after-run",),
        panel=HOW,
        help="Remove it after a good run.",
    )
    write_back: Literal["full", "summary", "none"] = settable(
        "full", panel=HOW, help="Of an isolated run: full, summary, none."
    )
    continues: bool = settable(
        True,
        name="continue",
        flags=("--continue/--no-continue",),
        panel=HOW,
        help="An isolated report continues the chat.",
    )
    wake: Literal["now", "next_heartbeat"] = settable(
        "now", aliases=("wake_mode",), foreign=True, panel=HOW, help="Of a system_event: now or next_heartbeat."
    )
    may_schedule: bool = settable(
        False, flags=("--may-schedule/--may-not-schedule",), panel=HOW, help="Its turns may add automations."
    )
    max_cost_usd_per_day: float | None = settable(
        None,
        least=0,
        most=1_000_000,
        aliases=("budget",),
        flags=("--max-cost-usd-per-day", "--budget"),
        panel=HOW,
        help="Most dollars a day for its model calls.",
    )
    alert_after: int = settable(
        3, least=0, most=1_000, panel=_ALERTS, help="Alert after so many failures in a row; 0: never. 3 unless given."
    )
    alert_to: tuple[str, ...] = settable(
        (),
        most=10,
        panel=_ALERTS,
        help="Where alerts go, with commas: email:me@example.org. Else your other addresses.",
    )
    description: str | None = settable(None, most=MAX_LONG, foreign=True, panel=_REST, help="A note for yourself.")
    enabled: bool = settable(True, flags=("--enabled/--disabled",), panel=_REST, help="Active or paused.")
    dedupe_key: str | None = settable(
        None, least=1, foreign=True, panel=_REST, help="A second add with this key changes the first."
    )
    sender_id: str | None = settable(None, panel=_REST, help="On whose behalf it runs.")
    script: str | None = settable(
        None,
        least=1,
        most=MAX_SCRIPT,
        panel=_SCRIPT,
        help="Runs before each run and says whether the agent is needed; - reads it from stdin.",
    )
    script_language: Literal["bash", "python"] = settable(
        "bash", panel=_SCRIPT, help="bash (in the sandbox) or python (Monty, on every machine)."
    )
    script_hosts: tuple[str, ...] = settable(
        (), most=50, panel=_SCRIPT, help="Hosts that the script may reach, with commas: example.org,*.example.com."
    )
    script_seconds: int = settable(
        30, least=1, most=MOST_SECONDS, panel=_SCRIPT, help="The most that the script may take; 30 unless given."
    )


@dataclass(frozen=True, kw_only=True)
class JobField:
    """One field, as the doors see it.

    `attribute` is its name in Python, `name` the public one in JSON. `kind` is bool, int, float, str, datetime or list
    (of texts, at most `most`); a field whose default is null may be null. `choices` are the words it may be; of a flag,
    those for false and true. `least` and `most` bound a number, or the length of a text. `aliases` are other names that
    models and other programs have for it; `foreign` says that jobs of other programs have it too, meaning the same.
    """

    attribute: str
    part: Literal["job", "timing", "payload"]
    name: str
    column: str
    kind: Any
    default: Any
    choices: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = MAX_SHORT
    aliases: tuple[str, ...] = ()
    foreign: bool = False
    flags: tuple[str, ...] = ()
    panel: str | None = None
    help: str

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every name of it, as `plain` leaves them."""
        return tuple(map(plain, (self.name, *self.aliases)))

    def of(self, job: Any) -> Any:
        """Read it from a job."""
        noun: Any = job if self.part == "job" else getattr(job, self.part)
        value = getattr(noun, self.attribute)
        return list(value or ()) if self.kind is list else value

    def stored(self, given: Any) -> Any:
        """Say what its column holds for a value given in JSON; null means the default."""
        if given is None:
            return self.default
        if self.kind is list:
            return list(given)
        return self.choices.index(given) == 1 if self.kind is bool and self.choices else given

    def spoken(self, value: Any) -> Any:
        """Say in JSON what its column holds."""
        return self.choices[int(value)] if self.kind is bool and self.choices else value


def plain(name: str) -> str:
    """Take away what spellings differ in: deleteAfterRun, delete-after-run and delete_after_run are one."""
    return re.sub(r"[\s_-]", "", name).lower()


def _row(part: Any, attribute: Field[Any]) -> JobField:
    row: dict[str, Any] = {"name": attribute.name, "column": attribute.name, **attribute.metadata["row"]}
    kind: Any = attribute.type
    if isinstance(kind, UnionType):
        kind = get_args(kind)[0]
    if get_origin(kind) is Literal:
        row["choices"], kind = get_args(kind), str
    default = attribute.default
    if get_origin(kind) is tuple:
        kind, default = list, list[str]()
    return JobField(attribute=attribute.name, part=part, kind=kind, default=default, **row)


FIELDS = tuple(
    _row(part, attribute)
    for part, noun in (("job", JobFields), ("timing", TimingFields), ("payload", Payload))
    for attribute in fields(noun)
)
# What the columns hold of a job that says nothing about them.
DEFAULTS = {row.column: row.default for row in FIELDS}
