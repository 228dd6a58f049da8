"""What a model was shown when it made a call, and who said it (rules 34 and 41).

It is worked out from the messages themselves, so a turn taken up again and a later turn of the same conversation know
it as well as the first attempt did.
"""

import re
from collections.abc import Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    NativeToolReturnPart,
    ToolReturnPart,
    UserPromptPart,
)

from homing.agent.frames import TRIGGERED, split_frames
from homing.agent.journal import Ask, Shown
from homing.agent.named_urls import host_of, named, urls_in
from homing.agent.sources import FETCH, OURS, SEARCH, UNCONFIRMED, WEB

_MEMORY = re.compile(r"\[data [0-9a-f]{12} from memory: ")
# Cards and the ends of requests, as long as nobody else's words are in them.
_OUR_WORDS = re.compile(r"\[data [0-9a-f]{12} from Homing itself: (?:a card|how the request) ")


def shown_before(ask: Ask, messages: Sequence[ModelMessage]) -> Shown:
    """Work out what a model was shown before its last response in a turn."""
    seen = _Seen()
    frames, words = split_frames(ask.instructions)
    seen.look(frames, words)
    for message in ask.history:
        seen.read(message)
    frames, _ = split_frames(ask.prompt)
    seen.look(frames, ask.words)
    last = max((n for n, message in enumerate(messages) if isinstance(message, ModelResponse)), default=0)
    for n, message in enumerate(messages[:last]):
        seen.read(message, after=1 if n == 0 else 0)
    return Shown(outside=seen.outside, texts=tuple(seen.texts))


class _Seen:
    """Reads messages in order."""

    def __init__(self) -> None:
        self.outside: str | None = None
        self.texts: list[str] = []
        self._asked: dict[str, str] = {}
        """What each call of a web tool asked for: a URL, or the words of a search."""

    def look(self, frames: Sequence[str], words: str) -> None:
        # Of an automation only whole URLs count, as in its own turn.
        self.texts.append("\n".join(urls_in(words)) if words.startswith(TRIGGERED) else words)
        for frame in frames:
            if _OUR_WORDS.match(frame):
                continue
            if not _MEMORY.match(frame) or UNCONFIRMED in frame:
                self._came_from(frame.partition(" from ")[2].partition(":")[0])

    def read(self, message: ModelMessage, *, after: int = 0) -> None:
        if isinstance(message, ModelResponse):
            self._called(message)
            return
        # Calls of one response were made before any of their results was seen.
        before = Shown(outside=self.outside, texts=tuple(self.texts))
        for part in message.parts[after:]:
            match part:
                case ToolReturnPart():
                    self._returned(part, before)
                case UserPromptPart(content=str() as text):
                    self.look(*split_frames(text))
                case _:
                    pass

    def _called(self, response: ModelResponse) -> None:
        for call in response.tool_calls:
            if call.tool_name in WEB:
                try:
                    args = call.args_as_dict()
                    self._asked[call.tool_call_id] = str(args.get("url") or args.get("query") or "")
                except (ValueError, AssertionError):
                    continue
        for part in response.parts:
            if isinstance(part, NativeToolReturnPart):
                self._came_from(f"the provider's {part.tool_name}")
                self.texts.append(part.model_response_str())

    def _returned(self, part: ToolReturnPart, before: Shown) -> None:
        text = part.model_response_str()
        if part.tool_name in OURS:
            self.look(split_frames(text)[0], "")
        elif part.tool_name not in WEB:
            self._came_from(f"the tool {part.tool_name}")
        elif part.outcome == "success":
            self._came_from("a web page" if part.tool_name == FETCH else "a web search")
            # What was asked for with words of the model's own may repeat them.
            asked = self._asked.get(part.tool_call_id, "")
            if before.outside is None:
                self.texts += [text, asked]
            elif part.tool_name == SEARCH:
                self.texts += [url for url in urls_in(text) if host_of(url) not in asked.casefold()]
            elif named(asked, before) is not None:
                # Not as the model spelled it: what was sent stands there already.
                self.texts.append(text)

    def _came_from(self, source: str) -> None:
        self.outside = self.outside or source
