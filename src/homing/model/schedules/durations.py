"""Durations and times of day in words: "90 minutes", "1h30m", "half an hour"; "9", "9:30 pm", "noon"."""

import re
from datetime import time, timedelta

from homing.model.errors import Invalid
from homing.model.schedules.suggestions import unclear

NUMBERS = {
    name: number
    for number, name in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), start=1)
}
MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
UNIT = r"(seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)(?![a-z])"
PART = re.compile(rf"(?:(\d+(?:\.\d+)?)\s*|(an?|{'|'.join(NUMBERS)})\s+){UNIT}")
LENGTH = re.compile(rf"{PART.pattern}(?:(?:\s+and\s+|\s*,\s*|\s*){PART.pattern})*")
# "an hour and a half", "two and a half hours".
_AND_A_HALF = re.compile(
    rf"(?P<whole>\d{{1,3}}|an?|{'|'.join(NUMBERS)}) (?:{UNIT} and a half|and a half {UNIT})", re.IGNORECASE
)
# ISO 8601, as programs and models write it: PT10M, P1DT12H. Months and years have no fixed length.
_ISO = re.compile(
    r"p(?:(\d{1,9})w)?(?:(\d{1,9})d)?(?:t(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?)?(?<=\d[wdhms])", re.IGNORECASE
)
LONGEST = timedelta(days=36_525)
_BEYOND = 1e18

# A time of day. EXPLICIT ones cannot be taken for another number; a bare hour needs an "at" or a day before it.
_MERIDIEM = r"(?:\s*[ap]\.?m\.?)"
EXPLICIT = rf"(?:\d{{1,2}}:\d{{2}}{_MERIDIEM}?|(?:\d{{1,2}}|{'|'.join(NUMBERS)}){_MERIDIEM}|noon|midnight)"
CLOCK = rf"(?:{EXPLICIT}|\d{{1,2}}|{'|'.join(NUMBERS)})"
_READ = re.compile(rf"(\d{{1,2}}|{'|'.join(NUMBERS)})(?::(\d{{2}}))?\s*(?:([ap])\.?m\.?)?")


def read_length(text: str) -> int | None:
    """Read a duration as milliseconds; None when the text is none."""
    if text in ("half an hour", "half hour"):
        return MS["h"] // 2
    if half := _AND_A_HALF.fullmatch(text):
        return round((_amount(half["whole"]) + 0.5) * MS[(half[2] or half[3])[0]])
    if iso := _ISO.fullmatch(text):
        return sum(int(amount or 0) * MS[unit] for amount, unit in zip(iso.groups(), "wdhms", strict=True))
    if not LENGTH.fullmatch(text):
        return None
    parts = [(digits or word, unit[0]) for digits, word, unit in PART.findall(text)]
    units = [unit for _, unit in parts]
    # Larger units first and each once: "30m 1h" is more likely a slip than a wish.
    if units != sorted(set(units), key="wdhms".index):
        return None
    # What is longer than any duration may be is refused by its length; very many digits are infinite.
    return round(min(sum(_amount(amount) * MS[unit] for amount, unit in parts), _BEYOND))


def checked_length(ms: float, *, field: str, shown: str) -> int:
    """Refuse a duration that is nothing, or longer than a century."""
    if not 1 <= ms <= LONGEST / timedelta(milliseconds=1):
        raise Invalid(
            f"{shown} is out of range: give more than 0 and at most 100 years.", field=field, code="out_of_range"
        )
    return round(ms)


def read_clock(text: str) -> time:
    """Read a time of day; without am or pm it is the 24-hour clock."""
    if text in ("noon", "midnight"):
        return time(12 if text == "noon" else 0)
    match = _READ.fullmatch(text)
    assert match, text
    hour = NUMBERS.get(match[1]) or int(match[1])
    minute = int(match[2] or 0)
    if match[3] and not 1 <= hour <= 12:
        raise unclear(f"'{text}' is not a time of day: with am or pm the hour goes from 1 to 12.", near="at 3pm")
    if match[3]:
        hour = hour % 12 + (12 if match[3] == "p" else 0)
    if hour > 23 or minute > 59:
        raise unclear(
            f"'{text}' is not a time of day: hours go from 0 to 23 and minutes from 00 to 59.", near="at 15:00"
        )
    return time(hour, minute)


def _amount(text: str) -> float:
    return 1 if text in ("a", "an") else NUMBERS.get(text) or float(text)
