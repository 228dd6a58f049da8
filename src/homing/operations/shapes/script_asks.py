"""What may be asked about scripts that look before a run."""

from typing import Annotated, Any, Literal

from pydantic import Field

from homing.model.job_fields import FIELDS, JobField
from homing.model.scripts import MAX_SCRIPT
from homing.operations.shapes.base import NOT_BOOL, Answer, Ask, Short

_ROWS: dict[str, JobField] = {row.name: row for row in FIELDS}
_HOSTS, _SECONDS = _ROWS["script_hosts"], _ROWS["script_seconds"]


class TryScript(Ask):
    """A script to run once, as its automation would."""

    script: Annotated[str, Field(min_length=1, max_length=MAX_SCRIPT)]
    script_language: Literal["bash", "python"] | None = None
    script_hosts: Annotated[list[Short], Field(max_length=_HOSTS.most)] | None = None
    script_seconds: Annotated[int, Field(ge=_SECONDS.least, le=_SECONDS.most), NOT_BOOL] | None = None
    agent_id: Short | None = None
    """Whose hosts it may name; else `main`."""
    state: Any = None
    """What it finds as its state."""


class SaidShape(Answer):
    """What a script's last line says."""

    wakeAgent: bool  # noqa: N815 - the script's own word
    data: Any = None
    state: Any = None


class TriedScriptShape(Answer):
    """How a script ended that was tried. Nothing of it is kept."""

    ended: Literal["exit", "timeout", "output"]
    code: int
    out: str
    err: str
    result: SaidShape | None
    """Its last line; null if the script does not work as one that looks first."""
    fault: str | None
    """What is wrong with it, in a sentence."""
