"""Plans about automations: add, list, change. What they say is what the tool said."""

import re
from collections.abc import Generator, Mapping, Sequence
from typing import TypeAlias

from homing.agent.offline import memories
from homing.agent.offline.asking import ask, ask_for_time, near_times
from homing.agent.offline.naming import EVERYTHING, LOOK, NOUN, Listed, by_words, choose, core, listing
from homing.agent.offline.phrases import Found, near_time, split_back, split_front, strip_joint
from homing.agent.offline.plans import Plan
from homing.agent.offline.scene import SCHEDULED_OPENING, UNDO_WORDS, Call, Result, Scene
from homing.model.agents import SCHEDULERS
from homing.model.errors import Invalid
from homing.model.schedules import At
from homing.model.schedules.durations import read_length
from homing.model.schedules.phrases import recognise
from homing.model.schedules.suggestions import Unclear

ACTIONS = {
    "pause": "disable",
    "disable": "disable",
    "resume": "enable",
    "enable": "enable",
    "cancel": "remove",
    "remove": "remove",
    "delete": "remove",
    "skip": "skip",
    "run": "run",
    "why": "get",
}
CHANGES = frozenset(
    {"add", "create", "update", "remove", "delete", "cancel", "enable", "disable", "pause", "resume", "skip"}
)
_JOB = re.compile(r'"[^"\n]*" \((?P<named>[^\s()]+)\)|\b(?P<bare>job_[\w-]+)')
_BULLET = re.compile(r"\A\s*(?:\d+[.)]|[-*•])\s*")
# Something must stand between two numbers: else digits can be parted in ever so many ways.
_NUMBERS = re.compile(r"(?:numbers? )?#?\d{1,9}(?:(?:\s*(?:,|and|&)\s*#?|\s+#?|#)\d{1,9})*")
_UNTIL = re.compile(r"(?P<target>.+?)\s+(?P<joint>until|till|for)\s+(?P<when>.+)", re.IGNORECASE | re.DOTALL)
# "tell me to water the plants" is about plants.
_LEAD = re.compile(r"\A(?:(?:i (?:have|need|want|ought) to|i must|i should|tell me to)\s+)+(?=\S)", re.IGNORECASE)
_LONGEST_NAME = 40
_NAMED = re.compile(rf"\b{NOUN}\Z", re.IGNORECASE)
_IT = re.compile(r"it|that|this|that one|this one|the last one", re.IGNORECASE)

OneFound: TypeAlias = Generator[list[Call], list[Result], "Listed | str"]


def add(scene: Scene, when: str, message: str, *, reminder: bool) -> Plan:
    """Schedule a message: a reminder is sent word for word, anything else is a turn."""
    if not message:
        yield from ()
        return f'I read the time "{when}", but not what to do then. Try: remind me {when} to stretch'
    args: dict[str, object] = {"action": "add", "when": when, "message": message, "name": _name(message)}
    if reminder:
        args["reminder"] = True
    [result] = yield [_call(scene, args)]
    return result.told


def add_found(scene: Scene, found: Found, *, reminder: bool, message: str | None = None) -> Plan:
    """Schedule what was found in a sentence, or say why its time cannot be taken."""
    if found.hint:
        said = found.message if message is None else message
        return (yield from ask_for_time(scene, found, strip_joint(said), reminder=reminder))
    return (yield from add(scene, found.when, found.message if message is None else message, reminder=reminder))


def remind(scene: Scene, rest: str, instead: str = "") -> Plan:
    """Read "in 2 minutes to stretch" or "to stretch in 2 minutes"; `instead` stands for a message that is left out."""
    message = strip_joint(rest)
    found = split_front(rest, now=scene.now, zone=scene.zone, tied=True)
    if not found:
        found = split_back(message, now=scene.now, zone=scene.zone, joined=message != rest)
    if found:
        return (yield from add_found(scene, found, reminder=True, message=found.message or instead))
    deed = message if message != rest else rest.partition(" to ")[2] or instead
    if near := near_time(rest, now=scene.now, zone=scene.zone):
        times = near_times(near, rest, now=scene.now, zone=scene.zone)
        return (
            yield from ask(scene, near, "Did you mean this?", [f"remind me {one} to {deed}" for one in times if deed])
        )
    options = [f"remind me {when} to {deed or 'stretch'}" for when in ("in 10 minutes", "tomorrow at 9")]
    return (yield from ask(scene, "When? I could not find a time in that.", "When?", options))


