"""How answers and refusals look to an MCP client: words for the model, and the same as an object for programs."""

from dataclasses import asdict
from typing import Any

from mcp_types import CallToolResult, TextContent

from homing.model.errors import Invalid, Refused

NOT_READY = "Homing cannot serve right now. Try again in a moment; its log, or `homing doctor`, says why."
"""Why, and where the database is, is for the log: a model may tell it to anybody."""


def text_result(text: str) -> CallToolResult:
    """Answer in plain words."""
    return CallToolResult(content=[TextContent(text=text)])


def shown(text: str, answer: dict[str, Any]) -> CallToolResult:
    """Answer with an object, and its JSON for those who read text only."""
    return CallToolResult(content=[TextContent(text=text)], structured_content=answer)


def refused(refusal: Refused) -> CallToolResult:
    """Tell a model what to do differently."""
    errors = [asdict(error) for error in refusal.errors] if isinstance(refusal, Invalid) else []
    return failed(refusal.code, refusal.detail, dict(refusal.extra) | {"errors": errors})


def failed(code: str, detail: str, more: dict[str, Any] | None = None) -> CallToolResult:
    """Tell that nothing was done, as a problem is told at the front door."""
    problem = (more or {"errors": []}) | {"type": f"/problems/{code}", "code": code, "detail": detail}
    return CallToolResult(content=[TextContent(text=detail)], structured_content=problem, is_error=True)


def beside(result: CallToolResult, note: str) -> CallToolResult:
    """Add a note to an answer without changing it, unless the answer says the same already."""
    if any(isinstance(part, TextContent) and note in part.text for part in result.content):
        return result
    return result.model_copy(update={"content": [*result.content, TextContent(text=note)]})
