"""A model's arguments, laid flat: `job` and `payload` opened, every name its canonical one, nothing lost in silence."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from homing.model.bounds import nearest, parse_json
from homing.model.errors import MAX_FIELD_ERRORS, Invalid, Malformed
from homing.model.job_fields import FIELDS, plain
from homing.tools.spellings import CONTEXT, NAMES, NEEDLESS, READ_ONLY, SCHEDULE_PARTS

_FLAGS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_KEYS_OF_SCHEDULES = ("at", "every", "cron")


@dataclass(frozen=True, kw_only=True)
class Word:
    """One argument: how it was spelled, and what was said."""

    spelled: str
    value: object


@dataclass(kw_only=True)
class Arguments:
    """What was said, by canonical name. `ignored` is for the reply: whose and where, and what no job has."""

    words: dict[str, Word] = field(default_factory=dict[str, Word])
    schedule_parts: dict[str, object] = field(default_factory=dict[str, object])
    ignored: list[str] = field(default_factory=list[str])
    unknown: list[str] = field(default_factory=list[str])

    def __contains__(self, name: str) -> bool:
        return name in self.words

    def text(self, name: str) -> str | None:
        """Give a text; a number will do."""
        word = self.words.get(name)
        if word is None or word.value is None:
            return None
        if isinstance(word.value, bool) or not isinstance(word.value, str | int | float):
            raise _wrong(word, "text")
        return str(word.value).strip()

    def texts(self, name: str) -> list[str] | None:
        """Give a list of texts; one text may hold several, with commas."""
        word = self.words.get(name)
        if word is None or word.value is None:
            return None
        given = word.value.split(",") if isinstance(word.value, str) else word.value
        if not isinstance(given, list) or not all(isinstance(one, str) for one in cast(list[object], given)):
            raise _wrong(word, "a list of texts")
        return [one.strip() for one in cast(list[str], given) if one.strip()]

    def choice(self, name: str, *known: str) -> str | None:
        """Give one of the known values, in whatever case it was written: next-heartbeat is next_heartbeat."""
        given = self.text(name)
        if given is None:
            return None
        for value in known:
            if plain(value) == plain(given):
                return value
        raise _wrong(self.words[name], f"one of {', '.join(known)}", code="out_of_range")

    def flag(self, name: str) -> bool | None:
        word = self.words.get(name)
        if word is None or word.value is None or isinstance(word.value, bool):
            return None if word is None else cast(bool | None, word.value)
        value = _FLAGS.get(str(word.value).strip().lower())
        if value is None:
            raise _wrong(word, "true or false")
        return value

    def number(self, name: str) -> float | None:
        word = self.words.get(name)
        if word is None or word.value is None:
            return None
        value = _number(word.value)
        if value is None:
            raise _wrong(word, "a number")
        return value

    def whole(self, name: str) -> int | None:
        value = self.number(name)
        if value is not None and not value.is_integer():
            raise _wrong(self.words[name], "a whole number")
        return None if value is None else int(value)


def gather(raw: Mapping[str, object], *, nulls: bool) -> Arguments:
    """Lay arguments flat. `nulls`: keep explicit nulls, which clear a field; else null is as good as absent."""
    found = Arguments()
    for spelled, inside, value in flat(raw):
        if _absent(value) or (value is None and not nulls):
            continue
        _place(found, spelled, inside, value)
    return found


def flat(raw: Mapping[str, object], inside: str = "") -> Iterator[tuple[str, str, object]]:
    """Open `job` and `payload`, and give each argument with the object it stood in."""
    for spelled, value in raw.items():
        name = plain(spelled)
        if name not in ("job", "patch", "payload"):
            yield spelled, inside, value
        elif isinstance(content := opened(value), Mapping):
            yield from flat(cast(Mapping[str, object], content), name)
        else:
            # Just a text: which job, or what to do then.
            yield "message" if name == "payload" else "job_id", inside, value


def opened(value: object) -> object:
    """Read JSON in a string where an object may stand; anything else stays what it is."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return parse_json(value.encode("utf-8", "replace"), "job")
        except Malformed:
            raise Invalid(
                f"This looks like JSON but cannot be read: {value:.80}", field="job", code="wrong_type"
            ) from None
    return value


def _place(found: Arguments, spelled: str, inside: str, value: object) -> None:
    name = plain(spelled)
    if name in SCHEDULE_PARTS:
        return _keep_part(found, SCHEDULE_PARTS[name], value)
    if name in CONTEXT or (name == "session" and ":" in str(value)):
        return found.ignored.append(spelled)
    if name in READ_ONLY:
        return found.unknown.append(spelled)
    if name in NEEDLESS:
        return None
    if name == "kind" and inside != "payload" and str(value).lower() in _KEYS_OF_SCHEDULES:
        return _keep_part(found, "kind", value)
    if name == "kind" and str(value).lower() in ("user", "system", "legacy"):
        return found.unknown.append(spelled)
    canonical = NAMES.get(name)
    if canonical is None:
        return _leave_out(found, spelled)
    return _keep(found, canonical, Word(spelled=spelled, value=value))


def _keep(found: Arguments, name: str, word: Word) -> None:
    before = found.words.get(name)
    if before is not None and before.value not in (None, word.value) and word.value is not None:
        code = "schedule_twice" if name in ("when", "schedule", "tz") else "wrong_type"
        raise _twice(word.spelled, before.value, word.value, code)
    if before is None or word.value is not None:
        found.words[name] = word


def _keep_part(found: Arguments, name: str, value: object) -> None:
    before = found.schedule_parts.get(name)
    if before is not None and value not in (None, before):
        raise _twice(name, before, value, "schedule_twice")
    if value is not None:
        found.schedule_parts[name] = value


def _leave_out(found: Arguments, spelled: str) -> None:
    few = len(found.unknown) < MAX_FIELD_ERRORS
    near = nearest(plain(spelled), [*NAMES, *SCHEDULE_PARTS], cutoff=0.8) if few else None
    if near:
        meant = next((other for row in FIELDS for other in row.aliases if plain(other) == near), None)
        meant = meant or NAMES.get(near) or SCHEDULE_PARTS[near]
        raise Invalid(f"There is no {spelled}. Did you mean {meant}?", field=spelled, code="unknown_field")
    found.unknown.append(spelled)


def _absent(value: object) -> bool:
    return (isinstance(value, str) and not value.strip()) or value in ({}, [])


def _number(value: object) -> float | None:
    text = str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    return float(text) if _NUMBER.fullmatch(text) and len(text) < 40 else None


def _wrong(word: Word, wanted: str, code: str = "wrong_type") -> Invalid:
    return Invalid(f"{word.spelled} is {_shown(word.value)}, but must be {wanted}.", field=word.spelled, code=code)


def _twice(name: str, before: object, after: object, code: str) -> Invalid:
    shown = f"{_shown(before)} and {_shown(after)}"
    return Invalid(f"{name} is given twice: {shown}. Give it once.", field=name, code=code)


def _shown(value: object) -> str:
    return f"{json.dumps(value, ensure_ascii=False, default=str):.80}"
