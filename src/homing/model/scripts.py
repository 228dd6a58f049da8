"""A job's script, which looks before a run (rule 50): what it is, how it ended, and what its last line says. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, cast

from homing.model.bounds import MAX_DEPTH
from homing.model.errors import shortened

Language = Literal["bash", "python"]
Ended = Literal["exit", "timeout", "output"]

MAX_SCRIPT = 64 << 10
MAX_OUTPUT = 64 << 10
MAX_STATE = 16 << 10
MOST_SECONDS = 300
MOST_RUNS = 3
"""Of one gate: a worker that dies with the script lets another run it again."""
EXAMPLE = '{"wakeAgent": true, "data": "what was found"}'

_KEYS = ("wakeAgent", "wake_agent")
_SHOWN = 200


@dataclass(frozen=True, kw_only=True)
class Script:
    """What runs before the agent does."""

    text: str
    language: Language = "bash"
    hosts: tuple[str, ...] = ()
    seconds: int = 30


@dataclass(frozen=True, kw_only=True)
class ScriptEnd:
    """How a script ended. `code` is its exit code, or 128 plus the number of the signal that ended it."""

    ended: Ended
    code: int
    out: str
    err: str


@dataclass(frozen=True, kw_only=True)
class Said:
    """The script's last line: whether the agent is needed, what was found, and what to remember for the next check."""

    wake: bool
    data: Any = None
    state: Any = None
    gives_state: bool = False

    @property
    def line(self) -> dict[str, Any]:
        """Spell it in one way, as it is kept and shown."""
        state = {"state": self.state} if self.gives_state else {}
        return {"wakeAgent": self.wake, **({} if self.data is None else {"data": self.data}), **state}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Why a script does not count as an answer, in a sentence."""

    sentence: str


def read_end(end: ScriptEnd, seconds: int) -> Said | Fault:
    """Read what a script said, or say what is wrong with it and what to do."""
    match end.ended:
        case "timeout":
            return Fault(sentence=f"The script took longer than {seconds} s (script_seconds).{_last_words(end.err)}")
        case "output":
            return Fault(sentence=f"The script printed more than {MAX_OUTPUT >> 10} kB.")
        case "exit" if end.code != 0:
            return Fault(sentence=f"The script ended with exit code {end.code}.{_last_words(end.err)}")
        case "exit":
            return _read_line(end.out)


def _read_line(out: str) -> Said | Fault:
    line = next((line for line in reversed(out.splitlines()) if line.strip()), "").strip()
    if not line:
        return Fault(sentence=f"The script printed nothing: its last line must be {EXAMPLE}.")
    try:
        said = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return Fault(sentence=f"The last line must be JSON such as {EXAMPLE}, not {_quoted(line)}.")
    if not isinstance(said, dict) or _depth(cast(Any, said)) > MAX_DEPTH:
        return Fault(sentence=f"The last line must be an object such as {EXAMPLE}, not {_quoted(line)}.")
    fields = cast(dict[str, Any], said)
    wake = next((fields[key] for key in _KEYS if key in fields), None)
    if not isinstance(wake, bool):
        return Fault(sentence=f"wakeAgent must be true or false in the last line, which is {_quoted(line)}.")
    state = fields.get("state")
    if len(json.dumps(state).encode()) > MAX_STATE:
        return Fault(sentence=f"The state is larger than {MAX_STATE >> 10} kB.")
    return Said(wake=wake, data=fields.get("data"), state=state, gives_state="state" in fields)


def given_to_script(
    *,
    job: dict[str, Any],
    scheduled_for: str,
    last_run: dict[str, Any] | None = None,
    missed_count: int = 0,
    state: Any = None,
) -> dict[str, Any]:
    """Put together what a script is given: JSON on stdin, or variables."""
    return {
        "job": job,
        "scheduled_for": scheduled_for,
        "last_run": last_run,
        "missed_count": missed_count,
        "state": state,
    }


def as_text(data: Any) -> str:
    """Give what a script found as a text: a string as it is, anything else as JSON."""
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class DueMeanwhile:
    """Instants that came due while a gate decided."""

    first: datetime
    until: datetime
    count: int


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _depth(value: Any) -> int:
    match value:
        case dict():
            inner = cast(Sequence[Any], [*value.values()])
        case list():
            inner = cast(Sequence[Any], value)
        case _:
            return 0
    return 1 + max(map(_depth, inner), default=0)


def _quoted(line: str) -> str:
    return json.dumps(shortened(line, _SHOWN), ensure_ascii=False)


def _last_words(err: str) -> str:
    line = next((line for line in reversed(err.splitlines()) if line.strip()), "").strip()
    return f" It said: {shortened(line, _SHOWN)}" if line else ""
