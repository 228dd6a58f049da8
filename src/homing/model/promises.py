"""The promise check: does an answer promise to come back? A strict grammar of English, on top of the schedule phrases.

A promise that is missed costs little, a false mark costs trust: what may be a quotation, a question, a condition, an
offer or the past is not taken for a promise.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from homing.model.errors import Invalid
from homing.model.hours import USUAL_HOURS, NamedHours
from homing.model.jobs import Job
from homing.model.schedules.instants import next_after
from homing.model.schedules.phrases import recognise

_MOST_TEXT = 16_384
_MOST_SENTENCE = 300
_MOST_SENTENCES = 40
_MOST_WORDS = 14
_ABOUT = timedelta(minutes=10)


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A sentence that promises to come back, and what a schedule for it would say."""

    text: str
    when: str | None
    """The time in it, where it can be read."""
    message: str
    at: datetime | None
    """The first instant of that time."""
    reminder: bool
    """`message` is for the person, word for word; else it is what the agent would do."""

    def shown(self) -> dict[str, object]:
        """Give what its message keeps of it."""
        return {"text": self.text, "when": self.when, "message": self.message, "reminder": self.reminder}


# Every repetition is bounded, or ends at its line: answers may be long and strange.
_FENCED = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_QUOTED = re.compile(
    r'"[^"\n]{0,500}"|“[^”\n]{0,500}”|«[^»\n]{0,500}»|„[^“”\n]{0,500}[“”]|(?<!\w)[\'‘][^\'’\n]{0,500}[\'’](?!\w)'
)
_QUOTE_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]\n]{0,200})\]\([^)\n]{0,500}\)")
_LIST = re.compile(r"^[ \t]*(?:[-+•]|\d{1,3}[.)])[ \t]+", re.MULTILINE)
_MARKS = re.compile(r"[*_#]+")
_MERIDIEM = re.compile(r"\b([ap])\.m\.?", re.IGNORECASE)
_END = re.compile(r"(?<=[.!?…])\s+|\n+")
# In a letter that was asked for, "I" is somebody else.
_LETTER = re.compile(
    r"^[ \t]*(?:subject:|dear\b|(?:hi|hello|hey) [A-Z]\w*,|(?:(?:best|kind|warm) )?regards\b|sincerely\b|best,"
    r"|cheers,|yours\b)"
    r"|\bdraft\b|\bhere(?:'s| is) (?:a|an|the|your|my) (?:reply|email|message|letter|text|note|script|story|poem)\b"
    r"|\bhere(?:'s| is) (?:a|an|the|your|my) (?:dialogue|translation|version|suggestion)\b",
    re.IGNORECASE | re.MULTILINE,
)
_QUOTE = "«»"


def _any(words: str) -> str:
    """Spell a choice of words, which stand apart by commas; a space in one is any space."""
    return "|".join(word.strip() for word in words.split(","))


