"""MCP servers that nobody here wrote: time and git from PyPI, everything from npm, in our sandbox and over HTTP."""

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from homing.model.agents import Agent
from homing.model.mcp_servers import McpServer, McpTool
from homing.sandbox.running import run
from homing.settings import load
from homing.tools.mcp_servers.keeper import Called
from homing.wiring import ServerHands, prepare, wire
from support.ports import free_port
from support.published_servers import installed
from support.sandboxes import need_bubblewrap

AGENT = Agent(id="main", name="Main", instructions="Be kind.")
OWNER = ("main", "default")


@pytest.fixture(scope="session")
def published() -> Path:
    need_bubblewrap()
    found = installed()
    if found is None:
        pytest.skip("need the published MCP servers: make test-servers installs them")
    return found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    # As root a program inside has another uid, and must be able to pass.
    tmp_path.chmod(0o755)
    return tmp_path / "home"


@pytest.fixture
async def hands(home: Path) -> AsyncIterator[ServerHands]:
    homing = wire(load({"HOMING_HOME": str(home), "TZ": "UTC"}))
    prepare(homing)
    hands = homing.instance.hands
    assert isinstance(hands, ServerHands)
    yield hands
    await hands.close()
    await homing.store.close()


def program(command: Path, *args: str, name: str = "it") -> McpServer:
    return McpServer(
        agent_id="main", name=name, transport="stdio", command=str(command), args=args, url=None, env={}, headers={},
        hosts=(), policy="allow",
    )  # fmt: skip


async def call(hands: ServerHands, server: McpServer, tool: str, agent: Agent = AGENT, **args: object) -> Called:
    async def note(started: McpServer, found: tuple[McpTool, ...] | str) -> McpServer:
        assert not isinstance(found, str), found
        return started.listed(found, accept=True)

    return await hands.servers.call(server, agent, OWNER, tool, args, note)


async def test_the_time_server_tells_the_time_of_a_zone(published: Path, hands: ServerHands) -> None:
    server = program(published / "python/bin/mcp-server-time")
    tools = await hands.list_mcp_tools(server, AGENT, "default")
    told = await call(hands, server, "get_current_time", timezone="Asia/Tokyo")
    wrong = await call(hands, server, "get_current_time", timezone="Mars/Olympus")

    assert {tool.name for tool in tools} == {"get_current_time", "convert_time"}
    assert (told.failed, "+09:00" in told.text) == (False, True)
    assert wrong.failed


async def test_the_git_server_works_on_a_repository_of_the_workspace(published: Path, hands: ServerHands) -> None:
    server = program(published / "python/bin/mcp-server-git")
    await make_repository(hands)
    status = await call(hands, server, "git_status", repo_path="/workspace/fruit")
    outside = await call(hands, server, "git_status", repo_path=str(Path(__file__).parents[2]))

    assert (status.failed, "No commits yet" in status.text) == (False, True)
    assert outside.failed


async def make_repository(hands: ServerHands) -> None:
    """Make one as the sandbox's own user would: git refuses to work on somebody else's."""
    bubblewrap, workspace = await hands._find_place(OWNER)
    ran = await run(bubblewrap, ["git", "init", "--quiet", "fruit"], workspace=workspace)
    assert ran.code == 0, ran.err


def everything(published: Path, *args: str) -> McpServer:
    return program(published / "node_modules/.bin/mcp-server-everything", *args)


async def test_the_everything_server_speaks_stdio_and_its_picture_is_named(published: Path, hands: ServerHands) -> None:
    server = everything(published)
    tools = {tool.name for tool in await hands.list_mcp_tools(server, AGENT, "default")}
    echoed = await call(hands, server, "echo", message="fruit")
    picture = await call(hands, server, "get-tiny-image")
    environment = await call(hands, server, "get-env")

    assert {"echo", "get-tiny-image", "get-env"} <= tools
    assert "fruit" in echoed.text
    assert "[a picture, image/png, " in picture.text
    assert "HOMING" not in environment.text


@pytest.fixture
def over_http(published: Path) -> Iterator[int]:
    """The same server over streamable HTTP, outside any sandbox: a server elsewhere."""
    port, binaries = free_port(), published / "node_modules/.bin"
    node = binaries / "node" if (binaries / "node").exists() else Path(shutil.which("node") or "node")
    process = subprocess.Popen(
        [str(node), str((binaries / "mcp-server-everything").resolve()), "streamableHttp"],
        env={"PATH": "/usr/bin:/bin", "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield port
    finally:
        process.kill()
        process.wait()


async def test_the_everything_server_speaks_streamable_http(over_http: int, hands: ServerHands) -> None:
    server = replace(everything(Path()), transport="http", command=None, url=f"http://127.0.0.1:{over_http}/mcp")
    agent = replace(AGENT, hosts=(f"127.0.0.1:{over_http}",))
    await _until_open(over_http)
    tools = await hands.list_mcp_tools(server, agent, "default")
    echoed = await call(hands, server, "echo", agent=agent, message="fruit")

    assert "echo" in {tool.name for tool in tools}
    assert "fruit" in echoed.text


async def _until_open(port: int) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return
