"""Which automation a sentence means: by its id, its name or whole words of it, or its time. Half a word asks first."""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from homing.agent.offline.asking import ask
from homing.agent.offline.scene import Call, Result, Scene
from homing.model.errors import Invalid
from homing.model.naming import is_slip
from homing.model.schedules.durations import CLOCK, read_clock

NOUN = r"(?:reminder|automation|alarm|timer|job|task|schedule|thing|one)s?"
EVERYTHING = re.compile(
    rf"(?:all|everything|(?:all|every one) (?:of )?(?:them|it|my|the)?\s*{NOUN}|all of (?:them|it)|them all|all of it)",
    re.IGNORECASE,
)
LOOK: Mapping[str, object] = {"action": "list", "limit": 200}
"""A list for the plan itself. It is never shown, so the numbers that people say do not refer to it."""
_ARTICLE = re.compile(r"\A(?:(?:the|my|our|that|this|a|an|about|for|called|named)\s+)+", re.IGNORECASE)
_TRAILING = re.compile(rf"(?:\A|(?<!\s)\s+){NOUN}\Z", re.IGNORECASE)
_QUOTES = re.compile(r"\A[\"'“‘](.+)[\"'”’]\Z")
_LINE = re.compile(
    r'^(?:- |\d+\. )?"(?P<name>.*)" \((?P<id>[^\s()]+)\):? ?(?P<words>.*?)(?:\. Next: |\.?$)', re.MULTILINE
)
_AT = re.compile(rf"(?:at )?({CLOCK})(?: o'?clock)?", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_EXCEPT = re.compile(r"\b(except|but|besides|apart from|other than)\b", re.IGNORECASE)
_LONGEST_NAME = 200


@dataclass(frozen=True, kw_only=True)
class Listed:
    """An automation as the list tells of it."""

    id: str
    name: str
    words: str


Naming: TypeAlias = Generator[list[Call], list[Result], "list[Listed] | str"]


def listed(text: str) -> list[Listed]:
    """Read the automations of a list."""
    return [Listed(id=job["id"], name=job["name"], words=job["words"]) for job in _LINE.finditer(text)]


def listing(scene: Scene) -> Generator[list[Call], list[Result], list[Listed]]:
    """Ask for the automations of this conversation."""
    [result] = yield [Call(tool=scene.scheduler, args=LOOK)]
    return listed(result.text)


def core(target: str) -> str:
    """Take away what is not the name: "the trash reminder" is "trash"."""
    bare = _TRAILING.sub("", _ARTICLE.sub("", target.strip())).strip()
    quoted = _QUOTES.match(bare)
    return quoted[1] if quoted else bare


def by_words(jobs: Sequence[Listed], target: str) -> list[Listed]:
    """Give the automations meant by an id, a whole name, whole words of one, or the time at which they run."""
    wanted, name = target.strip(), core(target).casefold()
    exact = [job for job in jobs if job.id == wanted or job.name.casefold() in (wanted.casefold(), name)]
    words = set(_words(name))
    within = [job for job in jobs if words and words <= set(_words(job.name))]
    return exact or within or _by_clock(jobs, name)


def choose(scene: Scene, verb: str, target: str) -> Naming:
    """Find the one that is meant; several, none, or half a word are asked about, with sentences that begin so."""
    if told := _EXCEPT.search(target):
        yield from ()
        why = f'I do not understand "{told[1]}" here, so I changed nothing.'
        return f'{why} Say "list", and then {verb} and the numbers, such as: {verb} 1, 3'
    jobs = yield from listing(scene)
    if not jobs:
        return "There are no automations in this conversation."
    name = core(target)
    found = by_words(jobs, target)
    if len(found) == 1:
        return found
    if found or not name:
        many = found or jobs
        why = f'"{name}" fits {len(many)} automations, so I changed nothing.' if found else "Which one do you mean?"
        return (yield from _which(scene, why, verb, many))
    near = [job for job in jobs if _is_near(name, job.name)]
    why = f'There is no automation "{name}" in this conversation, so I changed nothing.'
    names = ", ".join(f'"{job.name}"' for job in jobs[:12])
    return (yield from _which(scene, why, verb, near)) if near else f"{why} There are: {names}."


def _which(scene: Scene, why: str, verb: str, jobs: Sequence[Listed]) -> Generator[list[Call], list[Result], str]:
    names = [job.name for job in jobs]
    if len({name.casefold() for name in names}) < len(names) or len(names) > 5:
        # Names that do not tell them apart cannot be chosen from; the numbers of a list can.
        return f'{why} Say "list", and then {verb} and a number.'
    return (yield from ask(scene, why, "Which one?", [f"{verb} {name}" for name in names]))


def _by_clock(jobs: Sequence[Listed], name: str) -> list[Listed]:
    at = _AT.fullmatch(name)
    if at is None:
        return []
    try:
        clock = f"{read_clock(at[1].lower()):%H:%M}"
    except Invalid:
        return []
    return [job for job in jobs if re.search(rf"\b{clock}\b(?!:)", job.words)]


def _is_near(given: str, name: str) -> bool:
    wanted = given.casefold()
    if len(wanted) > _LONGEST_NAME:
        return False
    if len(wanted) > 2 and wanted in name.casefold():
        return True
    return any(is_slip(one, other) for one in _words(wanted) for other in _words(name))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
