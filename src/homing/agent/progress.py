"""The state of one turn's thinking: its messages so far, and the number of its next step."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage, ModelResponse

from homing.agent.journal import Ask, Journal, Tool
from homing.agent.resume import rebuild
from homing.model.errors import Lost


@dataclass(kw_only=True)
class Progress:
    """One turn in the making. Its messages alone decide what comes next."""

    ask: Ask
    journal: Journal
    messages: Sequence[ModelMessage]
    tools: dict[str, Tool]
    """By every name that is understood."""
    half_done: frozenset[str]
    """Keys of unrepeatable calls that an earlier attempt began and did not finish."""
    steps: int
    """How many steps were numbered so far."""
    blind: bool = False
    """The provider refused a call with files: they are not shown any more in this turn."""

    @classmethod
    def take_up(cls, ask: Ask, journal: Journal) -> "Progress":
        """Begin a turn, or go on where an earlier attempt stopped."""
        done = {step.key for step in ask.kept if step.kind == "tool" and step.done}
        return cls(
            ask=ask,
            journal=journal,
            messages=rebuild(ask.prompt, ask.kept),
            # A tool's own name wins over another's alias.
            tools={alias: tool for tool in ask.tools for alias in tool.aliases}
            | {tool.name: tool for tool in ask.tools},
            half_done=frozenset(step.key for step in ask.kept if step.kind == "tool" and not step.done) - done,
            steps=max((step.n for step in ask.kept), default=0),
        )

    @property
    def responses(self) -> list[ModelResponse]:
        """What the model said in this turn."""
        return [message for message in self.messages if isinstance(message, ModelResponse)]

    def check(self) -> None:
        """Raise `Lost` if no call may begin any more."""
        if not self.journal.may_call():
            raise Lost("This turn may begin no further call: its claim ran out, or it was stopped.")

    def next_step(self) -> int:
        """Number the next call."""
        self.steps += 1
        return self.steps
