"""An answer in the person's own words to what was asked last: one of the options, or the time that was missing."""

import re
from collections.abc import Sequence

from homing.agent.offline.asking import NEVER_MIND
from homing.agent.offline.naming import core
from homing.agent.offline.phrases import Found, split_front
from homing.agent.offline.scene import Scene
from homing.model.schedules.durations import CLOCK

# "ok" may only mean that it was heard.
_YES = re.compile(
    r"(?:yes|yeah|yep|yup|correct|exactly)(?:,? (?:do it|go ahead|do that))?|do it|go ahead", re.IGNORECASE
)
_ONLY_CLOCK = re.compile(rf"(?:at )?(?P<clock>{CLOCK})", re.IGNORECASE)
_AT = re.compile(r"\s+at\s+\S+\Z")
_WORD = re.compile(r"\w+")


def options(scene: Scene) -> list[str]:
    """Give the sentences that were offered last to choose from."""
    return [option for option in scene.asked if option != NEVER_MIND]


def meant(scene: Scene, offered: Sequence[str], sentence: str) -> str | None:
    """Give the whole sentence that an answer stands for; None when it answers nothing."""
    if _YES.fullmatch(sentence):
        return offered[0] if len(offered) == 1 else None
    wishes = [_wish(scene, option) for option in offered]
    if all(wishes):
        return _timed(scene, sentence, [wish for wish in wishes if wish])
    words = set(_WORD.findall(core(sentence).casefold()))
    fitting = [option for option in offered if words and words <= set(_WORD.findall(option.casefold()))]
    # A word that all options have chooses none of them.
    return fitting[0] if len(fitting) == 1 < len(offered) else None


def _wish(scene: Scene, option: str) -> tuple[str, Found] | None:
    """Read an option that schedules something: its opening, and its time with what to do."""
    opening = "remind me " if option.startswith("remind me ") else ""
    found = split_front(option.removeprefix(opening), now=scene.now, zone=scene.zone, tied=bool(opening))
    return (opening, found) if found and found.message and not found.hint else None


def _timed(scene: Scene, sentence: str, wishes: Sequence[tuple[str, Found]]) -> str | None:
    """Put the time that was given into the sentence that lacked one; what to do must stand in what was said."""
    opening, deeds = wishes[0][0], {found.message for _, found in wishes}
    deed = deeds.pop()
    if deeds or not scene.said or deed.casefold() not in scene.said[-1].casefold():
        return None
    when = sentence
    if clock := _ONLY_CLOCK.fullmatch(sentence):
        days = {_AT.sub("", found.when) for _, found in wishes}
        # Asked for the hour of a day, an hour is that day's; asked for any time, "at 5" is one.
        when = f"{days.pop()} at {clock['clock']}" if len(days) == 1 else f"at {clock['clock']}"
    given = split_front(when, now=scene.now, zone=scene.zone)
    if given is None or given.message or (given.hint and not given.unclear):
        return None
    return f"{opening}{when} to {deed}" if opening else f"{when} {deed}"
