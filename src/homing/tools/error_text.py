"""What a model is told when nothing was done: the reason in plain words, then what was read and one correct call."""

import json
from collections.abc import Mapping

from homing.model.errors import Forbidden, Invalid, Refused
from homing.model.job_fields import plain
from homing.tools.arguments import flat
from homing.tools.spellings import NAMES, SCHEDULE_PARTS, action_of

_SCHEDULE_WORDS = ("when", "schedule", "recurrence", "process_after", *SCHEDULE_PARTS.values())
_ADD = {"action": "add", "when": "every weekday at 8", "message": "Check the fruit prices", "name": "fruit watch"}


def told(refused: Refused, arguments: Mapping[str, object]) -> Refused:
    """Say a refusal so that a model can correct itself. People need only what stands before "Read:"."""
    action = _action(arguments)
    fields = [error.field for error in refused.errors] if isinstance(refused, Invalid) else []
    fields = fields or ["action" if action == "add" else "job_id"]
    read = ", ".join(dict.fromkeys(_said(field, arguments) for field in fields))
    call = json.dumps(_correct(action, refused), ensure_ascii=False)
    return Refused(f"{refused.detail}\nRead: {read}. A correct call: {call}", code=refused.code, extra=refused.extra)


def _action(arguments: Mapping[str, object]) -> str:
    given = next((value for name, value in arguments.items() if plain(name) == "action"), None)
    return (action_of(given) if isinstance(given, str) else None) or "add"


def _said(field: str, arguments: Mapping[str, object]) -> str:
    tail = plain(field.rpartition(".")[2])
    wanted = {tail, NAMES.get(tail, tail), *(("isolated",) if tail == "session" else ())}
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


def _correct(action: str, refused: Refused) -> Mapping[str, object]:
    match refused:
        case Invalid() if action == "add":
            return _ADD
        case Invalid() if action == "update":
            return {"action": "update", "job_id": "fruit watch", "when": "every day at 9"}
        case Invalid() if action != "list":
            return {"action": action, "job_id": "fruit watch"}
        case Forbidden() if action == "add":
            return {"action": "update", "when": "every day at 9"}
        case Forbidden():
            # Without a name it is the turn's own job, and that one it may change.
            return {"action": action}
        case _:
            # Never a ready-made change of some other job: looking comes first.
            return {"action": "list"}
