"""Plans that change when something happens: move, postpone, snooze. What is not certain is asked."""

import re
from datetime import datetime, time, timedelta

from homing.agent.offline import automations
from homing.agent.offline.asking import ask, near_times
from homing.agent.offline.naming import Listed, choose
from homing.agent.offline.phrases import split_front
from homing.agent.offline.plans import Plan
from homing.agent.offline.scene import Call, Scene
from homing.model.errors import Invalid
from homing.model.schedules import At
from homing.model.schedules.durations import CLOCK, read_clock, read_length
from homing.model.schedules.phrases import recognise
from homing.model.schedules.suggestions import Unclear

_ONCE = re.compile(r"once on \w+ (?P<day>\d+ \w+ \d+) at (?P<clock>\d\d:\d\d(?::\d\d)?) (?P<tz>\S+)", re.IGNORECASE)
_CLOCKS = re.compile(r"\b\d\d:\d\d(?::\d\d)?\b")
_TO = re.compile(r"\s+(?:to|until|till|on)\s+", re.IGNORECASE)
_BARE = re.compile(rf"(?:at )?({CLOCK})(?: o'?clock)?", re.IGNORECASE)
_IT = re.compile(r"(?:it|that|this|them)(?: again)?", re.IGNORECASE)
_SNOOZE_FOR = re.compile(r"\A(?:for|by|it|that|this|me|another)\s+", re.IGNORECASE)


def move(scene: Scene, rest: str) -> Plan:
    """Read "my 9am reminder to 10": what, and the new time."""
    splits = [(rest[: joint.start()], rest[joint.end() :]) for joint in _TO.finditer(rest)]
    for target, when in reversed(splits):
        if _BARE.fullmatch(when) or _is_time(scene, when):
            return (yield from _move(scene, target, when))
    if not splits:
        yield from ()
        return "To when? Say for example: move dentist to tomorrow at 10"
    target, when = splits[-1]
    return (
        f'I don\'t understand "{when}" as a time, so I moved nothing. Say for example: move {target} to tomorrow at 10'
    )


def postpone(scene: Scene, target: str, length: str) -> Plan:
    """Let something that happens once happen so much later."""
    ms = read_length(length.lower())
    if ms is None:
        yield from ()
        return f'I don\'t understand "{length}" as a length of time. Say for example: postpone {target} by 1 hour'
    found = yield from _one(scene, "postpone", target)
    if isinstance(found, str):
        return found
    once = _ONCE.match(found.words)
    if once is None:
        return (
            f'"{found.name}" repeats, so I moved nothing. Say "skip {found.name}" to leave out the next time, or move '
            "it for good: move … to every day at 10"
        )
    return (yield from _update(scene, found, _iso(_wall(once) + timedelta(milliseconds=ms), once["tz"])))


def snooze(scene: Scene, rest: str) -> Plan:
    """Bring the reminder that was shown last once more."""
    given = _SNOOZE_FOR.sub("", _SNOOZE_FOR.sub("", rest.strip()))
    if not given:
        return (yield from ask(scene, "For how long?", "For how long?", ["snooze 10 minutes", "snooze 1 hour"]))
    message = scene.reminded
    if not message:
        yield from ()
        return "There is no reminder in this conversation yet to bring again. Try: remind me in 10 minutes to stretch"
    when = f"in {given}" if read_length(given.lower()) is not None else given.removeprefix("until ")
    found = split_front(when, now=scene.now, zone=scene.zone)
    if found is None or (found.message and not found.hint):
        return f'I don\'t understand "{given}" as a time, so it is not snoozed. Say for example: snooze 10 minutes'
    return (yield from automations.add_found(scene, found, reminder=True, message=message))


def _move(scene: Scene, target: str, when: str) -> Plan:
    found = yield from _one(scene, "move", target)
    if isinstance(found, str):
        return found
    if bare := _BARE.fullmatch(when):
        return (yield from _at(scene, found, bare[1].lower()))
    once = _ONCE.match(found.words)
    try:
        reading = recognise(when, now=scene.now, zone=scene.zone)
    except Unclear as unclear:
        near = near_times(unclear.reason, when, now=scene.now, zone=scene.zone)
        same = [f"{when} at {once['clock']}"] if once and near else []
        options = [f"move {found.name} to {one}" for one in (*same, *near)]
        return (yield from ask(scene, f"{unclear.reason} I moved nothing yet.", "To when?", options))
    if reading and isinstance(reading.schedule, At) and once is None:
        why = f'"{found.name}" repeats ({found.words}), and "{when}" is one time, so I moved nothing.'
        return f'{why} Say the new rule, such as: move {found.name} to every day at 10; or "skip {found.name}".'
    return (yield from _update(scene, found, when))


def _at(scene: Scene, found: Listed, clock: str) -> Plan:
    """Keep the days of something, and change only its time of day."""
    clocks = _CLOCKS.findall(found.words)
    try:
        at = read_clock(clock)
    except Invalid as refused:
        yield from ()
        return refused.detail
    if len(clocks) != 1:
        return f'"{found.name}" has more than one time a day ({found.words}), so I moved nothing. Say the new rule.'
    before = time.fromisoformat(clocks[0])
    if "m" not in clock and ":" not in clock and at.hour < 12 <= before.hour and at.hour:
        both = [f"move {found.name} to {at.hour:02}:00", f"move {found.name} to {at.hour + 12}:00"]
        return (yield from ask(scene, f'Is "{clock}" in the morning or in the evening?', "When?", both))
    if once := _ONCE.match(found.words):
        return (yield from _update(scene, found, _iso(datetime.combine(_wall(once), at), once["tz"])))
    words = _CLOCKS.sub(f"{at:%H:%M}", found.words)
    if not _is_time(scene, words):
        return f'"{found.name}" runs {found.words}; I cannot change only its time. Say the new rule after "to".'
    return (yield from _update(scene, found, words))


def _one(scene: Scene, verb: str, target: str) -> automations.OneFound:
    if _IT.fullmatch(target.strip()) and (last := automations.last_changed(scene)):
        target = last[-1]
    found = yield from choose(scene, verb, target)
    return found if isinstance(found, str) else found[0]


def _update(scene: Scene, found: Listed, when: str) -> Plan:
    [result] = yield [Call(tool=scene.scheduler, args={"action": "update", "job_id": found.id, "when": when})]
    return result.told


def _wall(once: re.Match[str]) -> datetime:
    day = datetime.strptime(once["day"], "%d %b %Y")  # noqa: DTZ007 - a wall clock's time, in the zone beside it
    return datetime.combine(day, time.fromisoformat(once["clock"]))


def _iso(wall: datetime, tz: str) -> str:
    return f"{wall:%Y-%m-%dT%H:%M:%S} {tz}"


def _is_time(scene: Scene, when: str) -> bool:
    try:
        return recognise(when, now=scene.now, zone=scene.zone) is not None
    except Unclear:
        return True
    except Invalid as refused:
        return refused.field_code != "schedule_unreadable"
