"""The seam between the agent loop and the store of its steps.

The agent tells its journal each finished model or tool call; a turn taken up again is given what its journal kept.
Every method may raise `Lost`: then the turn belongs to another worker, and the agent stops without a word.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from homing.model.errors import ModelFailed
from homing.model.model_setting import ModelSetting

if TYPE_CHECKING:
    # Only names here: the library takes half a second to import, and code that offers a tool need not pay that.
    from pydantic_ai.messages import ModelMessage, ModelResponse

# Names for those who only pass them on: the engine keeps them and knows nothing of their inside.
History: TypeAlias = "Sequence[ModelMessage]"
Response: TypeAlias = "ModelResponse"


@dataclass(frozen=True, kw_only=True)
class KeptStep:
    """One step of this turn that an earlier attempt left behind, in order."""

    n: int
    kind: Literal["model", "tool", "inject"]
    name: str
    key: str
    """A tool's `tool_call_id`; for model and inject steps their number."""
    done: bool
    response: "ModelResponse | None" = None
    """What the model said (model steps)."""
    result: str | None = None
    """What the tool answered, as the model saw it (tool steps), or the person's text (inject steps)."""
    failed: bool = False
    """The tool's answer was a refusal or failure that the model was told as a retry."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What stood before a model when it made a call."""

    outside: str | None = None
    """Where content came from that neither the user nor Homing wrote, in words; None while there is none."""
    texts: tuple[str, ...] = ()
    """What people, jobs, pages and searches said. Not what the model itself wrote, nor what a tool may repeat of it."""


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """One call of a tool by the model."""

    key: str
    name: str
    args: Mapping[str, object]
    shown: Callable[[], Shown] = Shown
    """Works out what the model was shown when it made the call."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """Something an agent may call.

    `repeatable`: running it twice does no harm, so a half-done call is simply made again.
    `own`: the tool commits its effect together with its step by itself (our operations); the agent then neither begins
    nor finishes the step in the journal, unless the tool raises.
    `run` may raise `Refused` (told to the model as text), `ToolFailed`, or anything else (a tool failure).
    """

    name: str
    description: str
    parameters: Mapping[str, object]
    run: Callable[[ToolCall], Awaitable[str]]
    repeatable: bool = False
    own: bool = False
    seconds: float = 60.0
    aliases: tuple[str, ...] = ()
    """Names that are understood as well, and not offered: models call a tool as they know it from elsewhere."""


class Journal(Protocol):
    """What the agent loop asks of the store of its steps."""

    async def model_done(self, response: "ModelResponse", *, name: str, duration_ms: int) -> None:
        """Keep a finished model response."""
        ...

    async def model_retried(
        self, failed: ModelFailed, *, name: str, n: int, duration_ms: int, wait_seconds: float
    ) -> None:
        """Keep that a model call failed, with the provider's words, and is made again after a wait."""
        ...

    async def tool_begun(self, call: ToolCall) -> None:
        """Commit that an unrepeatable tool is about to run, before it runs."""
        ...

    async def tool_done(self, call: ToolCall, result: str, *, failed: bool, duration_ms: int) -> None:
        """Keep a finished tool call. Of `own` tools only failures come here: they had no effect to be kept with."""
        ...

    async def check_budget(self) -> None:
        """Raise `OverBudget` when no further model call of this turn may begin."""
        ...

    async def take_injected(self) -> Sequence[str]:
        """Take the messages that came meanwhile and may be shown now; they are recorded as this turn's first."""
        ...

    async def tell(self, live: "LiveText | LiveStep") -> None:
        """Tell listeners what is going on right now; nothing of it is kept."""
        ...

    def may_call(self) -> bool:
        """Say whether a model or tool call may still begin: not after the claim's own cut-off, not once stopped."""
        ...


@dataclass(frozen=True, kw_only=True)
class LiveText:
    """The answer so far; `whole` replaces what is shown."""

    text: str
    whole: bool = False


@dataclass(frozen=True, kw_only=True)
class LiveStep:
    """A call that started or finished."""

    n: int
    kind: Literal["model", "tool"]
    name: str
    state: Literal["started", "finished"]
    duration_ms: int | None = None
    about: str = ""
    """A tool call in a few words."""
    failed: bool = False


@dataclass(frozen=True, kw_only=True)
class SeenFile:
    """The bytes of a file that a model is shown."""

    media_type: str
    data: bytes


ReadFile: TypeAlias = "Callable[[str, Mapping[str, int]], Awaitable[SeenFile | str | None]]"
"""Reads a file of this conversation if it is of one of these types and at most so large. Else it says why it cannot be
shown, or nothing where its line says all there is to say."""


async def no_files(file_id: str, limits: Mapping[str, int]) -> None:
    """Show no file."""


@dataclass(frozen=True, kw_only=True)
class Ask:
    """Everything an agent needs for one turn."""

    model: str
    """A Pydantic AI model name, or `offline`."""
    instructions: str
    """System prompt: the agent's own instructions, memories found for this opening, time and zone."""
    history: "Sequence[ModelMessage]"
    """Earlier turns, oldest first."""
    prompt: str
    """What this turn is about, as the model sees it (for a scheduled turn the rendered prompt)."""
    words: str = ""
    """What a person or a job says in the prompt."""
    tools: Sequence[Tool]
    kept: Sequence[KeptStep] = ()
    """What an earlier attempt at this turn finished already."""
    read_file: ReadFile = no_files
    setting: ModelSetting | None = None
    """The key and address the model is asked with, where they are not the environment's."""
    thinking: str | None = None
    max_model_calls: int = 40
    facts: Mapping[str, object] = field(default_factory=dict[str, object])
    """What the offline model may know besides the text: `source` of the turn, `now`, `zone`, and the `message` that was
    said or scheduled, where the prompt is more than that."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """How a turn's thinking ended well."""

    text: str
    """May be empty."""
    messages: "Sequence[ModelMessage]"
    """The turn's own messages in order, the prompt first, also those of earlier attempts."""
    model: str
