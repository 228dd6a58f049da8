"""Plans about automations: add, list, change. What they say is what the tool said."""

import re
from collections.abc import Sequence

from homing.agent.offline.phrases import Found, near_time, split_back, split_front, strip_joint
from homing.agent.offline.plans import Plan
from homing.agent.offline.scene import SCHEDULED_OPENING, Call, Result, Scene
from homing.model.agents import SCHEDULERS

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
_NUMBERS = re.compile(r"#?\d+(?:\s*(?:,|and|&)?\s*#?\d+)*")


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
        yield from ()
        return found.hint
    return (yield from add(scene, found.when, found.message if message is None else message, reminder=reminder))


def remind(scene: Scene, rest: str) -> Plan:
    """Read "in 2 minutes to stretch" or "to stretch in 2 minutes"."""
    if found := split_front(rest, now=scene.now, zone=scene.zone, tied=True):
        return (yield from add_found(scene, found, reminder=True))
    message = strip_joint(rest)
    if found := split_back(message, now=scene.now, zone=scene.zone, joined=message != rest):
        return (yield from add_found(scene, found, reminder=True))
    if near := near_time(rest, now=scene.now, zone=scene.zone):
        return near
    deed = message if message != rest else rest.partition(" to ")[2]
    return f"I could not find a time in that. Try: remind me in 2 minutes to {deed or 'stretch'}"


def again(scene: Scene, rest: str) -> Plan:
    """Schedule once more what was said or scheduled last."""
    found = split_front(rest, now=scene.now, zone=scene.zone)
    if not found or (found.message and not found.hint):
        return "I could not read that time. Try: again in 10m"
    latest = _latest(scene)
    if not latest:
        return "There is nothing in this conversation yet to do again. Try: remind me in 10m to stretch"
    message, reminder = latest
    return (yield from add_found(scene, found, reminder=reminder, message=message))


def show(scene: Scene) -> Plan:
    """Show the automations with the numbers by which they can be named."""
    [result] = yield [_call(scene, {"action": "list"})]
    return numbered(result.told)


def change(scene: Scene, verb: str, target: str) -> Plan:
    """Do one thing to the automations named: by number, by name, or all of them."""
    if target == "all":
        [listed] = yield [_call(scene, {"action": "list"})]
        ids = jobs_in(listed.text)
        if not ids:
            return listed.text
    elif _NUMBERS.fullmatch(target):
        shown = _last_shown(scene)
        if not shown:
            listing = yield from show(scene)
            return f'No list was shown here yet, so I changed nothing. Say "{verb} {target}" again after it:\n{listing}'
        numbers = [int(number) for number in re.findall(r"\d+", target)]
        if wrong := [number for number in numbers if not 1 <= number <= len(shown)]:
            return f"There is no number {wrong[0]}: the last list had {len(shown)}. I changed nothing."
        ids = [shown[number - 1] for number in numbers]
    else:
        ids = [target]
    results = yield [_call(scene, {"action": ACTIONS[verb], "job_id": job}) for job in ids]
    return _paragraphs(results)


def undo(scene: Scene) -> Plan:
    """Take back what the last sentence that changed something changed: all of it, as "cancel all" does."""
    ids = _last_changed(scene)
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


def _last_shown(scene: Scene) -> list[str]:
    for call, result in scene.scheduling():
        if call.args.get("action") == "list":
            return jobs_in(result.text)
    return []


def _paragraphs(results: Sequence[Result]) -> str:
    # Markdown: lines of their own only as paragraphs.
    return "\n\n".join("\n\n".join(result.told.splitlines()) for result in results)


def _last_changed(scene: Scene) -> list[str]:
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


def _call(scene: Scene, args: dict[str, object]) -> Call:
    return Call(tool=scene.scheduler, args=args)


def _name(message: str) -> str:
    return " ".join(message.split()[:4])[:60]
