"""Which plan a sentence asks for, and how far it has come. One small grammar, tried from top to bottom."""

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from homing.agent.offline import automations, hands, memories
from homing.agent.offline.phrases import TO_DO, split_back, split_front, strip_joint
from homing.agent.offline.plans import HELP, LABEL, NOT_OFFERED, Plan, say
from homing.agent.offline.scene import Call, Scene

Rule: TypeAlias = tuple[re.Pattern[str], Callable[[Scene, re.Match[str]], Plan]]

_POLITE = re.compile(
    r"\A(?:(?:please|hey|ok|okay)[,\s]+|(?:can|could|would|will) you (?:please )?(?=remind me\b))+|[\s,]+please\Z",
    re.IGNORECASE,
)
_VERBS = "|".join(automations.ACTIONS)
_CHANGE = re.compile(rf"(?P<verb>{_VERBS})\s+(?P<target>.+?)(?:\s+now)?", re.IGNORECASE | re.DOTALL)
_LIST = re.compile(
    r"(?:list|ls|automations|(?:list|show)(?: me)?(?: all)?(?: my)? (?:automations|jobs|reminders|tasks|schedules?)"
    r"|what(?:'s| is) scheduled)",
    re.IGNORECASE,
)
_HELP = re.compile(r"help|帮助", re.IGNORECASE)
_UNDO = re.compile(r"undo(?: that| it)?", re.IGNORECASE)
_REMIND = re.compile(r"remind me\b\s*(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_AGAIN = re.compile(r"again\s+(?P<rest>.+)", re.IGNORECASE)
_REMEMBER = re.compile(
    r"(?:remember|note)(?:\s+that)?\s+(?P<text>.+)|(?:请?记住)[，:：\s]*(?P<chinese>.+)", re.IGNORECASE | re.DOTALL
)
_FORGET = re.compile(r"forget(?:\s+(?:about|that))?\s+(?P<what>.+)", re.IGNORECASE)
_LIKED = re.compile(
    r"what (?:do|did) i (?:say i )?(?:like|love|prefer|enjoy)|(?P<chinese>我(?:最)?(?:喜欢|爱)(?:吃|喝)?什么)",
    re.IGNORECASE,
)
_RECALL = re.compile(
    r"what (?:did i (?:say|tell you)|do you (?:know|remember)) about (?P<topic>.+)"
    r"|what(?:'s| is) my (?P<mine>.+)|我(?:说过|说了)(?:关于)?(?P<chinese>.+?)(?:的?什么|吗)",
    re.IGNORECASE,
)
_ASKS = re.compile(rf"\A{TO_DO.pattern}|\b(?:say|remind me)\b", re.IGNORECASE)
_FETCH = re.compile(r"(?:fetch|open|look at|read) (?P<url>https?://\S+)", re.IGNORECASE)
_SEARCH = re.compile(r"search (?:the web )?for (?P<query>.+)", re.IGNORECASE)
_FILE = r"(?P<path>[^\s?]*[./][^\s?]*)"
_READ = re.compile(rf"(?:what(?:'s| is) in|read|show|cat) (?:the file )?{_FILE}", re.IGNORECASE)
_FILES = re.compile(r"(?:list|show)(?: me)?(?: the| my)? files(?: in (?P<path>\S+))?", re.IGNORECASE)
_RUN = re.compile(r"run\s+(?P<target>.+?)(?:\s+now)?", re.IGNORECASE | re.DOTALL)
_SHELL = re.compile(r"\$\s*(?P<command>.+)", re.DOTALL)
_SAY = re.compile(r"say\s+(?P<text>.+)", re.IGNORECASE | re.DOTALL)


def respond(scene: Scene) -> list[Call] | str:
    """Say what to do next in this turn: tool calls, or the labelled answer to everything that was said in it."""
    results = list(scene.results)
    answers: list[str] = []
    for text in scene.texts:
        plan = _plan(scene, text)
        try:
            calls = next(plan)
            while True:
                if absent := next((call.tool for call in calls if call.tool not in scene.offered), None):
                    answers.append(NOT_OFFERED.format(tool=absent))
                    break
                if len(results) < len(calls):
                    return calls
                done, results = results[: len(calls)], results[len(calls) :]
                calls = plan.send(done)
        except StopIteration as end:
            answers.append(end.value)
    return LABEL + "\n\n".join(answers)


def _plan(scene: Scene, text: str) -> Plan:
    sentence = _POLITE.sub("", text.strip()).rstrip("?？!.。！ ")
    match scene.source:
        case "person":
            return (
                _match(_RULES, scene, sentence)
                or _timed(scene, sentence)
                or _match(_SCHEDULED_RULES, scene, sentence)
                or say(HELP)
            )
        case "run":
            return _match(_SCHEDULED_RULES, scene, sentence) or say(text.strip())
        case _:
            # What comes from outside is shown, never obeyed.
            return say(text.strip())


def _match(rules: Sequence[Rule], scene: Scene, sentence: str) -> Plan | None:
    for pattern, plan in rules:
        if found := pattern.fullmatch(sentence):
            return plan(scene, found)
    return None


def _timed(scene: Scene, sentence: str) -> Plan | None:
    found = split_front(sentence, now=scene.now, zone=scene.zone)
    wish = _REMIND.fullmatch(found.message) if found else None
    if found and found.hint and not wish and not _ASKS.search(found.message):
        # "every monday is hard" asks for nothing.
        return None
    if not found and TO_DO.match(sentence):
        found = split_back(sentence, now=scene.now, zone=scene.zone, joined=True)
    if not found:
        return None
    if wish:
        return automations.add_found(scene, found, reminder=True, message=strip_joint(wish["rest"]))
    return automations.add_found(scene, found, reminder=False)


def _anything(found: re.Match[str]) -> str:
    """Give what a pattern with several ways to say the same thing has caught."""
    return next((group.strip() for group in found.groups() if group), "")


_ASKING: tuple[Rule, ...] = (
    (_LIST, lambda scene, found: automations.show(scene)),
    (_LIKED, lambda scene, found: memories.likes(scene, "喜欢" if found["chinese"] else "like")),
    (_RECALL, lambda scene, found: memories.recall(scene, _anything(found))),
)
_LOOKING: tuple[Rule, ...] = (
    (_FETCH, lambda scene, found: hands.use("fetch_url", url=found["url"])),
    (_SEARCH, lambda scene, found: hands.use("search_web", query=found["query"])),
    (_READ, lambda scene, found: hands.use("read_file", path=found["path"])),
    (_FILES, lambda scene, found: hands.use("list_files", path=found["path"] or "")),
    (_SHELL, lambda scene, found: hands.use("run_command", command=found["command"])),
)
_SCHEDULED_RULES: tuple[Rule, ...] = (*_ASKING, *_LOOKING, (_SAY, lambda scene, found: say(found["text"])))
_RULES: tuple[Rule, ...] = (
    (_HELP, lambda scene, found: say(HELP)),
    *_ASKING,
    *_LOOKING,
    (_UNDO, lambda scene, found: automations.undo(scene)),
    (_AGAIN, lambda scene, found: automations.again(scene, found["rest"])),
    (_RUN, lambda scene, found: hands.run(scene, found["target"].strip())),
    (_CHANGE, lambda scene, found: automations.change(scene, found["verb"].lower(), found["target"].strip())),
    (_REMIND, lambda scene, found: automations.remind(scene, found["rest"])),
    (_REMEMBER, lambda scene, found: memories.remember(scene, _anything(found))),
    (_FORGET, lambda scene, found: memories.forget(scene, found["what"])),
    (memories.STATEMENT, lambda scene, found: memories.remember(scene, found[0])),
)