_LEADS = re.compile(
    "(?:(?:"
    + _any(
        "ok(?:ay)?, sure(?: thing)?, got it, done, great, all right, alright, no problem, of course, absolutely,"
        "certainly, understood, will do, thanks, thank you, perfect, noted, right, fine, good, yes, and, then, so,"
        "also, meanwhile"
    )
    + r")\b[\s,!:;.—–-]*)*"
)
_WILL = (
    r"\bi(?:'ll| will|'m going to| am going to)"
    r"(?: (?:also|then|definitely|certainly|just|gladly|happily|of course|be sure to|make sure to))*"
)
# Verbs that always mean "later", whether or not a time stands beside them.
_LATER_VERB = re.compile(
    rf"{_WILL} (?P<verb>remind you(?! (?:that|how|why|what|of the fact)\b)|(?:ping|nudge|wake) you(?: up)?"
    r"|get back to you|report back|check back|circle back|keep an eye on)\b"
)
# Verbs that mean "later" only beside a time.
_TIMED_VERB = re.compile(
    rf"{_WILL} (?P<verb>"
    + _any(
        "check in, check, look in, look, take (?:a|another) look, try, retry, run, send, post, give you, report,"
        "update, tell you, let you know, notify you, alert you, message you, text you, write, email you, call you,"
        "follow up, come back, be back, revisit, refresh, review, repeat, return, test, verify,"
        "keep (?:checking|watching|monitoring)"
    )
    + r")\b"
)
_HEAR = re.compile(
    r"\byou(?:'ll| will) (?P<verb>hear from me|(?:get|receive) (?:a|your) reminder(?: from me)?"
    r"|(?:get|receive|have) an update from me)\b"
)
# With one of these a sentence is a condition, an offer, or a report of what somebody said.
_NOT_MEANT = re.compile(
    r"\b(?:"
    + _any(
        "if, unless, whether, would, could, should, might, may, when, whenever, once(?! more), as soon as,"
        "the moment, in case, otherwise, or else, want, wants, wish, prefer, say, says, said, saying, tell me,"
        "told, let me, give me, send me, ask, asks, asked, reply with, example, instance, such as, like this,"
        "think, thought, believe, guess, hope, hoped, imagine, pretend, suppose, wrote, writes, read, reads,"
        "answered, replied, quote, quoted, promised, meant, means, usually, for you to, please"
    )
    + r")\b"
)
# From the verb on: denied, or about this very moment.
_NOT_LATER = re.compile(
    r"\b(?:"
    + _any(
        "never, not, no longer, right away, immediately, at once, straight away, below, shortly, momentarily,"
        "here, first, in a (?:moment|second|sec|bit)"
    )
    + r")\b|n't\b|(?<!from )\bnow\b"
)
_FAILED = re.compile(r"\b(?:could|did|was|is|has|does)n't\b|\bcould not\b")
_VAGUE = re.compile(
    "(?:"
    + _any(
        "later(?: today| on| this week| tonight)?, tomorrow, tonight,"
        r"this (?:morning|afternoon|evening|week|weekend), next (?:week|month|year|\w+day),"
        r"(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)day, every \w+, each \w+, daily, weekly,"
        r"in (?:a|an|one|two|three|\d+|a few|a couple of|some|several) (?:minute|hour|day|week|month)s?"
    )
    + ")"
)
_AGAIN = re.compile(r"\b(?:again|back|you|another look|follow up|retry|revisit|refresh)\b")
_HEAD = re.compile(r"(?:i|i've|i'm|it|it's|there|there's|nothing|the|this|that|that's|since|because)\b[^:]*")
_JOINED = re.compile(r"(?:[,;—–-]|,? and|,? so|,? but)\s*\Z")
# What stands before a time that belongs to a thing, not to the deed: "the flights for tomorrow at 9".
_OF_A_THING = re.compile(r"\b(?:for|of|about|from|since|by|until|till|before|after|the|your|my|than|to)\Z")
_IDIOM = re.compile(r"in (?:a|one) minute")
_CLAIM = re.compile(
    r"(?:(?:i've|i have)(?: just| now| successfully)? (?:scheduled|set|created|added|arranged)\b(?! nothing)"
    r"|(?:it|that|this)(?:'s| is| has been)(?: now)? scheduled\b|scheduled\b(?! nothing)"
    r"|(?:your|the|a) (?:reminder|check|task|automation|alarm)(?: is| has been)(?: now)? (?:set|scheduled|created)\b)"
)


_MAY = re.compile(
    r"\b(?:i'll|i will|i'm going|i am going|you'll|you will|scheduled|set|created|added|arranged)\b", re.IGNORECASE
)


def find_promise(
    text: str, *, now: datetime, zone: str, hours: NamedHours = USUAL_HOURS, refused: bool = False
) -> Promise | None:
    """Find the first sentence that promises to come back; None when there is none.

    `refused`: the turn tried to schedule something and could not. Then "I have scheduled it" is such a sentence, too.
    """
    text = text[:_MOST_TEXT].replace("’", "'")
    if not _MAY.search(text) or _LETTER.search(text):
        return None
    for sentence in islice(filter(_MAY.search, _sentences(text)), _MOST_SENTENCES):
        lower = sentence.lower()
        found = _promise(sentence, lower, now=now, zone=zone, hours=hours)
        if found is None and refused and _CLAIM.match(_without_leads(lower)) and "?" not in lower:
            found = Promise(text=sentence, when=None, at=None, message="", reminder=False)
        if found is not None:
            return found
    return None


def is_kept(promise: Promise, jobs: Iterable[Job]) -> bool:
    """Say whether a conversation's automations keep a promise already; any one keeps a promise without a time."""
    active = [job for job in jobs if job.enabled and job.next_run_at is not None]
    if promise.at is None:
        return bool(active)
    early, late = promise.at - _ABOUT, promise.at + _ABOUT
    due = (next_after(job.timing.schedule, early) for job in active)
    return any(at is not None and at <= late for at in due)


