"""What a malformed ask is told: one sentence a field, the same at every door."""

from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from homing.model.bounds import nearest
from homing.model.errors import MAX_FIELD_ERRORS, FieldError, Invalid, shortened

_OUT_OF_RANGE = (
    "greater_than_equal",
    "less_than_equal",
    "greater_than",
    "less_than",
    "string_too_long",
    "string_too_short",
    "too_long",
    "too_short",
    "literal_error",
    "finite_number",
)
PLAINLY = "plainly"
"""The type of an error whose message continues the name of its field."""
_LONGEST_DETAIL = 1000
_LONGEST_NAME = 100
_WANTED = {
    "int": "a whole number",
    "bool": "true or false",
    "string": "a text",
    "float": "a number",
    "list": "a list",
    "dict": "an object",
    "model": "an object",
    "none": "null",
}


def refusal(kind: type[BaseModel], error: ValidationError, read_only: frozenset[str]) -> Invalid:
    """Turn pydantic's findings into one refusal."""
    found = error.errors(include_url=False)
    told = _WhatIsKnown(kind, read_only)
    errors = tuple(_field_error(told, one) for one in found[:MAX_FIELD_ERRORS])
    return Invalid(_joined([one.detail for one in errors], len(found)), errors=errors)


def _joined(sentences: list[str], count: int) -> str:
    """Put the sentences together while they are short enough to be read, and count the rest."""
    shown = sentences[:1]
    for sentence in sentences[1:]:
        if sum(map(len, shown)) + len(sentence) > _LONGEST_DETAIL:
            break
        shown.append(sentence)
    left = count - len(shown)
    return " ".join([*shown, *([f"And {left:,} more."] if left else [])])


def _field_error(known: "_WhatIsKnown", error: ErrorDetails) -> FieldError:
    path = [_printable(str(part)) for part in error["loc"]]
    field = shortened(".".join(path), _LONGEST_NAME) or "body"
    match error["type"]:
        case "missing":
            return FieldError(field=field, code="missing", detail=f"{field} is missing.")
        case "extra_forbidden":
            return FieldError(field=field, code=known.code(path), detail=known.hint(field, path))
        case type_ if type_ == PLAINLY:
            code = "out_of_range" if isinstance(error["input"], str) else "wrong_type"
            return FieldError(field=field, code=code, detail=f"{field} {error['msg']}.")
        case type_ if type_ in _OUT_OF_RANGE:
            return FieldError(field=field, code="out_of_range", detail=_range(field, error))
        case type_:
            wanted = _WANTED.get(type_.split("_")[0])
            problem = f"must be {wanted}" if wanted else f"cannot be taken: {error['msg']}"
            return FieldError(field=field, code="wrong_type", detail=f"{field} {problem}{_shown(error)}.")


class _WhatIsKnown:
    """The names an ask has. All of them are listed once in an answer: a second time they only make it longer."""

    def __init__(self, kind: type[BaseModel], read_only: frozenset[str]) -> None:
        self._kind = kind
        self._read_only = read_only
        self._listed = False

    def code(self, path: list[str]) -> str:
        return "read_only" if self._is_read_only(path) else "unknown_field"

    def hint(self, field: str, path: list[str]) -> str:
        if self._is_read_only(path):
            return f"{field} cannot be set; leave it out."
        names = _names(self._kind, path[:-1])
        if near := nearest(path[-1], names, cutoff=0.5):
            return f"There is no field {field}. Did you mean {near}?"
        if not names or self._listed:
            return f"There is no field {field}. Leave it out."
        self._listed = True
        return f"There is no field {field}. Known are: {', '.join(names)}."

    def _is_read_only(self, path: list[str]) -> bool:
        return len(path) == 1 and path[0] in self._read_only


def _printable(name: str) -> str:
    # An escape takes six bytes where the name took one.
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name[: _LONGEST_NAME + 1])


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
