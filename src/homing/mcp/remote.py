"""Tools answered by a running server: every call is one request to its /mcp, which keeps nothing between two."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    encode_header_value,
)
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    CallToolResult,
    ListToolsResult,
    Tool,
)
from mcp_types.version import LATEST_MODERN_VERSION

from homing.mcp.results import failed, refused
from homing.model.errors import NotReady, Refused

# send_message may wait 120.
TIMEOUT = httpx2.Timeout(150, connect=5)


@dataclass(frozen=True, kw_only=True)
class Address:
    """A running server, and the proof of who asks."""

    url: str
    token: str | None


@dataclass(frozen=True, kw_only=True)
class RemoteBackend:
    """The operations of a server, asked over HTTP."""

    http: httpx2.AsyncClient
    address: Address
    every: bool

    async def tools(self) -> list[Tool]:
        return ListToolsResult.model_validate(await self._ask("tools/list", {})).tools

    async def call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        try:
            return CallToolResult.model_validate(await self._ask("tools/call", {"name": name, "arguments": arguments}))
        except Refused as refusal:
            return refused(refusal)
        except NotReady as error:
            return failed("not_ready", str(error))

    async def _ask(self, method: str, params: dict[str, Any]) -> Any:
        meta: dict[str, Any] = {PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION, CLIENT_CAPABILITIES_META_KEY: {}}
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": meta}}
        where = self.address.url.rstrip("/") + "/mcp"
        query = {"tools": "all"} if self.every else {}
        try:
            response = await self.http.post(where, params=query, json=message, headers=self._headers(method, params))
        except httpx2.TransportError as error:
            given = str(error) or type(error).__name__
            raise NotReady(f"No server answers at {self.address.url} ({given}). Start it: `homing up`.") from None
        return _result(response, self.address.url)

    def _headers(self, method: str, params: dict[str, Any]) -> dict[str, str]:
        headers = {
            "Accept": "application/json, text/event-stream",
            MCP_PROTOCOL_VERSION_HEADER: LATEST_MODERN_VERSION,
            MCP_METHOD_HEADER: method,
        }
        if "name" in params:
            headers[MCP_NAME_HEADER] = encode_header_value(params["name"])
        if self.address.token:
            headers["Authorization"] = f"Bearer {self.address.token}"
        return headers


def _result(response: httpx2.Response, url: str) -> Any:
    """Read the answer: a result, an error of the protocol, or a problem of the front door."""
    try:
        body = response.json()
    except ValueError:
        body = None
    match body:
        case {"result": result}:
            return result
        case {"error": {"code": int(code), "message": str(message)}}:
            raise MCPError(code, message)
        case {"detail": str(detail), "code": str(code)}:
            raise Refused(detail, code=code)
        case _:
            raise NotReady(f"{url} answered {response.status_code}, and not as Homing does. Check HOMING_URL.")
