"""A model's arguments for a tool with plain parameters, checked against the schema that the model was given."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from homing.model.bounds import nearest
from homing.model.errors import Invalid

_WORDS = {"string": "text", "integer": "a whole number", "array": "a list of texts"}


def parameters(*, required: Sequence[str] = (), **properties: Mapping[str, object]) -> Mapping[str, object]:
    """Make the schema of a tool's parameters: texts, whole numbers and lists of texts."""
    return {"type": "object", "required": list(required), "properties": properties}


def list_of(kind: str, description: str) -> Mapping[str, object]:
    """Make the schema of a parameter that is a list of texts."""
    return {"type": "array", "items": {"type": kind}, "description": description}


def read_arguments(tool: str, schema: Mapping[str, object], arguments: Mapping[str, object]) -> dict[str, Any]:
    """Give the arguments as the schema types them, without nulls; refuse what is missing, unknown or mistyped."""
    known = cast(Mapping[str, Mapping[str, object]], schema["properties"])
    given = {name: value for name, value in arguments.items() if value is not None}
    for name in given:
        if name not in known:
            near = nearest(name, list(known), cutoff=0.6)
            hint = f"Did you mean {near}?" if near else f"It takes {', '.join(known)}."
            raise Invalid(f"{tool} has no {name:.80}. {hint}", field=name[:80], code="unknown_field")
    for name in cast(Sequence[str], schema["required"]):
        if name not in given:
            raise Invalid(f"{tool} needs {name}: {known[name]['description']}.", field=name, code="missing")
    return {name: _typed(name, value, str(known[name]["type"])) for name, value in given.items()}


def _typed(name: str, value: object, wanted: str) -> str | int | list[str]:
    if wanted == "array":
        # Many models write a list of one as a text.
        many = [value] if isinstance(value, str) else value
        if isinstance(many, list) and all(isinstance(one, str) for one in cast("list[object]", many)):
            return cast("list[str]", many)
    if wanted == "string" and isinstance(value, str):
        return value
    if wanted == "integer" and not isinstance(value, bool):
        if isinstance(value, int):
            return value
        if isinstance(value, float) and value.is_integer():
            return int(value)
        # Many models write numbers as text.
        if isinstance(value, str) and value.strip().isdecimal() and len(value) < 20:
            return int(value)
    raise Invalid(f"{name} must be {_WORDS[wanted]}, not {value!r:.80}.", field=name, code="wrong_type")
