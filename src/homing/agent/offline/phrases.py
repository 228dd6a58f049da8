"""Finding the time in a sentence: the longest run of words at its beginning or end that the one grammar can read."""

import re
from datetime import datetime

from homing.model.errors import Invalid
from homing.model.schedules.phrases import LONGEST, read_when

_REFUSED_TIMES = frozenset({"schedule_in_past", "schedule_never_fires", "schedule_too_often", "time_does_not_exist"})
_JOINT = re.compile(r"\A(?:[:,;–-]\s*)?(?:(?:to|that|about)\s+)?", re.IGNORECASE)


def split_front(text: str, *, now: datetime, zone: str) -> tuple[str, str] | None:
    """Split "in 2 minutes to stretch" into its time and the rest."""
    words = text.split()
    # No time is longer than the grammar reads, and of a long text every beginning would be tried.
    for count in range(min(len(words), LONGEST), 0, -1):
        when = " ".join(words[:count]).rstrip(",:;.!")
        if is_when(when, now=now, zone=zone):
            return when, strip_joint(" ".join(words[count:]))
    return None


def split_back(text: str, *, now: datetime, zone: str) -> tuple[str, str] | None:
    """Split "stretch in 2 minutes" into its time and the rest."""
    words = text.split()
    for start in range(max(0, len(words) - LONGEST), len(words)):
        when = " ".join(words[start:]).rstrip(",:;.!")
        if is_when(when, now=now, zone=zone):
            return when, " ".join(words[:start]).rstrip(" ,:;")
    return None


def strip_joint(text: str) -> str:
    """Take away the word that ties a deed to its time: "to stretch" is "stretch"."""
    return _JOINT.sub("", text.strip())


def is_when(text: str, *, now: datetime, zone: str) -> bool:
    """Say whether this is a time. One that has passed is one too: the tool shall say what is wrong with it."""
    try:
        read_when(text, now=now, zone=zone)
    except Invalid as refusal:
        return refusal.field_code in _REFUSED_TIMES
    return True
