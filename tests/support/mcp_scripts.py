"""Short ways to name the scripted MCP server."""

import re
from pathlib import Path
from typing import Any

_TEXT = Path(__file__).with_name("bad_mcp_server.py").read_text()
# An argument is short: one space is enough to indent.
SCRIPT = re.sub(r"(?m)^(    )+", lambda found: " " * (len(found[0]) // 4), _TEXT)


def scripted(mode: str = "fine", name: str = "bad", **more: Any) -> dict[str, Any]:
    """Ask for the scripted server in a mode."""
    return {"name": name, "command": "python3", "args": ["-c", SCRIPT, mode], **more}