def timer(scene: Scene, length: str, what: str) -> Plan:
    """Set a timer: a reminder after so long."""
    given = length.replace("-", " ").lower().strip()
    if read_length(given) is None:
        yield from ()
        return f'I don\'t understand "{length}" as a length of time. Try: set a timer for 10 minutes'
    return (yield from add(scene, f"in {given}", what or "Time is up", reminder=True))


def when(scene: Scene, what: str) -> Plan:
    """Tell when something is: an automation of that name, else what was said about it."""
    jobs = (yield from listing(scene)) if scene.scheduler in scene.offered else []
    if found := by_words(jobs, what):
        return "\n\n".join(f'"{job.name}": {job.words}.' for job in found)
    return (yield from memories.recall(scene, core(what)))


def again(scene: Scene, rest: str) -> Plan:
    """Schedule once more what was said or scheduled last."""
    found = split_front(rest, now=scene.now, zone=scene.zone)
    if not found or (found.message and not found.hint):
        return "I could not read that time. Try: again in 10m"
    reminded = scene.reminded
    latest = (reminded, True) if reminded else _latest(scene)
    if not latest:
        return "There is nothing in this conversation yet to do again. Try: remind me in 10m to stretch"
    message, reminder = latest
    return (yield from add_found(scene, found, reminder=reminder, message=message))


def show(scene: Scene, day: str | None = None) -> Plan:
    """Show the automations, or those of a day, with the numbers by which they can be named."""
    [result] = yield [_call(scene, {"action": "list", **({"when": day} if day else {})})]
    return result.told_as(numbered(result.text)) if result.ok else result.told


def change(scene: Scene, verb: str, target: str) -> Plan:
    """Do one thing to the automations named: by number, by name, or all of them."""
    numbers: list[int] = []
    if target.casefold() == "everything" and ACTIONS[verb] == "remove":
        why = "Do you mean all automations of this conversation? I changed nothing yet."
        return (yield from ask(scene, why, "All automations?", ["cancel all automations"]))
    shown, of_days = _last_list(scene)
    if EVERYTHING.fullmatch(target) and shown and of_days and not _NAMED.search(target):
        why = "The last list did not show everything. Do you mean those, or all? I changed nothing yet."
        those = ", ".join(str(number) for number in range(1, len(shown) + 1))
        return (yield from ask(scene, why, "Which?", [f"{verb} {those}", f"{verb} all automations"]))
    if EVERYTHING.fullmatch(target):
        [listed] = yield [_call(scene, LOOK)]
        ids = jobs_in(listed.text)
        if not ids:
            return listed.text
    elif _NUMBERS.fullmatch(target):
        if not shown:
            shown_now = yield from show(scene)
            return (
                f'No list was shown here yet, so I changed nothing. Say "{verb} {target}" again after it:\n{shown_now}'
            )
        numbers = [int(number) for number in re.findall(r"\d+", target)]
        if wrong := [number for number in numbers if not 1 <= number <= len(shown)]:
            return f"There is no number {wrong[0]}: the last list had {len(shown)}. I changed nothing."
        ids = [shown[number - 1] for number in numbers]
    elif _IT.fullmatch(target) and len(last := last_changed(scene)) == 1:
        ids = last
    else:
        found = yield from choose(scene, verb, target)
        if isinstance(found, str):
            return found
        ids = [job.id for job in found]
    results = yield [_call(scene, {"action": ACTIONS[verb], "job_id": job}) for job in ids]
    told = _paragraphs(results)
    for number, job in zip(numbers, ids, strict=False):
        # It was there when the list was shown.
        told = told.replace(f"There is no '{job}'", f"There is no number {number} any more")
    return told


