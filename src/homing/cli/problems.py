"""What a command says when it cannot: a sentence that tells what to do, and the exit code that scripts see."""

import re

from homing.cli.visible import json_text
from homing.client.problems import Problem, worded
from homing.model.agents import BUILT_IN
from homing.model.contract import BY_NAME

FAILED = 1
REFUSED = 2
DEBUG = "HOMING_DEBUG"


def refused(detail: str, *, code: str = "invalid", hint: str | None = None) -> Problem:
    """The person has to say it differently."""
    return Problem(worded(detail, code, "Refused", 404 if code == "not_found" else 422), hint=hint)


def failed(detail: str, *, code: str = "failed", hint: str | None = None) -> Problem:
    """The world said no."""
    return Problem(worded(detail, code, "Failed"), hint=hint)


def exit_code(problem: Problem) -> int:
    """Tell scripts who has to act."""
    return REFUSED if problem.status is not None and problem.status < 500 else FAILED


def told(problem: Problem, *, as_json: bool) -> str:
    """Say it in one line, to people or to programs."""
    return json_text(problem.body) if as_json else spoken(problem)


def hint_of(problem: Problem) -> str | None:
    return problem.hint or _HINTS.get(problem.code)


def spoken(problem: Problem) -> str:
    """Name commands where the API names its operations: at this door those are what one can type."""
    return re.sub(r"\b\w+_\w+\b", _command, problem.detail).replace("delete_automations=true", "--delete-automations")


def _command(word: re.Match[str]) -> str:
    operation = BY_NAME.get(word[0])
    # Some are also names of an agent's tools.
    if operation is None or not operation.command or word[0] in BUILT_IN:
        return word[0]
    return f"`homing {operation.command}`"


_HINTS = {
    "unauthenticated": "Set HOMING_TOKEN to a token of this server (`homing tokens create` makes one). If the owner's"
    " token was revoked, `homing tokens rotate` makes a new one.",
    "internal": "This is a bug in Homing. The server's log says more under the same request id.",
}
