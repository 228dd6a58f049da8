"""What a malformed ask is told: one sentence a field, the same at every door."""

from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from homing.model.errors import FieldError, Invalid

_OUT_OF_RANGE = (
    "greater_than_equal", "less_than_equal", "greater_than", "less_than", "string_too_long", "string_too_short",
    "too_long", "too_short", "literal_error", "finite_number", "string_pattern_mismatch",
)  # fmt: skip
_WANTED = {
    "int": "a whole number", "bool": "true or false", "string": "a text", "float": "a number", "list": "a list",
    "dict": "an object", "model": "an object", "none": "null",
}  # fmt: skip


def refusal(kind: type[BaseModel], error: ValidationError, read_only: frozenset[str]) -> Invalid:
    """Turn pydantic's findings into one refusal."""
    errors = tuple(_field_error(kind, one, read_only) for one in error.errors(include_url=False))
    detail = errors[0].detail if len(errors) == 1 else " ".join(one.detail for one in errors)
    return Invalid(detail, errors=errors)


def _field_error(kind: type[BaseModel], error: ErrorDetails, read_only: frozenset[str]) -> FieldError:
    path = [str(part) for part in error["loc"]]
    field = ".".join(path) or "body"
    match error["type"]:
        case "missing":
            return FieldError(field=field, code="missing", detail=f"{field} is missing.")
        case "extra_forbidden":
            return _unknown(kind, path, read_only)
        case type_ if type_ in _OUT_OF_RANGE:
            return FieldError(field=field, code="out_of_range", detail=_range(field, error))
        case type_:
            wanted = _WANTED.get(type_.split("_")[0])
            said = f"must be {wanted}" if wanted else f"cannot be taken: {error['msg']}"
            return FieldError(field=field, code="wrong_type", detail=f"{field} {said}{_shown(error)}.")


def _unknown(kind: type[BaseModel], path: list[str], read_only: frozenset[str]) -> FieldError:
    field = ".".join(path)
    if len(path) == 1 and path[0] in read_only:
        return FieldError(field=field, code="read_only", detail=f"{field} cannot be set; leave it out.")
    names = _names(kind, path[:-1])
    near = get_close_matches(path[-1], names, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}?" if near else f"Known are: {', '.join(names)}." if names else "Leave it out."
    return FieldError(field=field, code="unknown_field", detail=f"There is no field {field}. {hint}")


def _names(kind: type[BaseModel], path: list[str]) -> list[str]:
    for part in path:
        inner = next((f for n, f in kind.model_fields.items() if part in (n, f.validation_alias)), None)
        models = [one for one in _kinds(inner.annotation if inner else None) if issubclass(one, BaseModel)]
        if not models:
            return []
        kind = models[0]
    return [str(field.validation_alias or name) for name, field in kind.model_fields.items()]


def _kinds(annotation: Any) -> list[type]:
    inner = getattr(annotation, "__args__", ())
    return [one for one in (annotation, *inner) if isinstance(one, type)]


def _range(field: str, error: ErrorDetails) -> str:
    limits = error.get("ctx", {})
    match error["type"]:
        case "greater_than_equal":
            return f"{field} must be {_number(limits['ge'])} or more{_shown(error)}."
        case "less_than_equal":
            return f"{field} must be {_number(limits['le'])} or less{_shown(error)}."
        case "string_too_long":
            return f"{field} has at most {limits['max_length']:,} characters; this has {len(error['input']):,}."
        case "string_too_short":
            return f"{field} is empty; write something."
        case "too_long":
            return f"{field} has at most {limits['max_length']} entries."
        case "literal_error":
            return f"{field} must be {limits['expected']}{_shown(error)}."
        case _:
            return f"{field} is out of range{_shown(error)}."


def _number(limit: float) -> str:
    return f"{int(limit) if limit == int(limit) else limit:,}"


def _shown(error: ErrorDetails) -> str:
    given = error["input"]
    if given is None:
        return ", not null"
    return f", not {given!r:.60}" if isinstance(given, str | int | float | bool) else ""
