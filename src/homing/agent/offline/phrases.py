"""Finding the time in a sentence: the longest run of words at its beginning or end that the one grammar knows.

What is left is the message, and nothing of it may change the time: a second time, a word such as "except", or words
between the time and "to" are refused. After a colon, or in quotes, everything is message.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from homing.model.errors import Invalid
from homing.model.schedules.describe import MONTHS, WEEKDAYS
from homing.model.schedules.durations import read_length
from homing.model.schedules.phrases import LONGEST, read_when, recognise
from homing.model.schedules.suggestions import Unclear

_REFUSED_TIMES = frozenset({"schedule_in_past", "schedule_never_fires", "schedule_too_often", "time_does_not_exist"})
_JOINT = re.compile(r"\A(?:[:,;–-]\s*)?(?:(?:to|that|about)\s+)?", re.IGNORECASE)
_PLAINLY = re.compile(r"\A(?:remind me\s+)?(?:to|that|about)\s", re.IGNORECASE)
_QUOTED = re.compile(r"\A(?:(?:to|that|about)\s+)?[\"“'‘].+[\"”'’]\Z", re.DOTALL)
_CHANGES = re.compile(r"\b(?:except|excluding|unless|until|till|between|but not)\b", re.IGNORECASE)
_RELATIVE = re.compile(r"\b(?:before|after)\b", re.IGNORECASE)
_RELATIVE_EDGE = re.compile(r"\A(?:before|after)\b|\b(?:before|after)\Z", re.IGNORECASE)
_TIME_BEGINS = re.compile(
    r"(?:at|in|on|every|each|daily|hourly|weekly|monthly|today|tomorrow|tonight|next|this|noon|midnight|mondays?"
    r"|half|quarter|tmrw|tonite|nxt|@\S*|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?|weekdays|\d{1,2}(?::\d{2})?(?:[ap]m)?)",
    re.IGNORECASE,
)
# Only a sentence that begins with something to do may carry its time at the end: "I ran at 9" asks for nothing.
TO_DO = re.compile(r"(?:say|tell|check|look|fetch|send|write|report|ask|ping|wake|summari[sz]e|do)\b", re.IGNORECASE)
_PLEASE = re.compile(r"\Aplease\s+", re.IGNORECASE)
_WISH = re.compile(r"\Aremind me\b\s*", re.IGNORECASE)
# "to 5 to call" goes on with the time: it is the end of "from 3 to 5".
_TIED = re.compile(r"\A(?:(?:to|that|about)\b(?!\s+\d\S*\s+to\b)|[:\"“'‘])", re.IGNORECASE)
_GOES_ON = re.compile(
    r"\A(?:on|and|or|but|next|for|at|every|each|once|twice|\d\S*"
    rf"|(?:{'|'.join((*WEEKDAYS, *MONTHS))})s?)(?![\w'’])",
    re.IGNORECASE,
)
_LATE_TO = re.compile(r"\sto\s", re.IGNORECASE)
_LATE_DEED = re.compile(r"\s(?:remind me|say)\s", re.IGNORECASE)
# "pack for monday" names a day without saying when to pack.
_ABOUT_A_DAY = frozenset({"for", "about", "of", "with", "by", "the"})
_MOST_WORDS, _LONGEST_SPAN = 60, 7


@dataclass(frozen=True, kw_only=True)
class Found:
    """A time and the message beside it; or, with `hint`, why this time cannot be taken."""

    when: str
    message: str
    hint: str | None = None
    unclear: bool = False
    """Only the time says too little; beside it everything was understood."""


def split_front(text: str, *, now: datetime, zone: str, tied: bool = False) -> Found | None:
    """Split "in 2 minutes to stretch" into its time and the rest; `tied`: only "to" or the like may follow the time."""
    words = text.split()
    # No time is longer than the grammar reads, and of a long text every beginning would be tried.
    counts = range(min(len(words), LONGEST), 0, -1)
    found = _longest(((words[:count], words[count:]) for count in counts), now=now, zone=zone)
    if found is None or found.hint:
        return found
    count = len(found.when.split())
    apart = words[count - 1].endswith(":")
    hint = None
    if not apart:
        if not tied and (slip := _slip(words, range(1), range(count + 1, count + 3), now=now, zone=zone)):
            return slip
        hint = _leftover(found.when, found.message, now=now, zone=zone) or _unread(found.when, found.message, tied=tied)
    return Found(when=found.when, message=_unquoted(strip_joint(found.message)), hint=hint)


def split_back(text: str, *, now: datetime, zone: str, joined: bool = False) -> Found | None:
    """Split "stretch in 2 minutes" into its time and the rest; `joined`: a "to" stood before it."""
    words = text.split()
    starts = range(max(0, len(words) - LONGEST), len(words))
    found = _longest(((words[start:], words[:start]) for start in starts), now=now, zone=zone)
    if found is None or found.hint:
        return found
    start = len(words) - len(found.when.split())
    ends = range(len(words), len(words) + 1)
    if slip := _slip(words, range(max(0, start - 3), start), ends, now=now, zone=zone):
        return slip
    message = found.message.rstrip(" ,:;")
    hint = _leftover(found.when, f"to {message}" if joined else message, now=now, zone=zone)
    if not hint and not joined and (late := _LATE_TO.search(message)):
        hint = _not_understood(found.when, message[: late.start()])
    return Found(when=found.when, message=_unquoted(message), hint=hint)


def _slip(words: Sequence[str], starts: range, ends: range, *, now: datetime, zone: str) -> Found | None:
    """Find a day that is misspelled beside a time: "milk tommorow at 9" is not "milk tommorow", at nine today."""
    for start, end in ((start, end) for start in starts for end in ends if end <= len(words)):
        when = " ".join(words[start:end]).rstrip(",:;.!")
        if near := _meant(when, now=now, zone=zone):
            return Found(when=when, message=" ".join((*words[:start], *words[end:])), hint=near, unclear=True)
    return None


def near_time(text: str, *, now: datetime, zone: str) -> str | None:
    """Say what a misspelled time at the beginning of a text may have meant."""
    words = text.split()[:_LONGEST_SPAN]
    for count in range(len(words), 1, -1):
        if near := _meant(" ".join(words[:count]).rstrip(",:;.!"), now=now, zone=zone):
            return near
    return None


def _meant(when: str, *, now: datetime, zone: str) -> str | None:
    try:
        read_when(when, now=now, zone=zone)
    except Unclear as refusal:
        return refusal.reason if "Did you mean" in refusal.reason else None
    except Invalid:
        return None
    return None


def strip_joint(text: str) -> str:
    """Take away the word that ties a deed to its time: "to stretch" is "stretch"."""
    return _JOINT.sub("", text.strip())


def _longest(parts: Iterable[tuple[list[str], list[str]]], *, now: datetime, zone: str) -> Found | None:
    # The longest part that is a time, or is one that says too little, decides: "every hour between 9 and 5" is not
    # "every hour" with a message.
    for time_words, rest in parts:
        when = " ".join(time_words).rstrip(",:;.!")
        try:
            if recognise(when, now=now, zone=zone) is not None:
                return Found(when=when, message=" ".join(rest))
        except Unclear as refusal:
            return Found(when=when, message=" ".join(rest), hint=refusal.reason, unclear=True)
        except Invalid as refusal:
            # A time that has passed is one too: the tool says what is wrong with it.
            if refusal.field_code in _REFUSED_TIMES:
                return Found(when=when, message=" ".join(rest))
            if refusal.field_code == "unknown_timezone":
                return Found(when=when, message=" ".join(rest), hint=refusal.detail)
    return None


def _leftover(when: str, rest: str, *, now: datetime, zone: str) -> str | None:
    """Say what in the message may have been meant as a part of the time; None when nothing was."""
    if not rest or rest.startswith(":") or _QUOTED.match(rest):
        return None
    told = _CHANGES.search(rest) or _RELATIVE_EDGE.search(rest)
    if not told and not _PLAINLY.match(rest):
        told = _RELATIVE.search(rest)
    what = f'"{told[0]}"' if told else _second_time(rest, now=now, zone=zone)
    if not what:
        return None
    if told and _RELATIVE.fullmatch(told[0]):
        return (
            f'I read the time "{when}", but I cannot calculate with {what}, so I scheduled nothing. Give the time'
            " itself, for example: remind me tomorrow at 15:30 to get ready"
        )
    message = strip_joint(rest)
    return (
        f'I read the time "{when}", but {what} in the rest may change it, so I scheduled nothing. Say one time only, '
        f'or put the message in quotes: remind me {when} to "{message if len(message) < 60 else "…"}"'
    )


def _unread(when: str, rest: str, *, tied: bool) -> str | None:
    """Say which words right behind the time are neither time nor message; None when there are none."""
    asked = _PLEASE.sub("", rest)
    after = _WISH.sub("", asked)
    if not after or _TIED.match(after):
        return None
    if tied or after != asked:
        late = _LATE_TO.search(after)
    else:
        late = _LATE_DEED.search(after)
        if not _GOES_ON.match(after) and (not late or TO_DO.match(after)):
            return None
    return _not_understood(when, after[: late.start()] if late else after)


def _not_understood(when: str, words: str) -> str:
    shown = words if len(words) < 60 else "…"
    return (
        f'I read the time "{when}", but I do not understand "{shown}" beside it, so I scheduled nothing. Give the '
        f'whole time first, then "to" and the message, for example: remind me tomorrow at 9 to stretch'
    )


def names_a_time(text: str, *, now: datetime, zone: str) -> bool:
    """Say whether a time or a day stands anywhere in a text."""
    return _second_time(text, now=now, zone=zone) is not None


def _second_time(rest: str, *, now: datetime, zone: str) -> str | None:
    words = rest.split()[:_MOST_WORDS]
    for start, word in enumerate(words):
        if not _TIME_BEGINS.fullmatch(word):
            continue
        for count in range(_LONGEST_SPAN, 0, -1):
            span = " ".join(words[start : start + count]).rstrip(",:;.!?")
            # A length such as "for 10 minutes" is not a second time.
            if read_length(span.lower()) is None and _is_time(lambda s=span: recognise(s, now=now, zone=zone)):
                return f'a second time, "{span}",'
    return _day_at_the_end(words, now=now, zone=zone)


def _day_at_the_end(words: Sequence[str], *, now: datetime, zone: str) -> str | None:
    # "at 8pm to call tomorrow": a day without its hour, where a time may stand.
    for start in range(max(1, len(words) - _LONGEST_SPAN), len(words)):
        if not _TIME_BEGINS.fullmatch(words[start]) or words[start - 1].lower() in _ABOUT_A_DAY:
            continue
        span = " ".join(words[start:]).rstrip(",:;.!?")
        try:
            recognise(span, now=now, zone=zone)
        except Unclear:
            return f'"{span}"'
        except Invalid:
            continue
    return None


def _is_time(read: Callable[[], object]) -> bool:
    try:
        return read() is not None
    except Invalid:
        return False


def _unquoted(message: str) -> str:
    return message[1:-1].strip() if _QUOTED.match(message) and not _PLAINLY.match(message) else message
