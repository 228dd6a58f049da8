"""Which plan a sentence asks for, and how far it has come. One small grammar, tried from top to bottom."""

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from homing.agent.offline import answers, automations, hands, memories, moving, talk
from homing.agent.offline.phrases import TO_DO, names_a_time, split_back, split_front, strip_joint
from homing.agent.offline.plans import HELP, LABEL, NOT_OFFERED, Plan, say
from homing.agent.offline.scene import Call, Scene, words_of
from homing.model.schedules.spans import read_days
from homing.model.schedules.times import WEEKDAY

# None: the rule does not apply after all, and the next one is tried.
Rule: TypeAlias = tuple[re.Pattern[str], Callable[[Scene, re.Match[str]], Plan | None]]

_POLITE = re.compile(
    r"\A(?:(?:hi|hello|hey|ok|okay|oh|so|well|um|hmm|also|and|actually|alright|sorry|btw|please|pls|kindly"
    r"|homing)(?: there| homing)?[,!.]?\s+(?=\S)"
    r"|(?:can|could|would|will) you\s+(?:(?:please|kindly|just)\s+)?"
    r"|i(?: would|'d) like you to\s+|i (?:want|need) you to\s+|just\s+(?=remind|set|list|show))+"
    r"|(?<![\s,])[\s,]+please\Z|,\s*(?:thanks|thank you)\Z",
    re.IGNORECASE,
)
_VERBS = {
    "turn off": "pause",
    "switch off": "pause",
    "stop": "stop",
    "unpause": "resume",
    "turn on": "resume",
    "switch on": "resume",
    "drop": "cancel",
    "get rid of": "cancel",
    **{verb: verb for verb in automations.ACTIONS},
}
_CHANGE = re.compile(
    rf"(?P<verb>{'|'.join(_VERBS)})\s+(?!(?:is|are|was|were|do|does|did|don't|didn't|isn't|can|can't)\b)"
    r"(?P<target>.+?)(?:\s+now)?",
    re.IGNORECASE | re.DOTALL,
)
_VERB_ALONE = re.compile(
    rf"(?P<verb>{'|'.join(_VERBS)})(?:\s+(?:it|that|this|them)(?: one)?)?",
    re.IGNORECASE,
)
_WHY = re.compile(
    r"why (?:did|didn't|does|doesn't|is|isn't|was|wasn't|has|hasn't) (?P<what>.+?)(?: not)? "
    r"(?:run|ran|fire|fired|come|came|work|go off|happen|late|paused|running|working)(?: \S+){0,2}",
    re.IGNORECASE,
)
_NOUNS = r"(?:automations?|jobs?|reminders?|tasks?|schedules?|alarms?|timers?|calendar|agenda|plans?)"
_DAY = rf"(?:today|tomorrow|tonight|(?:this|next) \w+|the weekend|{WEEKDAY}s?)"
_LIST = re.compile(
    rf"(?:list|ls|{_NOUNS}|upcoming|(?:list|show|tell|give|see|view)(?: me)?(?: all)?(?: of)?(?: my| the)? "
    rf"(?:upcoming |active |current )?{_NOUNS}"
    rf"|what(?:'s| is|s) (?:scheduled|planned|coming up|next|up next|(?:on|in) (?:my |the )?{_NOUNS})(?: for .+)?"
    rf"|what(?:'s| is|s) (?:on|due|happening|scheduled|planned)(?: for| on)? {_DAY}"
    rf"|(?:what|which|how many) {_NOUNS} (?:do i have|have i got|are there|are set|are active)(?: .+)?"
    rf"|(?:do i have|have i got|are there) (?:any|some) {_NOUNS}(?: .+)?"
    r"|what (?:do i have|have i got|am i doing)(?: (?:scheduled|planned|coming up|on))?"
    r"(?: (?:today|tomorrow|tonight|this \w+|next \w+|on \w+))?"
    rf"|(?:my |what are my )(?:upcoming )?{_NOUNS}|when is my next {_NOUNS})",
    re.IGNORECASE,
)
_PLANNED = r"(?:scheduled|planned|coming up|happening|going on|due|left|on|up)"
# These ask for a list only if they end with a day or a week.
_LIST_DAYS = re.compile(
    rf"(?:list|ls|(?:(?:list|show|tell|give|see|view)(?: me)?(?: all)?(?: of)? )?(?:my |the )?{_NOUNS}"
    rf"|what(?:'s| is|s)(?: there)?(?: {_PLANNED})? (?:on|in)(?: my| the)? {_NOUNS}"
    rf"|what(?:'s| is|s)(?: there)? {_PLANNED}"
    rf"|(?:(?:is|are) there |do i have |have i got |got )?(?:anything|any {_NOUNS})(?: {_PLANNED})?"
    rf"|(?:what|which|how many)(?: {_NOUNS})? (?:do i have|have i got|am i doing|are there)(?: {_PLANNED})?)"
    r" (?:(?:for|on|over|at|of) )?(?P<days>.+)",
    re.IGNORECASE,
)
_HELP = re.compile(r"help(?: me)?|what (?:can|do) (?:you|i) (?:do|say|know)(?: here)?|commands|\?|帮助", re.IGNORECASE)
_HELLO = re.compile(
    r"(?:hi|hello|hey|hiya|howdy|yo|good (?:morning|afternoon|evening|day))(?: there| homing)?", re.IGNORECASE
)
_PRAISE = (
    r"(?:you(?:'re| are|re|r)|ur|that(?:'s| is|s)|this is|it's) (?:(?:so|really|very|just|the|a|an) )*"
    r"(?:great|awesome|amazing|best|perfect|helpful|cool|nice|kind|wonderful|brilliant|good|lifesaver|star)"
)
_THANKS = re.compile(
    r"(?:(?:ok|okay|great|cool|perfect|nice)[,!.]? )?(?:thanks?(?: you)?|thx|ty|cheers)"
    rf"(?: (?:a lot|so much|very much|again|a million))?(?:[,!.]* {_PRAISE})?|{_PRAISE}"
    r"|(?:great|cool|perfect|nice|good|ok|okay|bye|goodbye|awesome|well done|(?:good|great|nice) (?:job|work|bot))",
    re.IGNORECASE,
)
_WHO = re.compile(
    r"(?:who|what) are you|are you (?:an? )?(?:ai|real|human|bot|robot|person|there|a real person)|what is this",
    re.IGNORECASE,
)
_NEVER_MIND = re.compile(r"never ?mind|nevermind|forget it|nothing|no|nope|no thanks?(?: you)?", re.IGNORECASE)
_STOP = re.compile(r"stop|cancel|pause|delete|remove|quit|halt", re.IGNORECASE)
_NO_MORE = re.compile(
    r"(?:don't|do not|stop) (?:remind|nag|nagg|bug|bugg|bother|nudg|nudge|ping|alert|notify|tell|annoy)(?:ing)? me "
    r"(?:about|of|to|with) (?P<target>.+?)(?: (?:any ?more|again|any longer))?",
    re.IGNORECASE,
)
_UNDO = re.compile(r"undo(?: that| it)?|take (?:that|it) back|revert(?: that| it)?", re.IGNORECASE)
_TIME_IN = re.compile(
    r"(?:what(?:'s| is)? )?(?:the )?(?:current )?(?:time|date|day)(?: (?:is it|of the week|today|right now|now))*"
    r"(?: (?:in|at) (?P<place>.+?))?(?: (?:now|right now))?",
    re.IGNORECASE,
)
_WISH = (
    r"(?:remind me|(?:set|create|add|make|schedule)(?: me)? (?:a |another |the )?reminder(?: for me)?"
    r"|i(?: (?:want|need|would like)|'d like) (?:to be reminded|a reminder)|don'?t let me forget)"
)
_REMIND = re.compile(rf"{_WISH}\b\s*(?P<rest>.*)|remember\s+(?P<deed>to\s+.+)", re.IGNORECASE | re.DOTALL)
_REMIND_LATE = re.compile(
    r"i (?:need|have|want|ought|'?ve got|'ve|must|should)(?: got)?(?: to)?\s+(?P<rest>.+?)[,.;]?\s+(?:and |so )?"
    r"(?:please |can you |could you )*remind me(?: (?:about|of) (?:it|that))?",
    re.IGNORECASE,
)
_WAKE = re.compile(
    r"(?:wake me|i(?: (?:want|need|have|would like)|'d like) to be woken)(?: up)?\b\s*(?P<rest>.*)", re.IGNORECASE
)
_PING = re.compile(r"(?:ping|nudge|alert|notify) me\b\s*(?P<rest>.*)", re.IGNORECASE)
_ALARM = re.compile(
    r"(?:(?:set|make|create|add|start) )?(?:an?|the|my|another)?\s*alarm\s+(?:clock )?(?P<rest>.+)", re.IGNORECASE
)
_TIMER = re.compile(
    r"(?:(?:set|start|make|create|begin|give)(?: me)? )?(?:an?|the|another)?\s*(?:timer(?: (?:for|of))? (?P<length>.+?)"
    r"|(?P<before>.+?)[ -]timer)(?: (?:for|to) (?P<what>.+))?",
    re.IGNORECASE,
)
_AGAIN = re.compile(r"(?:remind me\s+)?(?:about (?:it|that)\s+)?again\s+(?P<rest>.+)", re.IGNORECASE)
_SNOOZE = re.compile(r"snooze\b\s*(?P<rest>.*)", re.IGNORECASE)
_POSTPONE = re.compile(
    r"(?:postpone|delay|push(?: back)?|move|shift)\s+(?P<target>.+?)\s+(?:back\s+)?(?:by|for)\s+(?P<length>.+)",
    re.IGNORECASE,
)
_MOVE = re.compile(
    r"(?:move|reschedule|change|shift|postpone|push|delay|put off|set)\s+(?P<rest>.+\s(?:to|until|till)\s.+)",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"(?:when(?:'s| is| are| will be| does| do i(?: have to| need to)?)"
    r"|how (?:long|much time)(?: is it| is left)?(?: until| till| before))"
    r"\s+(?P<what>.+)",
    re.IGNORECASE,
)
_REMEMBER = re.compile(
    r"(?:remember(?!\s+to\s)|note)(?:\s+that|:)?\s+(?P<text>.+)|(?:请?记住)[，:：\s]*(?P<chinese>.+)",
    re.IGNORECASE | re.DOTALL,
)
_REMEMBER_LATE = re.compile(
    r"(?P<text>\S+\s.+)[,.;:]\s+(?:please )?(?:remember|note|keep) (?:that|this|it)(?: (?:down|in mind|for me))*",
    re.IGNORECASE | re.DOTALL,
)
# Why somebody asks, and then a plain request. What may hang on a condition, or be a no, is not taken apart.
_PREAMBLE = re.compile(
    r"(?P<why>(?:i|i'm|im|i've|my|we|our)\b[^\n]*?)(?:[.!;]|,? (?:so|and))\s+"
    r"(?P<wish>(?:(?:can|could|would|will) you|please)\s.+)",
    re.IGNORECASE,
)
_HANGS = re.compile(
    r"\b(?:if|when|whenever|unless|until|till|while|never|not|no|stop|once|only|before|after|except|said|says|told"
    r"|dont|\w+n't)\b",
    re.IGNORECASE,
)
_FORGET = re.compile(r"forget(?:\s+(?:about|that))?\s+(?P<what>.+)", re.IGNORECASE)
_LIKED = re.compile(
    r"what (?:do|did) i (?:say i )?(?:like|love|prefer|enjoy)|(?P<chinese>我(?:最)?(?:喜欢|爱)(?:吃|喝)?什么)",
    re.IGNORECASE,
)
_RECALL = re.compile(
    r"what (?:did i (?:say|tell you)|do you (?:know|remember)) about (?P<topic>.+)"
    r"|(?:what|who|where|which)(?:'s| is| are| was) my (?P<mine>.+)"
    r"|where did i (?:put|leave|park) (?:my |the )?(?P<put>.+)"
    r"|我(?:说过|说了)(?:关于)?(?P<chinese>.+?)(?:的?什么|吗)",
    re.IGNORECASE,
)
_ASKS = re.compile(rf"\A{TO_DO.pattern}|\b(?:say|remind me)\b", re.IGNORECASE)
_FETCH = re.compile(r"(?:fetch|open|look at|read) (?P<url>https?://\S+)", re.IGNORECASE)
_SEARCH = re.compile(r"search (?:the web )?for (?P<query>.+)", re.IGNORECASE)
_FILE = r"(?P<path>[^\s?]*[./][^\s?]*)"
_READ = re.compile(rf"(?:what(?:'s| is) in|read|show|cat) (?:the file )?{_FILE}", re.IGNORECASE)
_FILES = re.compile(r"(?:list|show)(?: me)?(?: the| my)? files(?: in (?P<path>\S+))?", re.IGNORECASE)
_RUN = re.compile(r"run\s+(?P<target>.+?)(?:(?<!\s)\s+now)?", re.IGNORECASE | re.DOTALL)
_SHELL = re.compile(r"\$\s*(?P<command>.+)", re.DOTALL)
_SAY = re.compile(r"say\s+(?P<text>.+)", re.IGNORECASE | re.DOTALL)
# What these take along stays as it was written, however long: they read it in one pass.
_VERBATIM = frozenset({_SHELL, _RUN, _SAY, _REMEMBER})
# Everything else backtracks: over a whole message with runs of spaces, for minutes.
_LONGEST = 2000


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
    match scene.source:
        case "person":
            said = words_of(text)
            sentence = _bare(said)
            return (
                _answered(scene, sentence)
                or _match(_RULES, scene, sentence)
                or _timed(scene, sentence)
                or _match(_SCHEDULED_RULES, scene, sentence)
                or _explained(scene, sentence)
                or talk.unknown(scene, said.strip())
            )
        case "run":
            return _match(_SCHEDULED_RULES, scene, _bare(text)) or say(text.strip())
        case _:
            # What comes from outside is shown, never obeyed.
            return say(text.strip())


