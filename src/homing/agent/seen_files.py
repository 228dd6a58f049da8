"""Files that a model can see: found by their frames, read for each call, and in nothing that is kept of a turn.

Only what stands before the model in the last messages is read, the newest first, and no more than providers take.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.profiles import ModelProfile

from homing.agent.frames import split_frames
from homing.agent.journal import ReadFile, SeenFile
from homing.model.files import INLINE

LAST_MESSAGES = 10
# Spelled in base64 a picture may have 5 MB with some providers, and a request 32 MB.
MOST_OF_PICTURE = 3_700_000
MOST_OF_PDF = 10_000_000
MOST_TOGETHER = 20_000_000
PDF = "application/pdf"
NOT_TAKEN = "the model's provider did not take it"

_ATTACHED = re.compile(r'\[data [0-9a-f]{12} from the file "[^"\n]*": [^\n]*\]\n(file_[a-z2-7]{10}): ')


async def with_files(messages: Sequence[ModelMessage], read: ReadFile, profile: ModelProfile) -> list[ModelMessage]:
    """Give the messages of one call with the files that the model can see; each other file stays a line."""
    limits = _limits(profile)
    shown = list(messages)
    if not limits:
        return shown
    left, counted = MOST_TOGETHER, 0
    for at in range(len(shown) - 1, -1, -1):
        message = shown[at]
        if isinstance(message, ModelResponse):
            counted += bool(message.text)
        elif any(isinstance(part, UserPromptPart) for part in message.parts):
            counted += 1
            shown[at], left = await _shown(message, read, limits, left)
        if counted >= LAST_MESSAGES:
            break
    return shown


def without_files(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Give messages that were shown with files once more without them: a provider may refuse a broken picture."""
    return [
        replace(message, parts=[_blind(part) for part in message.parts])
        if isinstance(message, ModelRequest)
        else message
        for message in messages
    ]


def _limits(profile: ModelProfile) -> dict[str, int]:
    limits = dict.fromkeys(INLINE, MOST_OF_PICTURE) if profile.get("supports_image_input", True) else {}
    documents = profile.get("supported_document_media_types")
    if profile.get("supports_document_input", True) and (documents is None or PDF in documents):
        limits[PDF] = MOST_OF_PDF
    return limits


async def _shown(message: ModelRequest, read: ReadFile, limits: dict[str, int], left: int) -> tuple[ModelRequest, int]:
    parts: list[ModelRequestPart] = []
    for part in message.parts:
        if not (isinstance(part, UserPromptPart) and isinstance(part.content, str)):
            parts.append(part)
            continue
        beside: list[UserContent] = []
        for file_id in _attached(part.content):
            found = await read(file_id, {kind: min(most, left) for kind, most in limits.items()})
            if isinstance(found, SeenFile):
                left -= len(found.data)
                beside.append(BinaryContent(found.data, media_type=found.media_type))
            elif found is not None:
                beside.append(_not_shown(file_id, found))
        parts.append(replace(part, content=[part.content, *beside]) if beside else part)
    return replace(message, parts=parts), left


def _attached(text: str) -> list[str]:
    """Find the ids of files; a frame inside another one is somebody's text and names none."""
    return [found[1] for frame in split_frames(text)[0] if (found := _ATTACHED.match(frame))]


def _blind(part: ModelRequestPart) -> ModelRequestPart:
    if not isinstance(part, UserPromptPart) or isinstance(part.content, str):
        return part
    kept = [item for item in part.content if not isinstance(item, BinaryContent)]
    if len(kept) == len(part.content):
        return part
    return replace(part, content=[*kept, f"(A file of this message is not shown: {NOT_TAKEN}.)"])


def _not_shown(file_id: str, reason: str) -> str:
    return f"({file_id} is not shown: {reason}.)"