def pause(scene: Scene, target: str) -> Plan:
    """Pause what is named; with "until friday at 9" or "for 2 days" behind it, for that long."""
    until = _UNTIL.fullmatch(target)
    is_length = bool(until) and read_length(until["when"].lower()) is not None
    if until is None or (until["joint"].lower() == "for" and not is_length):
        return (yield from change(scene, "pause", target))
    found = yield from choose(scene, "pause", until["target"])
    if isinstance(found, str):
        return found
    when, name = (f"in {until['when']}" if is_length else until["when"]), found[0].name
    try:
        reading = recognise(when, now=scene.now, zone=scene.zone)
    except Unclear as unclear:
        options = [
            f"pause {name} until {one}" for one in near_times(unclear.reason, when, now=scene.now, zone=scene.zone)
        ]
        return (yield from ask(scene, f"{unclear.reason} I paused nothing yet.", "Until when?", options))
    except Invalid as refused:
        return refused.detail
    if reading is None or not isinstance(reading.schedule, At):
        why = f'I don\'t understand "{until["when"]}" as one time, so I paused nothing.'
        return (yield from ask(scene, why, "Pause it?", [f"pause {name}", f"pause {name} until tomorrow at 9"]))
    [result] = yield [_call(scene, {"action": "disable", "job_id": found[0].id, "until": when})]
    return result.told


def stop(scene: Scene, target: str) -> Plan:
    """Ask whether to pause or to remove what is to stop: both can be meant."""
    name = "all"
    if not EVERYTHING.fullmatch(target):
        found = yield from choose(scene, "stop", target)
        if isinstance(found, str):
            return found
        name = found[0].name
    why = f'Do you want to pause "{name}", or to remove it? I changed nothing yet.'
    return (yield from ask(scene, why, "Which?", [f"pause {name}", f"cancel {name}"]))


def undo(scene: Scene) -> Plan:
    """Take back what the last sentence that changed something changed: all of it, as "cancel all" does."""
    ids = last_changed(scene)
    if not ids:
        return "Nothing was changed in this conversation that I could take back."
    results = yield [_call(scene, {"action": "undo", "job_id": job}) for job in ids]
    return _paragraphs(results)


def jobs_in(text: str) -> list[str]:
    """Find the automations a reply names, in its order: the first of each line."""
    matches = [_JOB.search(line) for line in text.splitlines()]
    return list(dict.fromkeys(match["named"] or match["bare"] for match in matches if match))


def numbered(text: str) -> str:
    """Number the lines of a list that name an automation."""
    lines: list[str] = []
    seen: list[str] = []
    for line in text.splitlines():
        ids = jobs_in(line)
        if ids and ids[0] not in seen:
            seen.append(ids[0])
            lines.append(f"{len(seen)}. {_BULLET.sub('', line)}")
        else:
            lines.append(line)
    return "\n".join(lines)


def _last_list(scene: Scene) -> tuple[list[str], bool]:
    """Give the automations of the list that was shown last, and whether it was that of some days."""
    for call, result in scene.scheduling():
        if call.args.get("action") == "list" and call.args != LOOK:
            return jobs_in(result.text), "when" in call.args
    return [], False


def _paragraphs(results: Sequence[Result]) -> str:
    # Markdown: lines of their own only as paragraphs.
    told = "\n\n".join("\n\n".join(result.told.splitlines()) for result in results)
    return told.replace(f" {UNDO_WORDS}", "", told.count(UNDO_WORDS) - 1)


def last_changed(scene: Scene) -> list[str]:
    """Name what the last sentence that changed something changed."""
    ids: list[str] = []
    for past in reversed(scene.past):
        if past.text and ids:
            break
        if past.call and past.result and past.call.tool in SCHEDULERS and past.result.ok:
            ids += [job for job in [_changed(past.call, past.result)] if job]
    return list(dict.fromkeys(reversed(ids)))


def _changed(call: Call, result: Result) -> str | None:
    if call.args.get("action", "add") not in CHANGES:
        return None
    named: Sequence[str] = jobs_in(result.text)
    return named[0] if named else str(call.args.get("job_id") or "") or None


def _latest(scene: Scene) -> tuple[str, bool] | None:
    for past in reversed(scene.past):
        if opening := SCHEDULED_OPENING.match(past.text):
            return opening["message"].strip(), False
        if past.call and past.result and past.result.ok and past.call.args.get("action") == "add":
            return str(past.call.args.get("message", "")), bool(past.call.args.get("reminder"))
    return None


def _call(scene: Scene, args: Mapping[str, object]) -> Call:
    return Call(tool=scene.scheduler, args=args)


def _name(message: str) -> str:
    words = _LEAD.sub("", message).split()
    counts = [count for count in range(1, len(words) + 1) if len(" ".join(words[:count])) <= _LONGEST_NAME]
    return " ".join(words[: counts[-1] if counts else 1])[:60]
