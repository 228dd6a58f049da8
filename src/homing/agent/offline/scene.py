"""What the offline model sees: the turn's texts and results, and what the session's history tells."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from homing.agent.frames import TRIGGERED, split_frames, unframed
from homing.model.agents import SCHEDULERS

SCHEDULED_OPENING = re.compile(rf"\A{TRIGGERED}[^\n]*\n\n(?P<message>.+)\Z", re.DOTALL)
UNDO_WORDS = 'To take it back, say "undo".'
_UNDO = re.compile(r"\bTo undo: (?:remove|undo|enable|disable)\.")
_ID = re.compile(r'(?m)^([^"\n]*"[^"\n]*") \([^\s()]+\)|(") \(job_[\w-]+\)|\bjob_[\w-]+ (?=")')
# A time that comes once need not be told twice.
_TWICE = re.compile(r"(\bonce on [^.\n]*)\. Next: [^.,\n]*\.")
_REMINDED = re.compile(r"\A\[data \w+ from the automation \".*\": a reminder that was shown to the user\.")
_ANSWERED = re.compile(r"\A\[data \w+ from Homing itself: the question that this message answers\.")
_ASKED = re.compile(r"(?:Asked|This was asked before) \((appr_\w+)\)")


@dataclass(frozen=True, kw_only=True)
class Call:
    """One tool call that a plan asks for."""

    tool: str
    args: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a tool answered."""

    text: str
    ok: bool

    @property
    def asked(self) -> str | None:
        """Name the approval that the call waits for."""
        found = _ASKED.match(self.text) if self.ok else None
        return found[1] if found else None

    @property
    def told(self) -> str:
        """What a person is told of it: a refusal's first part says why, the rest teaches models how to call.

        A reply names ids, and the action that takes it back, for models; people say names, and one word for each.
        """
        if self.asked:
            return f"It is not done yet: you have to approve it first ({self.asked})."
        if not self.ok:
            return _without_ids(self.text.partition("\nRead: ")[0])
        return self.told_as(self.text)

    def told_as(self, text: str) -> str:
        """Say a reply to people."""
        return _TWICE.sub(r"\1.", _without_ids(_UNDO.sub(UNDO_WORDS, text)))


def _without_ids(text: str) -> str:
    """Leave out the ids behind or before names: people call automations by their names."""
    return _ID.sub(lambda found: found[1] or found[2] or "", text)


@dataclass(frozen=True, kw_only=True)
class Past:
    """Something of an earlier turn, in order: a text somebody said, or a tool call with its result."""

    text: str = ""
    call: Call | None = None
    result: Result | None = None


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Everything a plan may look at."""

    source: str
    texts: Sequence[str]
    results: Sequence[Result]
    past: Sequence[Past]
    last_answer: str
    """What this conversation was told last."""
    instructions: str
    offered: frozenset[str]
    now: datetime
    zone: str

    @property
    def scheduler(self) -> str:
        """The name under which this agent has the scheduling tool."""
        return next((name for name in SCHEDULERS if name in self.offered), SCHEDULERS[0])

    @property
    def said(self) -> list[str]:
        """What people said before this turn, oldest first. Text from elsewhere is not included."""
        said = (split_frames(past.text)[1] for past in self.past)
        return [text for text in said if text and not text.startswith(TRIGGERED)]

    @property
    def reminded(self) -> str | None:
        """The reminder that was shown last."""
        for past in reversed(self.past):
            for one in reversed(split_frames(past.text)[0]):
                if _REMINDED.match(one):
                    return unframed(one)
        return None

    @property
    def asked(self) -> list[str]:
        """The options of the question that the last turn asked. Never read from its words: they may be from outside."""
        for past in reversed(self.past):
            # The card itself stands in the history too, framed.
            if split_frames(past.text)[1]:
                break
            if past.call and past.call.tool == "ask_question" and past.result and past.result.ok:
                options = past.call.args.get("options")
                return [str(option) for option in cast(list[object], options)] if isinstance(options, list) else []
        return []

    def scheduling(self) -> list[tuple[Call, Result]]:
        """Give the earlier calls of the scheduling tool that succeeded, newest first."""
        done = [(past.call, past.result) for past in self.past if past.call and past.result]
        return [(call, result) for call, result in reversed(done) if call.tool in SCHEDULERS and result.ok]


def read_scene(
    messages: Sequence[ModelMessage],
    *,
    prompt: str,
    facts: Mapping[str, object],
    instructions: str,
    offered: frozenset[str],
) -> Scene:
    """Read the messages of a request."""
    start = _turn_start(messages, prompt)
    source = str(facts.get("source") or "person")
    texts = [text for message in messages[start:] for text in _user_texts(message)]
    # A scheduled turn's prompt is for AI models; the job's own message is what it is about.
    if facts.get("message"):
        texts[:1] = [str(facts["message"])]
    return Scene(
        source=source,
        texts=texts,
        results=[past.result for past in _past(messages[start:]) if past.result],
        past=_past(messages[:start]),
        last_answer=_last_answer(messages[:start]),
        instructions=instructions,
        offered=offered,
        now=_instant(facts.get("now")),
        zone=str(facts.get("zone") or "UTC"),
    )


def words_of(text: str) -> str:
    """Give what a person said: without what was framed beside it; of a chosen option, the option."""
    frames, said = split_frames(text)
    if said.isdigit():
        for one in frames:
            options = re.findall(rf"(?m)^{said}\. (.+)$", unframed(one)) if _ANSWERED.match(one) else []
            if options:
                return options[-1]
    return said


def _last_answer(messages: Sequence[ModelMessage]) -> str:
    answers = [
        part.content
        for message in messages
        if isinstance(message, ModelResponse)
        for part in message.parts
        if isinstance(part, TextPart)
    ]
    return answers[-1] if answers else ""


def _turn_start(messages: Sequence[ModelMessage], prompt: str) -> int:
    for i in range(len(messages) - 1, -1, -1):
        if prompt in _user_texts(messages[i]):
            return i
    return max(len(messages) - 1, 0)


def _user_texts(message: ModelMessage) -> list[str]:
    if not isinstance(message, ModelRequest):
        return []
    return [p.content for p in message.parts if isinstance(p, UserPromptPart) and isinstance(p.content, str)]


def _past(messages: Sequence[ModelMessage]) -> list[Past]:
    parts = [part for message in messages for part in message.parts]
    results = {part.tool_call_id: part for part in parts if isinstance(part, ToolReturnPart)}
    past: list[Past] = []
    for message in messages:
        past += [Past(text=text) for text in _user_texts(message)]
        for part in message.parts:
            if isinstance(part, ToolCallPart) and (returned := results.get(part.tool_call_id)):
                past.append(Past(call=Call(tool=part.tool_name, args=part.args_as_dict()), result=_result(returned)))
    return past


def _result(part: ToolReturnPart) -> Result:
    # Our tools answer in text; asked as a model's wire would, a failure comes wrapped in JSON.
    text = part.content if isinstance(part.content, str) else part.model_response_str()
    return Result(text=text, ok=part.outcome == "success")


def _instant(now: object) -> datetime:
    if isinstance(now, datetime):
        return now
    return datetime.fromisoformat(now) if isinstance(now, str) else datetime.now(UTC)
