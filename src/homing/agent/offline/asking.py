"""Asking one question instead of guessing: as buttons where the agent has them, and always in words."""

import re
from collections.abc import Sequence
from datetime import datetime

from homing.agent.offline.phrases import Found
from homing.agent.offline.plans import Plan
from homing.agent.offline.scene import Call, Scene
from homing.model.approvals import MAX_OPTION, MAX_OPTIONS
from homing.model.errors import Invalid
from homing.model.schedules.phrases import recognise

NEVER_MIND = "never mind"
_QUESTION = "ask_question"
# The apostrophe of "don't" opens no quotation.
_QUOTED = re.compile(r"(?<!\w)'([^']+)'(?!\w)")


def ask(scene: Scene, why: str, title: str, options: Sequence[str]) -> Plan:
    """Say why nothing was done, and offer whole sentences to choose from: each does what it says."""
    offered = [option for option in dict.fromkeys(options) if len(option) <= MAX_OPTION][: MAX_OPTIONS - 1]
    if not offered:
        yield from ()
        return why
    if _QUESTION in scene.offered:
        [result] = yield [Call(tool=_QUESTION, args={"title": title, "options": [*offered, NEVER_MIND]})]
        if result.ok:
            return why
    return "\n".join([f"{why} Say for example:", *(f"- `{option}`" for option in offered)])


def ask_for_time(scene: Scene, found: Found, message: str, *, reminder: bool) -> Plan:
    """Pass on why a time cannot be taken, with the nearest ones that can be as sentences to choose."""
    assert found.hint
    if not message or not found.unclear:
        yield from ()
        return found.hint
    near = near_times(found.hint, found.when, now=scene.now, zone=scene.zone)
    options = [f"remind me {when} to {message}" if reminder else f"{when} {message}" for when in near]
    if "ask_question" not in scene.offered:
        # The hint names them already.
        yield from ()
        return found.hint
    return (yield from ask(scene, f"{found.hint} I have scheduled nothing yet.", "When?", options))


def near_times(hint: str, when: str, *, now: datetime, zone: str) -> list[str]:
    """Give the times that a refusal names, and that can be read; of a day without its hour, the evening too."""
    wrong, *instead = _QUOTED.findall(hint) or [""]
    candidates = [text for one in instead for text in (one, when.replace(wrong, one)) if " " in text]
    near = [text for text in dict.fromkeys(candidates) if _reads(text, now=now, zone=zone)]
    if "Did you mean" in hint:
        # A misspelled time has its hour.
        return near
    later = [f"{text.removesuffix(' at 9')} at 18:00" for text in near if text.endswith(" at 9")]
    return [*near, *(text for text in later if _reads(text, now=now, zone=zone))]


def _reads(text: str, *, now: datetime, zone: str) -> bool:
    try:
        return recognise(text, now=now, zone=zone) is not None
    except Invalid:
        return False
