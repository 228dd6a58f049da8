"""A Homing behind all its HTTP doors; the MCP door is asked with the official client, without a network."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent
from starlette.applications import Starlette

from homing.agent.models import Models
from homing.cli.serving import make_doors
from homing.model.people import OWNER
from homing.wiring import Homing
from support.site import BASE, OWNER_TOKEN, STRANGER_TOKEN, give_token
from support.worlds import STRANGER, World


@dataclass(frozen=True, kw_only=True)
class Doors:
    """The app, and those who ask it."""

    world: World
    app: Starlette

    @asynccontextmanager
    async def http(self, token: str | None = OWNER_TOKEN) -> AsyncGenerator[httpx2.AsyncClient]:
        """Ask as any program."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        transport = httpx2.ASGITransport(app=self.app)
        async with httpx2.AsyncClient(transport=transport, base_url=BASE, headers=headers) as client:
            yield client

    @asynccontextmanager
    async def client(
        self, token: str = OWNER_TOKEN, *, every: bool = False, mode: str = "auto"
    ) -> AsyncGenerator[Client]:
        """Ask as an MCP client."""
        where = BASE + ("/mcp?tools=all" if every else "/mcp")
        async with self.http(token) as http, Client(streamable_http_client(where, http_client=http), mode=mode) as mcp:
            yield mcp

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, token: str = OWNER_TOKEN, every: bool = False
    ) -> CallToolResult:
        """Call one tool."""
        async with self.client(token, every=every) as client:
            return await client.call_tool(name, dict(arguments))


def open_doors(world: World) -> Doors:
    """Open the doors of a world, with a token for each of its people."""
    give_token(world, OWNER, "admin", OWNER_TOKEN)
    give_token(world, STRANGER.user_id, "user", STRANGER_TOKEN)
    homing = Homing(
        settings=world.settings, clock=world.clock, store=world.store, instance=world.instance, models=Models()
    )
    return Doors(world=world, app=make_doors(homing))


def text_of(result: CallToolResult) -> str:
    """Read what a model reads."""
    return "\n".join(part.text for part in result.content if isinstance(part, TextContent))


def problem_of(result: CallToolResult) -> dict[str, Any]:
    """Read a refusal, which is always whole: words for the model, and the same as an object."""
    assert result.is_error
    told = result.structured_content
    assert told["type"] == f"/problems/{told['code']}"
    assert told["detail"] == text_of(result)
    assert "Traceback" not in told["detail"]
    return told
