"""What every ask and every answer is: a pydantic model whose names are the public JSON's."""

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from homing.model.bounds import MAX_DEPTH, MAX_MESSAGE, MAX_NAME, MAX_SHORT
from homing.model.errors import Invalid
from homing.model.schedules.zones import zone
from homing.operations.shapes.validation import PLAINLY, refusal

MOST = 2**53 - 1
"""The largest number that every JSON reader keeps exactly; each database holds it."""


def _no_flag(value: object) -> object:
    if isinstance(value, bool):
        raise PydanticCustomError("int_type", "true and false are not numbers")
    return value


def plainly(words: str) -> WrapValidator:
    """Refuse with these words, which continue the field's name, whatever pydantic finds wrong."""

    def check(given: Any, read: ValidatorFunctionWrapHandler) -> Any:
        try:
            return read(given)
        except ValidationError:
            raise PydanticCustomError(PLAINLY, "{words}", {"words": words}) from None

    return WrapValidator(check)


NOT_BOOL = BeforeValidator(_no_flag)
"""Stands last in an Annotated: limits that come after it are not shown in the JSON schema."""
Whole = Annotated[int, NOT_BOOL]
"""A whole number; digits in a text will do, but true is not 1."""
Count = Annotated[int, Field(ge=0, le=MOST), NOT_BOOL]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Text = Annotated[str, Field(min_length=1, max_length=MAX_MESSAGE)]
Short = Annotated[str, Field(max_length=MAX_SHORT)]

_ABSENT = object()
A = TypeVar("A", bound="Ask")
T = TypeVar("T")


class Ask(BaseModel):
    """What somebody asks for. Unknown fields are refused; `model_fields_set` tells a null from nothing said."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)

    read_only: ClassVar[frozenset[str]] = frozenset()
    """Names that stand in the answer and cannot be set."""

    @model_validator(mode="before")
    @classmethod
    def _clean(cls, given: Any) -> Any:
        return cleaned(given) if isinstance(given, dict) else given

    def gave(self, name: str) -> bool:
        """Say whether a field was given, be it as null."""
        return name in self.model_fields_set


class Nothing(Ask):
    """An ask without fields."""


class PageAsk(Ask):
    """One page of a list."""

    limit: Whole = Field(default=50, ge=1, le=200)
    cursor: str | None = None


class Answer(BaseModel):
    """What is answered; fields may be added, never renamed."""

    model_config = ConfigDict(frozen=True, validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)

    @classmethod
    def of(cls, thing: object, **more: Any) -> Self:
        """Show a thing: what it calls by the same name is taken, instants in UTC; `more` gives the rest."""
        for name in cls.model_fields:
            if name not in more and (value := getattr(thing, name, _ABSENT)) is not _ABSENT:
                more[name] = utc(value) if isinstance(value, datetime) else value
        return cls(**more)

    def plain(self) -> dict[str, Any]:
        """Give the JSON object."""
        return self.model_dump(mode="json")


class Page(Answer, Generic[T]):
    """One page of a list, and where the next begins."""

    items: list[T]
    next_cursor: str | None = None


class Listing(Answer, Generic[T]):
    """A list that is short enough to be given whole."""

    items: list[T]
    next_cursor: None = None


def read(kind: type[A], given: Mapping[str, Any]) -> A:
    """Read an ask; every fault of it is named in one refusal that all doors share."""
    try:
        return kind.model_validate(dict(given))
    except ValidationError as error:
        raise refusal(kind, error, kind.read_only) from None


def cleaned(value: Any, depth: int = 0) -> Any:
    """Take out of every text what no database keeps: NUL, and halves of characters."""
    if depth > MAX_DEPTH:
        raise ValueError("nested too deeply")
    match value:
        case str():
            return clean_text(value)
        case dict():
            return {cleaned(key, depth + 1): cleaned(item, depth + 1) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case list():
            return [cleaned(item, depth + 1) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value


def clean_text(text: str) -> str:
    """Drop NUL and lone surrogates."""
    text = text.replace("\x00", "")
    return text if text.isascii() else text.encode("utf-8", "ignore").decode("utf-8")


def utc(instant: datetime | None) -> str | None:
    """Spell an instant that belongs to no schedule."""
    return None if instant is None else _spelled(instant.astimezone(UTC)).replace("+00:00", "Z")


def local(instant: datetime | None, tz: str) -> str | None:
    """Spell an instant of a schedule on the clock of its zone; in UTC where this machine does not know the zone."""
    return None if instant is None else _spelled(instant.astimezone(_clock(tz)))


def _clock(tz: str) -> tzinfo:
    try:
        return zone(tz)
    except Invalid:
        # One bad row may not hide all others from a list: its words say what is wrong with it.
        return UTC


def _spelled(instant: datetime) -> str:
    return instant.isoformat(timespec="milliseconds" if instant.microsecond >= 1000 else "seconds")