def _bare(text: str) -> str:
    """Take away politeness and the sentence's end, as long as something is left."""
    sentence = text.strip().replace("’", "'").rstrip("?？!.。！ ")
    return _POLITE.sub("", sentence).strip() or sentence


def _folded(sentence: str) -> str | None:
    """Leave one space, or one line break, between words; None when it is too long for a sentence."""
    lines = (" ".join(line.split()) for line in sentence.split("\n"))
    folded = "\n".join(line for line in lines if line)
    return folded if len(folded) <= _LONGEST else None


def _match(rules: Sequence[Rule], scene: Scene, sentence: str) -> Plan | None:
    folded = _folded(sentence)
    for pattern, plan in rules:
        text = sentence if pattern in _VERBATIM else folded
        if text is not None and (found := pattern.fullmatch(text)) and (asked := plan(scene, found)):
            return asked
    return None


def _timed(scene: Scene, text: str) -> Plan | None:
    sentence = _folded(text)
    if sentence is None:
        return None
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


def _answered(scene: Scene, text: str) -> Plan | None:
    """Read what answers the question that was asked last; a sentence that stands by itself does not."""
    sentence = _folded(text)
    options = answers.options(scene)
    if sentence is None or not options:
        return None
    if alone := _VERB_ALONE.fullmatch(sentence):
        # "it" is what the question was about, not what was changed last.
        changes = [(option, _CHANGE.fullmatch(option)) for option in options]
        fitting = [option for option, found in changes if found and _action(found["verb"]) == _action(alone["verb"])]
        if len(fitting) > 1:
            return say("Which one do you mean? Say its name. I changed nothing yet.")
        whole = fitting[0] if fitting else None
    elif _match(_RULES, scene, sentence):
        return None
    else:
        whole = answers.meant(scene, options, sentence)
    return (_match(_RULES, scene, whole) or _timed(scene, whole)) if whole else None


