"""One server that runs: it lives in a task of its own, since a client must be closed by the task that opened it."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, cast

from mcp import Client
from mcp.client._transport import TransportStreams
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, Implementation, Tool
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from homing import __version__
from homing.model.errors import Refused
from homing.model.mcp_servers import MAX_TOOLS, McpTool, make_tool
from homing.sandbox.running import KEPT_ERROR
from homing.tools.mcp_servers.line import Line, LineState, ServerFailed

CONNECT_SECONDS = 30.0
CALL_SECONDS = 60.0
CLOSE_SECONDS = 3.0
_MAX_PAGES = 32
_REDACTED_FROM = 4
_SAID = 2000

Mode = Literal["auto", "legacy"]
OpenLine = Callable[[LineState], AbstractAsyncContextManager[Line]]


class Connection:
    """Opens a line, finds out which tools there are, and calls them."""

    def __init__(self, open_line: OpenLine, *, secrets: Mapping[str, str], mode: Mode = "auto") -> None:
        self._open_line = open_line
        self._secrets = secrets
        self._state = LineState(redact=self.redacted)
        self._closing = asyncio.Event()
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self.mode: Mode = mode
        self.tools: tuple[McpTool, ...] = ()
        self.calls_in_flight = 0
        """How many calls are on their way to it or in it."""

    @property
    def alive(self) -> bool:
        return self._client is not None and not self._state.ended and self._task is not None and not self._task.done()

    async def open(self) -> None:
        """Start the server and list its tools, or raise `ServerFailed` with what happened."""
        ready = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(ready))
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await asyncio.wait([self._task, ready], return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            await self.close()
            raise self._failed(f"The server did not answer within {CONNECT_SECONDS:g} seconds.") from None
        except BaseException:
            await self.close()
            raise
        if not ready.done():
            self._raise_ended()

    async def close(self) -> None:
        """End the server; afterwards nothing of it is alive. A cancellation meanwhile is raised after that."""
        self._closing.set()
        if self._task is None:
            return
        if self._client is None:
            self._task.cancel()
        cancelled = False
        while not self._task.done():
            # However often we are cancelled meanwhile: it ends soon, and must be waited for.
            try:
                done, _ = await asyncio.wait([self._task], timeout=CLOSE_SECONDS)
            except asyncio.CancelledError:
                cancelled = True
            else:
                if not done:
                    # A server over HTTP that does not answer our farewell.
                    self._task.cancel()
        if not self._task.cancelled():
            self._task.exception()
        if cancelled:
            raise asyncio.CancelledError

    async def call(self, tool: str, args: Mapping[str, object]) -> CallToolResult:
        """Call a tool; whatever goes wrong is a `ServerFailed`."""
        assert self._client
        assert self._task
        work = asyncio.create_task(self._client.call_tool(tool, dict(args)))
        try:
            done, _ = await asyncio.wait([work, self._task], timeout=CALL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                # It may be stuck for good: the next call meets a new process.
                self._state.ended = True
                raise self._failed(
                    f"The tool gave no answer within {CALL_SECONDS:g} seconds; it may or may not have taken effect."
                )
            if work not in done:
                raise await self._gone()
            return work.result()
        except MCPError as error:
            if self._state.ended:
                raise await self._gone() from None
            raise self._failed(self._state.why or "The server refused the call.", said=error.message) from None
        except (ValidationError, ValueError, RuntimeError) as error:
            raise self._failed("The server's answer is not what it promised.", said=str(error)) from None
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    def redacted(self, text: str) -> str:
        """Take the server's secrets out of its words."""
        for name, value in self._secrets.items():
            if len(value) >= _REDACTED_FROM:
                text = text.replace(value, f"[secret {name}]")
        return text

    async def _live(self, ready: "asyncio.Future[None]") -> None:
        info = Implementation(name="Homing", version=__version__)
        async with (
            self._open_line(self._state) as line,
            Client(_Given(line), mode=self.mode, client_info=info, cache=None) as client,
        ):
            tools = await _list_tools(client)
            self._check_for_secrets(tools)
            self.tools = _read_tools(tools)
            if client.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
                # The next start need not ask, which a server that leaves unknown questions unanswered makes slow.
                self.mode = "legacy"
            self._client = client
            ready.set_result(None)
            await self._closing.wait()

    def _check_for_secrets(self, tools: Sequence[Tool]) -> None:
        """Refuse definitions that hold a secret: they are kept in a row and sent with every request to a model."""
        text = json.dumps([tool.model_dump(mode="json", by_alias=True) for tool in tools], ensure_ascii=False)
        for name, value in self._secrets.items():
            if len(value) >= _REDACTED_FROM and json.dumps(value, ensure_ascii=False)[1:-1] in text:
                raise ValueError(f"the definition of one contains the secret {name}")

    def _raise_ended(self) -> None:
        assert self._task
        error = _first(self._task.exception())
        match error:
            case Refused() | ServerFailed():
                raise error
            case ValueError() if not isinstance(error, ValidationError):
                raise self._failed(f"The server's tools cannot be used: {error}.")
            case MCPError() if not self._state.ended and self._state.why is None:
                raise self._failed("The server refused to begin.", said=error.message)
            case _:
                raise self._failed("The server ended before it had answered.")

    async def _gone(self) -> ServerFailed:
        # Its last words are all read once it has been closed.
        await self.close()
        return self._failed("The server ended during the call, which may or may not have taken effect.")

    def _failed(self, detail: str, *, said: str = "") -> ServerFailed:
        state = self._state
        if state.why is not None:
            detail = f"{detail} {state.why}" if state.why not in detail else detail
        if state.unreadable is not None and not said:
            detail += " It wrote to its stdout, where only MCP messages belong."
            said = state.unreadable
        said = "\n".join(filter(None, [self.redacted(said)[:_SAID], self._last_words()]))
        return ServerFailed(self.redacted(detail), said=said)

    def _last_words(self) -> str:
        """Give the end of stderr; where its beginning is cut off, without what may be the rest of a secret."""
        errors = self._state.errors()
        text = self.redacted(errors.decode(errors="replace"))
        if len(errors) >= KEPT_ERROR:
            text = text[max((len(value) for value in self._secrets.values()), default=0) :]
        return text.strip()


class _Given:
    """A line that is open already, as the client wants its transports."""

    def __init__(self, line: Line) -> None:
        self._line = line

    async def __aenter__(self) -> TransportStreams:
        return self._line.streams

    async def __aexit__(self, *_: object) -> None:
        return None


async def _list_tools(client: Client) -> Sequence[Tool]:
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None or len(tools) > MAX_TOOLS:
            break
    return tools


def _read_tools(tools: Sequence[Tool]) -> tuple[McpTool, ...]:
    if len(tools) > MAX_TOOLS:
        raise ValueError(f"there are more than {MAX_TOOLS}")
    read = tuple(
        make_tool(
            tool.name,
            tool.description or tool.title or "",
            tool.input_schema,
            tool.annotations.model_dump(mode="json", by_alias=True, exclude_none=True) if tool.annotations else {},
        )
        for tool in tools
    )
    if len({tool.name for tool in read}) < len(read):
        raise ValueError("two of them have the same name")
    return read


def _first(error: BaseException | None) -> BaseException | None:
    """Give the error inside the groups that tasks make of it."""
    while isinstance(error, BaseExceptionGroup):
        error = cast(BaseExceptionGroup[BaseException], error).exceptions[0]
    return error
