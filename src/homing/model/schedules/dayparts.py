"""Parts of the day as times of the clock: "tomorrow morning" becomes "tomorrow at 08:00", before anything else is read.

Only whole turns of phrase are replaced; every other word stays where it is, so what is not known is still refused.
"""

import re

from homing.model.hours import NamedHours
from homing.model.schedules.durations import CLOCK, NUMBERS, read_clock
from homing.model.schedules.suggestions import unclear
from homing.model.schedules.times import WEEKDAY

PARTS = "morning|afternoon|evening|night"
_DAY = rf"today|tomorrow|(?:on |this |next )?{WEEKDAY}"
_OCLOCK = re.compile(rf"\b(\d{{1,2}}|{'|'.join(NUMBERS)}) ?o'? ?clock\b")
_QUARTERS = re.compile(
    rf"\b(?:(?P<half>half)|(?:a )?quarter) (?P<side>past|(?<=quarter )to) "
    rf"(?P<hour>\d{{1,2}}|{'|'.join(NUMBERS)})(?P<half_day>\s*[ap]\.?m\b\.?)?(?![\w:])"
)
_EVERY = re.compile(rf"\b(every|each) (?=(?:{PARTS}|noon|midnight)\b)")
_WINDOW = re.compile(rf"\bfrom ({CLOCK}) (?:to|until|till) ({CLOCK})(?![\w:])")
# Times beside a part of the day, most words first; the groups are named by what stands there.
_CLOCK_FIRST = re.compile(rf"(?:\bat )?\b(?P<clock>{CLOCK}),? (?P<day>{_DAY}) (?P<part>{PARTS})\b")
_CLOCK_IN = re.compile(rf"(?:\bat )?\b(?P<clock>{CLOCK}) (?:in the (?P<part>{PARTS})|at (?P<night>night))\b")
_CLOCK_LAST = re.compile(rf"\b(?:in the )?(?P<part>{PARTS}),? (?:at )?(?P<clock>{CLOCK})(?![\w:])")
_ALONE = re.compile(
    rf"(?P<before>\A|(?<=\S) )(?P<the>in the |at (?=night))?(?P<parts>(?:{PARTS})(?: and (?:{PARTS}))*)\b"
)
_FIRST_HOUR = {"morning": 0, "afternoon": 12, "evening": 16, "night": 18}
_LAST_HOUR = {"morning": 11, "afternoon": 18, "evening": 23, "night": 23}


def on_the_clock(text: str, hours: NamedHours) -> str:
    """Write named hours, "half past 5" and "9 o'clock" as times of the clock, "from 9 to 17" as "between 9 and 17"."""
    text = _QUARTERS.sub(_quarter, _OCLOCK.sub(r"\1:00", text))
    text = re.sub(r"\btonight\b", "today night", text)
    text = re.sub(rf"\bthis (?={PARTS})", "today ", text)
    text = _EVERY.sub(r"\1 day ", text)
    text = _WINDOW.sub(r"between \1 and \2", text)
    text = _CLOCK_FIRST.sub(lambda found: f"{found['day']} at {_within(found['clock'], found['part'])}", text)
    text = _CLOCK_IN.sub(lambda found: f"at {_within(found['clock'], found['part'] or 'night')}", text)
    text = _CLOCK_LAST.sub(lambda found: f"at {_within(found['clock'], found['part'])}", text)
    return _ALONE.sub(lambda found: _alone(found, hours), text)


def _quarter(found: re.Match[str]) -> str:
    at = read_clock(found["hour"] + (found["half_day"] or ""))
    minutes = at.hour * 60 + (-15 if found["side"] == "to" else 30 if found["half"] else 15)
    hour, minute = divmod(minutes % (24 * 60), 60)
    # Without am or pm the part of the day beside it may still say which half it is.
    return f"{hour:02}:{minute:02}" if found["half_day"] else f"{hour}:{minute:02}"


def _within(clock: str, part: str) -> str:
    at = read_clock(clock)
    first, last = _FIRST_HOUR[part], _LAST_HOUR[part]
    hour = at.hour + 12 if at.hour < 12 and first <= at.hour + 12 <= last and "a" not in clock else at.hour
    if not first <= hour <= last:
        raise unclear(
            f"'{clock}' is not in the {part}, which goes from {first:02}:00 to {last:02}:59 here. "
            "Give the hour alone, for example 'at 15:00' or 'at 2am'.",
            near=f"every {part} at {clock}",
        )
    return f"{hour:02}:{at.minute:02}"


def _alone(found: re.Match[str], hours: NamedHours) -> str:
    # "morning" by itself is not a time: it needs a day, or "in the".
    known = found["before"] or found["the"]
    return f"{found['before']}at {_named(found['parts'], hours)}" if known else found[0]


def _named(parts: str, hours: NamedHours) -> str:
    return " and ".join(f"{getattr(hours, part):%H:%M}" for part in parts.split(" and "))