def _explained(scene: Scene, text: str) -> Plan | None:
    """Read "I keep forgetting to drink, so could you remind me every hour to drink": the wish alone."""
    found = _PREAMBLE.fullmatch(_folded(text) or "")
    if found is None or _HANGS.search(found["why"]) or names_a_time(found["why"], now=scene.now, zone=scene.zone):
        return None
    return _match(_WISHES, scene, _bare(found["wish"]))


def _list_days(scene: Scene, days: str) -> Plan | None:
    return automations.show(scene, days) if read_days(days, now=scene.now, tz=scene.zone) else None


def _alarm(scene: Scene, rest: str) -> Plan:
    when = re.sub(r"\A(?:for|at) (?=\d)", "at ", rest).removeprefix("for ")
    return automations.remind(scene, when, instead="alarm")


def _wish(scene: Scene, rest: str) -> Plan:
    # "a reminder for tomorrow at 9 to call" and "a reminder for the dentist on friday at 15:00".
    return automations.remind(scene, re.sub(r"\A(?:for|of)\s+", "", rest))


def _action(verb: str) -> str:
    meant = _VERBS[" ".join(verb.lower().split())]
    return automations.ACTIONS.get(meant, meant)


def _change(scene: Scene, verb: str, target: str) -> Plan:
    meant = _VERBS[" ".join(verb.lower().split())]
    match meant:
        case "stop":
            return automations.stop(scene, target)
        case "pause" | "disable":
            return automations.pause(scene, target)
        case _:
            return automations.change(scene, meant, target)