def _sentences(text: str) -> Iterator[str]:
    for pattern, put in (
        (_FENCED, "\n"),
        (_CODE, _QUOTE),
        (_QUOTE_LINE, "\n"),
        (_QUOTED, _QUOTE),
        (_LINK, r"\1"),
        (_LIST, "\n"),
        (_MARKS, ""),
        (_MERIDIEM, r"\1m"),
    ):
        text = pattern.sub(put, text)
    for part in _END.split(text):
        sentence = " ".join(part.split())
        if 0 < len(sentence) <= _MOST_SENTENCE:
            yield sentence


def _without_leads(lower: str) -> str:
    found = _LEADS.match(lower)
    return lower[found.end() :] if found else lower


def _promise(sentence: str, lower: str, *, now: datetime, zone: str, hours: NamedHours) -> Promise | None:
    # What did not work is not a condition: "I couldn't reach it, so I'll try again".
    if "?" in lower or _NOT_MEANT.search(_FAILED.sub("failed", lower)):
        return None
    found = _LATER_VERB.search(lower) or _HEAR.search(lower) or _TIMED_VERB.search(lower)
    if found is None or _NOT_LATER.search(lower, found.start()):
        return None
    reading = _Times(now=now, zone=zone, hours=hours)
    head, verb, tail = lower[: found.start()], found["verb"], lower[found.end() :].strip(" .!…")
    early = _without_leads(head).strip(" ,")
    if _QUOTE in head or not _may_stand_before(head, early, reading):
        return None
    when, rest = reading.in_tail(tail)
    if found.re is _HEAR and when is not None and rest:
        return None
    if when is None and early and reading.is_time(early):
        when = early
    if found.re is not _LATER_VERB and when is None:
        vague = _VAGUE.fullmatch(early) or re.search(rf"(?:^|\s){_VAGUE.pattern}\Z", tail)
        if not vague or not (found.re is _HEAR or _AGAIN.search(f"{verb} {tail}")):
            return None
        if _OF_A_THING.search(tail[: vague.start()]) if vague.string is tail else False:
            return None
    if when is not None and _IDIOM.fullmatch(when) and not verb.startswith("remind"):
        return None
    reminder = verb.startswith(("remind", "wake", "ping", "nudge")) or found.re is _HEAR
    return Promise(
        text=sentence,
        when=when,
        at=reading.first(when) if when else None,
        message=_deed(rest if reminder else f"{verb} {rest}", reminder=reminder),
        reminder=reminder,
    )


def _may_stand_before(head: str, early: str, reading: "_Times") -> bool:
    """Only what surely leaves the sentence the agent's own words: an "OK", a time, a plain clause before a comma."""
    if not early or reading.is_time(early) or _VAGUE.fullmatch(early):
        return True
    return bool(_HEAD.match(early) and _JOINED.search(head.rstrip()))


def _deed(words: str, *, reminder: bool) -> str:
    deed = words.strip(" ,")
    if reminder:
        deed = re.sub(r"\A(?:to|about|of|and)\b\s*", "", deed)
    else:
        # As the person would ask for it.
        deed = re.sub(r"\byour\b", "my", re.sub(r"\byou\b", "me", deed))
    return deed[:1].upper() + deed[1:]


@dataclass(frozen=True, kw_only=True)
class _Times:
    now: datetime
    zone: str
    hours: NamedHours

    def is_time(self, words: str) -> bool:
        return bool(words) and self.first(words) is not None

    def first(self, words: str) -> datetime | None:
        """Give the first instant that words mean; None when they are not a time, or one that has passed."""
        try:
            found = recognise(words, now=self.now, zone=self.zone, hours=self.hours)
        except Invalid:
            return None
        return None if found is None else next_after(found.schedule, self.now)

    def in_tail(self, tail: str) -> tuple[str | None, str]:
        """Find a time at the end of what follows the verb, or right behind the verb; and what is left."""
        deed, also, then = tail.partition(" and ")
        if also:
            when, rest = self.in_tail(deed)
            if when is not None:
                return when, f"{rest}{also}{then}".strip()
        words = tail.split()
        for start in range(max(0, len(words) - _MOST_WORDS), len(words)):
            span, before = " ".join(words[start:]), " ".join(words[:start])
            if self.is_time(span):
                # The longest time decides: "for tomorrow at 9" is not "at 9".
                return (None, tail) if _OF_A_THING.search(before) else (span, before)
        for end in range(min(len(words), _MOST_WORDS), 0, -1):
            span = " ".join(words[:end]).rstrip(",")
            if self.is_time(span):
                return span, " ".join(words[end:])
        return None, tail
