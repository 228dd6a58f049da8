"""The sentences with which a schedule is refused. Each one says what to write instead, nearest examples first."""

import re
from difflib import SequenceMatcher

from homing.model.errors import Invalid

# Every one of these is read by the grammar; the three nearest to what was written are shown.
EXAMPLES = (
    "in 10 minutes",
    "every weekday at 8",
    "0 9 * * 1-5",
    "tomorrow at 9:30",
    "tomorrow morning",
    "tonight at 9",
    "on friday at 15:00",
    "next week on monday at 9",
    "on 24 december at 18:00",
    "2026-11-20T18:00",
    "in 3 days at 9",
    "every 2 hours",
    "every 30 minutes",
    "every hour between 9 and 17",
    "every morning at 7",
    "every day at 9 and 17",
    "every day except sunday at 9",
    "every monday at 9",
    "every other day at 9",
    "every 2 weeks on monday at 8",
    "every month on the 1st at 9",
    "first monday of the month at 9",
    "at the end of the month at 18:00",
    "quarterly on the 1st at 9",
    "every year on 24 december at 18:00",
    "every day at 9 Berlin time",
)
USUAL = EXAMPLES[:3]


class Unclear(Invalid):
    """Words of the grammar that do not mean one thing yet. `reason` says what is missing, without the examples."""

    reason: str = ""


def unreadable(reason: str, *, field: str, examples: tuple[str, ...] = USUAL) -> Invalid:
    """Refuse a text outside the grammar, with three texts inside it."""
    return Invalid(_with_examples(reason, examples), field=field, code="schedule_unreadable")


def unclear(reason: str, *, near: str) -> Unclear:
    """Refuse a time of which something is missing or contradicts itself; `near` is what was written."""
    refused = Unclear(_with_examples(reason, nearest(near)), field="when", code="schedule_unreadable")
    refused.reason = reason
    return refused


def nearest(given: str) -> tuple[str, ...]:
    """Choose the three examples that are most like a text."""
    words = set(_words(given))

    def likeness(example: str) -> float:
        theirs = set(_words(example))
        return len(words & theirs) / len(words) + SequenceMatcher(None, given[:80], example).ratio() / 2

    best = sorted(EXAMPLES, key=likeness, reverse=True)
    return tuple(best[:3]) if words and likeness(best[0]) > 0.5 else USUAL


def renamed(refused: Invalid, field: str) -> Invalid:
    """Say the same of the field in which the person wrote it."""
    return Invalid(refused.detail, field=field, code=refused.field_code)


def shortened(text: str, limit: int = 80) -> str:
    """Quote what was read without repeating a novel."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _with_examples(reason: str, examples: tuple[str, ...]) -> str:
    shown = ", ".join(f"'{example}'" for example in examples)
    return f"{reason} Write it like one of these: {shown}."


def _words(text: str) -> list[str]:
    # Numbers are alike: which one it is does not make a phrase near.
    return re.sub(r"\d+", "0", text.lower()).split()
