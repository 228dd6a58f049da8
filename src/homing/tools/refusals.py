"""What a model is told when nothing was done: the reason in plain words, then what was read and one correct call."""

import json
from collections.abc import Mapping

from homing.model.errors import Invalid, Refused
from homing.tools.arguments import flat
from homing.tools.spellings import NAMES, SCHEDULE_PARTS, action_of, plain

_SCHEDULE_WORDS = ("when", "schedule", "recurrence", "process_after", *SCHEDULE_PARTS.values())
_ADD = {"action": "add", "when": "every weekday at 8", "message": "Check the fruit prices", "name": "fruit watch"}
_UPDATE = {"action": "update", "job_id": "fruit watch", "when": "every day at 9"}


def told(refused: Refused, arguments: Mapping[str, object]) -> Refused:
    """Say a refusal so that a model can correct itself. People need only the first line of it."""
    read = _read(refused, arguments)
    call = json.dumps(_correct(arguments), ensure_ascii=False)
    return Refused(f"{refused.detail}\nRead: {read}. A correct call: {call}", code=refused.code, extra=refused.extra)


def _read(refused: Refused, arguments: Mapping[str, object]) -> str:
    fields = [error.field for error in refused.errors] if isinstance(refused, Invalid) else ["job_id"]
    return ", ".join(dict.fromkeys(_said(field, arguments) for field in fields)) or "nothing"


def _said(field: str, arguments: Mapping[str, object]) -> str:
    tail = plain(field.rpartition(".")[2])
    wanted = {tail, NAMES.get(tail, tail)}
    root = field.partition(".")[0]
    for spelled, value in _given(arguments):
        name = plain(spelled)
        meant = NAMES.get(name) or SCHEDULE_PARTS.get(name, name)
        if {name, meant} & wanted or (root in ("schedule", "when") and meant in _SCHEDULE_WORDS):
            return f"{spelled} = {json.dumps(value, ensure_ascii=False, default=str):.200}"
    return f"no {NAMES.get(tail, field)}"


def _given(arguments: Mapping[str, object]) -> list[tuple[str, object]]:
    try:
        return [(spelled, value) for spelled, _, value in flat(arguments)]
    except Invalid:
        # What could not be opened is itself what was read.
        return list(arguments.items())


def _correct(arguments: Mapping[str, object]) -> Mapping[str, object]:
    said = next((value for name, value in arguments.items() if plain(name) == "action"), None)
    match action_of(said) if isinstance(said, str) else "add":
        case "add" | None:
            return _ADD
        case "list" | "status":
            return {"action": "list"}
        case "update":
            return _UPDATE
        case action:
            return {"action": action, "job_id": "fruit watch"}
