"""Memory upkeep: what may become of what is remembered about a user, from what they wrote themselves. Pure."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from homing.model.errors import Invalid
from homing.model.search_terms import query_terms

KEY = "dream"
"""The key of the system job that looks after a user's memories."""
TOOL = "update_memories"
CRON = "30 3 * * *"
MOST_CHANGES = 50
LONGEST_FACT = 500
_LISTS: Mapping[str, frozenset[str]] = {
    "add": frozenset({"text", "from"}),
    "replace": frozenset({"ids", "text", "from"}),
    "forget": frozenset({"id", "from"}),
}
# Words that say nothing about which fact it is.
_COMMON = frozenset(
    "user person he she him his her their they like love prefer want need use live work name named call called"
    " always never often usually very really own also still now not no".split()
)


@dataclass(frozen=True, kw_only=True)
class Said:
    """One message that a user wrote in a direct conversation."""

    n: int
    session_id: int
    session_key: str
    at: datetime
    text: str


@dataclass(frozen=True, kw_only=True)
class Change:
    """One fact to keep: instead of others, or besides them. Without a text, others are only forgotten."""

    text: str | None
    instead_of: tuple[str, ...] = ()
    sources: tuple[int, ...] = ()


def read_changes(given: Mapping[str, object], *, memories: Collection[str], said: Collection[int]) -> list[Change]:
    """Read what a model wants changed; refuse all of it if a part of it cannot be."""
    if unknown := sorted(set(given) - set(_LISTS)):
        raise _refused(f"{unknown[0]} is not known: give add, replace and forget, each a list.", unknown[0])
    changes: list[Change] = []
    for name, members in _LISTS.items():
        for place, one in enumerate(_list(given.get(name), name)):
            changes.append(_change(name, f"{name}.{place}", one, members, memories, said))
    if len(changes) > MOST_CHANGES:
        raise _refused(f"These are {len(changes)} changes; at most {MOST_CHANGES} at once.", "add")
    named = [memory_id for change in changes for memory_id in change.instead_of]
    if twice := next((one for one in named if named.count(one) > 1), None):
        raise _refused(f"{twice} is named twice: a memory is replaced or forgotten once.", "replace")
    return changes


def _change(
    name: str, place: str, one: object, members: frozenset[str], memories: Collection[str], said: Collection[int]
) -> Change:
    if not isinstance(one, dict) or set(cast(Any, one)) - members:
        raise _refused(f"{place} must be an object with {', '.join(sorted(members))}.", place)
    fields = cast(Mapping[str, object], one)
    sources = tuple(dict.fromkeys(_numbers(fields.get("from"), place)))
    if strange := next((n for n in sources if n not in said), None):
        raise _refused(f"{place}.from names {strange}, which is not the number of a message above.", place)
    ids: list[object] = [fields.get("id")] if name == "forget" else _list(fields.get("ids"), place)
    if name == "add":
        ids = []
    elif not ids or any(memory_id not in memories for memory_id in ids):
        raise _refused(f"{place} must name memories by the ids shown above.", place)
    # Doubles say by themselves that they are double; everything else needs the person's words.
    if not sources and len(ids) < 2:
        raise _refused(f"{place}.from must name the messages that say so.", place)
    text = None if name == "forget" else _fact(fields.get("text"), place)
    return Change(text=text, instead_of=tuple(str(memory_id) for memory_id in ids), sources=sources)


def _fact(text: object, place: str) -> str:
    if not isinstance(text, str) or not (fact := " ".join(text.split())) or len(fact) > LONGEST_FACT:
        raise _refused(f"{place}.text must be one sentence of at most {LONGEST_FACT} characters.", place)
    return fact


def _list(value: object, place: str) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _refused(f"{place} must be a list.", place)
    return cast(list[object], value)


def _numbers(value: object, place: str) -> list[int]:
    found = _list(value, f"{place}.from")
    if any(not isinstance(one, int) or isinstance(one, bool) for one in found):
        raise _refused(f"{place}.from must be a list of message numbers.", place)
    return cast(list[int], found)


def _refused(sentence: str, field: str) -> Invalid:
    return Invalid(f"{sentence} Nothing was changed.", field=field, code="out_of_range")


def fingerprint(user_id: str, text: str) -> list[str]:
    """Give what is left of a removed fact: its telling words, each as a hash, so that the fact itself is gone."""
    terms = query_terms(text)
    # The s of an apostrophe tells nothing; one character of Chinese may be the whole fact.
    telling = [term for term in terms if term not in _COMMON and not (len(term) == 1 and term.isascii())] or terms
    return sorted({hashlib.sha256(f"{user_id}\0{term}".encode()).hexdigest()[:20] for term in telling})


def is_removed(fact: Sequence[str], marks: Collection[Sequence[str]]) -> bool:
    """Say whether a fact is one that a person removed, also in other words; in doubt it is."""
    new = set(fact)
    return any(_is_alike(new, set(mark)) for mark in marks)


def _is_alike(new: set[str], old: set[str]) -> bool:
    if not new or not old:
        return False
    if new == old or (len(old) > 1 and old <= new) or (len(new) > 1 and new <= old):
        return True
    return len(new & old) / len(new | old) >= 0.6
