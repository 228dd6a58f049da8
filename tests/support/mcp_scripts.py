"""Short ways to name the scripted MCP server."""

from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("bad_mcp_server.py").read_text()


def scripted(mode: str = "fine", name: str = "bad", **more: Any) -> dict[str, Any]:
    """Ask for the scripted server in a mode."""
    return {"name": name, "command": "python3", "args": ["-c", SCRIPT, mode], **more}
