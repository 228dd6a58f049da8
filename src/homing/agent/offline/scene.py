"""What the offline model sees: the turn's texts and results, and what the session's history tells."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolCallPart, ToolReturnPart, UserPromptPart

from homing.agent.frames import TRIGGERED, split_frames
from homing.model.agents import SCHEDULERS

SCHEDULED_OPENING = re.compile(rf"\A{TRIGGERED}[^\n]*\n\n(?P<message>.+)\Z", re.DOTALL)


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
    def told(self) -> str:
        """What a person is told of it: a refusal's first part says why, the rest teaches models how to call."""
        return self.text if self.ok else self.text.partition("\nRead: ")[0]


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
        instructions=instructions,
        offered=offered,
        now=_instant(facts.get("now")),
        zone=str(facts.get("zone") or "UTC"),
    )


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