def _anything(found: re.Match[str]) -> str:
    """Give what a pattern with several ways to say the same thing has caught."""
    return next((group.strip() for group in found.groups() if group), "")


_ASKING: tuple[Rule, ...] = (
    (_LIST_DAYS, lambda scene, found: _list_days(scene, found["days"])),
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
_WISHES: tuple[Rule, ...] = (
    (_REMIND, lambda scene, found: _wish(scene, _anything(found))),
    (_WAKE, lambda scene, found: automations.remind(scene, found["rest"], instead="wake up")),
    (_PING, lambda scene, found: automations.remind(scene, found["rest"], instead="ping")),
)
_RULES: tuple[Rule, ...] = (
    (_HELP, lambda scene, found: say(HELP)),
    (_HELLO, lambda scene, found: say(talk.HELLO)),
    (_THANKS, lambda scene, found: say(talk.WELCOME)),
    (_WHO, lambda scene, found: say(talk.WHO)),
    (_NEVER_MIND, lambda scene, found: say(talk.NEVER_MIND)),
    (_STOP, lambda scene, found: say(talk.STOP)),
    *_ASKING,
    (_TIME_IN, lambda scene, found: talk.time_in(scene, found["place"])),
    (_WHEN, lambda scene, found: automations.when(scene, found["what"])),
    *_LOOKING,
    (_UNDO, lambda scene, found: automations.undo(scene)),
    (_AGAIN, lambda scene, found: automations.again(scene, found["rest"])),
    (_SNOOZE, lambda scene, found: moving.snooze(scene, found["rest"])),
    (_RUN, lambda scene, found: hands.run(scene, found["target"].strip())),
    (_NO_MORE, lambda scene, found: automations.stop(scene, found["target"])),
    (_WHY, lambda scene, found: automations.change(scene, "why", found["what"])),
    (_CHANGE, lambda scene, found: _change(scene, found["verb"], found["target"].strip())),
    (_REMIND_LATE, lambda scene, found: automations.remind(scene, f"to {found['rest']}")),
    *_WISHES,
    (_TIMER, lambda scene, found: automations.timer(scene, found["length"] or found["before"], found["what"] or "")),
    (_ALARM, lambda scene, found: _alarm(scene, found["rest"])),
    (_POSTPONE, lambda scene, found: moving.postpone(scene, found["target"], found["length"])),
    (_MOVE, lambda scene, found: moving.move(scene, found["rest"])),
    (_REMEMBER_LATE, lambda scene, found: memories.remember(scene, found["text"])),
    (_REMEMBER, lambda scene, found: memories.remember(scene, _anything(found))),
    (_FORGET, lambda scene, found: memories.forget(scene, found["what"])),
    (memories.STATEMENT, lambda scene, found: memories.remember(scene, found[0])),
)
