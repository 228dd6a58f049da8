"""A script as JSON, for a stub server that runs in another process: read from a file, or posted to it."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from homing.testing.replies import Fault, FaultKind, Reply, ToolCall
from homing.testing.script import Match, Script


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _ToolCallShape(_Strict):
    name: str
    arguments: Mapping[str, Any] | str = Field(default_factory=dict[str, Any])
    call_id: str | None = None


class _ReplyShape(_Strict):
    text: str = ""
    chunks: list[str] = []
    tool_calls: list[_ToolCallShape] = []
    delay_seconds: float = 0.0
    first_byte_seconds: float = 0.0
    hold: bool | str = False
    hold_after_chunks: int = 0
    fault: FaultKind | None = None
    retry_after_seconds: float | None = None
    message: str | None = None

    def reply(self) -> Reply:
        broken = self.fault and Fault(
            kind=self.fault, retry_after_seconds=self.retry_after_seconds, message=self.message
        )
        return Reply(
            text=self.text,
            chunks=self.chunks,
            tool_calls=[ToolCall(**call.model_dump()) for call in self.tool_calls],
            delay_seconds=self.delay_seconds,
            first_byte_seconds=self.first_byte_seconds,
            hold=self.hold,
            hold_after_chunks=self.hold_after_chunks,
            fault=broken or None,
        )


class _MatchShape(_Strict):
    when: str | None = None
    regex: str | None = None

    def match(self) -> Match:
        return re.compile(self.regex) if self.regex is not None else self.when


class _RuleShape(_MatchShape):
    replies: list[str | _ReplyShape] = Field(min_length=1)
    times: int | None = None


class _FaultShape(_MatchShape):
    fault: FaultKind
    times: int = 1
    retry_after_seconds: float | None = None
    message: str | None = None


class ScriptFile(_Strict):
    """The whole of a script in JSON; `reset` forgets what was there before."""

    reset: bool = False
    replies: list[str | _ReplyShape] = []
    rules: list[_RuleShape] = []
    faults: list[_FaultShape] = []
    default: str | _ReplyShape | None = None

    def write_to(self, script: Script) -> None:
        """Add all of it to a script."""
        if self.reset:
            script.reset()
        for rule in self.rules:
            script.when(rule.match(), *map(_answer, rule.replies), times=rule.times)
        for broken in self.faults:
            script.fail(
                broken.fault,
                times=broken.times,
                match=broken.match(),
                retry_after_seconds=broken.retry_after_seconds,
                message=broken.message,
            )
        for shape in self.replies:
            script.reply(_answer(shape))
        if self.default is not None:
            script.otherwise(_answer(self.default))


def _answer(shape: str | _ReplyShape) -> str | Reply:
    return shape if isinstance(shape, str) else shape.reply()
