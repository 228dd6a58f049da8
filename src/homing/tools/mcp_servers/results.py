"""What a server's tool gave back, as text: pictures, sounds and files are named, and not shown."""

import json

from mcp_types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)


def text_of(result: CallToolResult) -> str:
    """Write a result as text."""
    parts = [_part(block) for block in result.content]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    return "\n".join(parts) or "(The tool gave back nothing.)"


def _part(block: ContentBlock) -> str:
    match block:
        case TextContent():
            return block.text
        case ImageContent():
            return _not_shown("a picture", block.mime_type, block.data)
        case AudioContent():
            return _not_shown("a sound", block.mime_type, block.data)
        case ResourceLink():
            return f"[a link to {block.name}: {block.uri}]"
        case EmbeddedResource():
            inner = block.resource
            if isinstance(inner, TextResourceContents):
                return inner.text
            return _not_shown("a file", inner.mime_type or "of an unknown type", inner.blob)


def _not_shown(what: str, kind: str, base64: str) -> str:
    size = len(base64) * 3 // 4
    return f"[{what}, {kind[:100]}, {f'{size} bytes' if size < 1000 else f'{size // 1000} kB'}, not shown]"
