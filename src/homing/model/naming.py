"""Which of several things somebody means: by id, by its beginning, by name, or by words of the name. Pure.

One rule for every door; a caller left with more than one lists them and asks.
"""

import re
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher
from typing import TypeVar

T = TypeVar("T")

_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"[\W_]*[0-9]+")
_SHORTEST_SLIP = 3
# Two letters of four exchanged are as alike as this.
_ALIKE = 0.75


def fitting(given: str, things: Iterable[T], spelled: Callable[[T], tuple[str, str]], *, prefix: str = "") -> list[T]:
    """Give the things that fit best: the same id, name, beginning of an id, all words in the name, a part of it.

    `spelled` tells a thing's id and name; `prefix` is what every id begins with and nobody has to type.
    """
    wanted = given.strip()
    name = wanted.casefold()
    if not wanted:
        return []
    words = set(_words(wanted))
    known = [(thing, *spelled(thing)) for thing in things]
    by_id = [thing for thing, id_, _ in known if id_ == wanted]
    by_name = [thing for thing, _, called in known if called.casefold() == name]
    begun = [thing for thing, id_, _ in known if id_.startswith((wanted, f"{prefix}{wanted}"))]
    by_words = [thing for thing, _, called in known if words and words <= set(_words(called))]
    within = [thing for thing, _, called in known if name in called.casefold()]
    return by_id or by_name or begun or by_words or within


def is_slip(given: str, name: str) -> bool:
    """Say whether somebody who wrote one probably meant the other; names that differ in a number are two."""
    given, name = given.casefold(), name.casefold()
    if min(len(given), len(name)) < _SHORTEST_SLIP or _NUMBER.sub("", given) == _NUMBER.sub("", name):
        return False
    return SequenceMatcher(None, given, name, autojunk=False).ratio() >= _ALIKE


def longest_word(given: str) -> str:
    """Give the word to search by, where a store can look for one text only."""
    return max(_WORD.findall(given), key=len, default=given.strip())


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
