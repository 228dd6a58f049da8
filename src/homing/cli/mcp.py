"""`homing mcp`: the side door, over stdio."""

from typing import Annotated

import typer


def mcp(
    tools: Annotated[str, typer.Option(help="`all` offers every operation by its name.")] = "default",
) -> None:
    """Serve this Homing to an MCP client over stdin and stdout."""
    from homing.mcp.server import main

    main(tools=tools)
