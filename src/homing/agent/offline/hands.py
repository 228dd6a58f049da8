"""Plans that look at the world: a page, a search, a file, a command. Exact commands that call the real tools."""

import re

from homing.agent.frames import unframed
from homing.agent.offline import automations
from homing.agent.offline.plans import Plan
from homing.agent.offline.scene import Call, Scene

_SHOWN = 4000
# "run the tests" is a wish, "run ls -l" a command.
_COMMAND = re.compile(r"(?!(?:the|my|our|all|it|that|this|every|another|an?)\b)[a-z0-9_./~`$(-].*", re.DOTALL)
_NAMED = re.compile(r'"(?P<name>[^"\n]*)" \((?P<id>[^\s()]+)\)')
_BACKTICKS = re.compile(r"`{3,}")


def use(tool: str, **args: object) -> Plan:
    """Call one tool and show what it gave, word for word."""
    [result] = yield [Call(tool=tool, args=args)]
    return _quoted(unframed(result.told)) if result.ok else result.told


def run(scene: Scene, target: str) -> Plan:
    """Run an automation by its name or number; what is none of them is a command for the sandbox."""
    if not _COMMAND.fullmatch(target) or target.replace(" ", "").isdigit() or target == "all":
        return (yield from automations.change(scene, "run", target))
    if scene.scheduler in scene.offered:
        [listed] = yield [Call(tool=scene.scheduler, args={"action": "list"})]
        if target.casefold() in _names(listed.text):
            return (yield from automations.change(scene, "run", target))
    return (yield from use("run_command", command=target))


def _names(listing: str) -> set[str]:
    """Give everything by which the automations of a list may be called."""
    names = {job["name"].casefold(): job["id"] for job in _NAMED.finditer(listing)}
    return {*names, *names.values(), *(word for name in names for word in name.split())}


def _quoted(text: str) -> str:
    """Show text from outside as what it is: it formats nothing and ends nothing."""
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}\n… ({len(text) - _SHOWN} characters more)"
    fence = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(shown)), default=0))
    return f"this came back:\n{fence}\n{shown}\n{fence}"
