"""A line to an MCP server over HTTP: only to judged addresses, without redirects and without OAuth."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from homing.model.errors import Refused
from homing.sandbox.hosts import read_hosts
from homing.tools.mcp_servers import connection as connections
from homing.tools.mcp_servers.connection import Connection
from homing.tools.mcp_servers.http import open_http
from homing.tools.mcp_servers.line import ServerFailed
from homing.tools.mcp_servers.results import text_of
from support.http_mcp_server import HttpMcpServer, http_mcp_server
from support.ports import free_port


@pytest.fixture
def server() -> Iterator[HttpMcpServer]:
    with http_mcp_server() as server:
        yield server


def line_to(url: str, *hosts: str) -> Connection:
    headers = {"authorization": "Bearer t0ken"}
    return Connection(lambda state: open_http(url, headers, read_hosts(hosts), state), secrets={"T": "t0ken"})


@asynccontextmanager
async def opened(server: HttpMcpServer) -> AsyncIterator[Connection]:
    connection = line_to(server.url, f"127.0.0.1:{server.port}")
    await connection.open()
    try:
        yield connection
    finally:
        await connection.close()


@pytest.mark.parametrize("mode", ["fine", "sse"])
async def test_a_server_over_http_is_listed_and_called_with_its_headers(server: HttpMcpServer, mode: str) -> None:
    server.mode = mode
    async with opened(server) as connection:
        assert [tool.name for tool in connection.tools] == ["echo"]
        assert text_of(await connection.call("echo", {"text": "hi"})) == "echo: hi"

    assert {seen["authorization"] for seen in server.seen} == {"Bearer t0ken"}
    assert {seen["host"] for seen in server.seen} == {f"127.0.0.1:{server.port}"}


async def test_loopback_needs_an_exact_entry_in_the_agents_hosts(server: HttpMcpServer) -> None:
    with pytest.raises(Refused, match=r"add 127\.0\.0\.1:\d+ to the agent's hosts"):
        await line_to(server.url).open()
    with pytest.raises(Refused, match="must use https"):
        await line_to(server.url, "127.0.0.1:1", "*.example.org").open()
    with pytest.raises(ServerFailed, match="leads to this machine"):
        await line_to(f"https://127.0.0.1:{server.port}/mcp").open()
    with pytest.raises(ServerFailed, match="leads to this machine"):
        await line_to(f"https://localhost:{server.port}/mcp", "localhost").open()

    assert server.seen == []


async def test_a_redirect_is_not_followed_within_the_server_either(server: HttpMcpServer) -> None:
    server.mode = "redirect"
    with pytest.raises(ServerFailed, match="answered 307, and redirects are not followed"):
        async with opened(server):
            pass

    assert set(server.paths) == {"/mcp"}


async def test_a_401_says_that_oauth_is_not_supported(server: HttpMcpServer) -> None:
    server.mode = "401"
    with pytest.raises(ServerFailed, match=r"answered 401.*OAuth is not supported"):
        async with opened(server):
            pass


async def test_an_answer_that_is_packed_is_not_unpacked(server: HttpMcpServer) -> None:
    server.mode = "packed"
    with pytest.raises(ServerFailed, match="packed answers are not taken"):
        async with opened(server):
            pass


async def test_an_answer_of_20_mb_is_not_read_to_its_end(server: HttpMcpServer) -> None:
    async with opened(server) as connection:
        server.mode = "big"
        with pytest.raises(ServerFailed, match="more than 8 MB"):
            await connection.call("echo", {})


async def test_a_server_that_is_not_there_is_reported() -> None:
    port = free_port()
    with pytest.raises(ServerFailed, match="cannot be reached"):
        await line_to(f"http://127.0.0.1:{port}/mcp", f"127.0.0.1:{port}").open()


async def test_a_server_that_does_not_answer_the_end_of_a_session_is_left_after_a_moment(
    server: HttpMcpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "CLOSE_SECONDS", 0.2)
    server.mode = "stays"
    connection = line_to(server.url, f"127.0.0.1:{server.port}")
    await connection.open()
    async with asyncio.timeout(10):
        await connection.close()

    assert not connection.alive


async def test_a_cancellation_while_a_connection_closes_is_raised_once_it_is_closed(
    server: HttpMcpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "CLOSE_SECONDS", 0.2)
    server.mode = "stays"
    connection = line_to(server.url, f"127.0.0.1:{server.port}")
    await connection.open()
    closing = asyncio.create_task(connection.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing

    assert not connection.alive


async def test_a_url_with_a_password_in_it_is_refused() -> None:
    with pytest.raises(Refused, match="without a name or password"):
        await line_to("https://me:secret@example.org/mcp").open()
