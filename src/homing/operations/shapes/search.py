"""What may be looked for, and what is found."""

from typing import Annotated, Literal

from pydantic import Field

from homing.operations.shapes.base import Answer, Page, PageAsk


class Search(PageAsk):
    """Look for words in what is yours."""

    q: Annotated[str, Field(max_length=1000)] = ""
    kind: Literal["message", "job", "memory", "session"] | None = None


class FoundShape(Answer):
    """One thing that was found."""

    kind: Literal["message", "job", "memory", "session"]
    id: str
    session_key: str | None
    seq: int | None
    title: str | None
    words: str
    """The words around the first hit, as plain text."""
    marks: list[tuple[int, int]]
    """Where the hits are in `words`: from and to, in characters."""
    at: str


class FoundPage(Page[FoundShape]):
    """What was found, the newest first."""

    pending: int
    """Messages, automations and memories that search does not know yet; 0 once it knows all."""
