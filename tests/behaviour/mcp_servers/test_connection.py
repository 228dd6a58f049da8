"""A line to one MCP server in the sandbox: what it gives, and every way in which it can fail, as a sentence."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from homing.sandbox.bubblewrap import find_bubblewrap
from homing.sandbox.commands import find_command
from homing.sandbox.workspaces import make_workspace
from homing.tools.mcp_servers import connection as connections
from homing.tools.mcp_servers.connection import Connection
from homing.tools.mcp_servers.line import ServerFailed
from homing.tools.mcp_servers.results import text_of
from homing.tools.mcp_servers.stdio import Program, open_stdio
from support.sandboxes import need_bubblewrap

SCRIPT = (Path(__file__).parents[2] / "support/bad_mcp_server.py").read_text()
SECRET = "s3cr3t-value"
# The last 8 kB of its words begin in the middle of the secret.
WORDY = """
import os, sys
token = os.environ["TOKEN"]
sys.exit(token * 100 + "x" * (8192 - len(token) // 2 - 9) + "The end.")
"""
# The secret stands where the first line is cut.
BANNER = """
import os, time
print("x" * 195 + os.environ["TOKEN"], flush=True)
time.sleep(3600)
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    need_bubblewrap()
    tmp_path.chmod(0o755)
    make_workspace(tmp_path / "workspaces/one")
    return tmp_path / "workspaces/one"


def line_to(workspace: Path, mode: str, script: str = SCRIPT) -> Connection:
    program = Program(
        bubblewrap=find_bubblewrap(),
        command=find_command("python3", private=[]),
        args=("-c", script, mode),
        workspace=workspace,
        shows_workspace=True,
        hosts=None,
        env={"TOKEN": SECRET},
    )
    return Connection(lambda state: open_stdio(program, state), secrets={"GITHUB_TOKEN": SECRET})


@asynccontextmanager
async def opened(workspace: Path, mode: str = "fine") -> AsyncIterator[Connection]:
    connection = line_to(workspace, mode)
    await connection.open()
    try:
        yield connection
    finally:
        await connection.close()


async def failure(workspace: Path, mode: str, script: str = SCRIPT) -> ServerFailed:
    with pytest.raises(ServerFailed) as failed:
        await line_to(workspace, mode, script).open()
    return failed.value


async def test_a_server_starts_in_the_sandbox_lists_its_tools_and_answers(workspace: Path) -> None:
    async with opened(workspace) as connection:
        tools = {tool.name: tool for tool in connection.tools}
        result = await connection.call("echo", {"text": "hello"})
        where = await connection.call("write", {"text": "/workspace/a.txt"})

    assert tools["echo"].description == "Gives the text back."
    assert [name for name, tool in tools.items() if tool.repeatable] == ["echo", "again"]
    assert text_of(result) == "echo: hello"
    assert text_of(where) == "/tmp"
    assert (workspace / "a.txt").read_text() == "once\n"


async def test_a_server_that_logs_to_stdout_first_is_understood_all_the_same(workspace: Path) -> None:
    async with opened(workspace, "chatty") as connection:
        assert text_of(await connection.call("echo", {"text": "x"})) == "echo: x"


async def test_a_server_that_ends_at_once_is_reported_with_its_last_words_without_its_secret(workspace: Path) -> None:
    failed = await failure(workspace, "exit")

    assert failed.detail == "The server ended before it had answered."
    assert failed.said == "KeyError: 'API_KEY' [secret GITHUB_TOKEN]"
    assert SECRET not in failed.for_people


async def test_a_server_that_never_answers_is_given_up(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 1.0)
    failed = await failure(workspace, "silent")

    assert failed.detail == "The server did not answer within 1 seconds."


async def test_what_a_silent_server_printed_is_part_of_the_sentence(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 1.0)
    failed = await failure(workspace, "banner")

    assert "where only MCP messages belong" in failed.detail
    assert failed.said == "Starting server on port 3000"


async def test_a_line_without_end_is_bounded(workspace: Path) -> None:
    failed = await failure(workspace, "endless")

    assert "a message of more than 8 MB" in failed.detail


async def test_a_server_that_prints_without_end_is_closed(workspace: Path) -> None:
    failed = await failure(workspace, "flood")
    assert "It printed very many lines that are not messages" in failed.detail


async def test_more_than_128_tools_are_refused(workspace: Path) -> None:
    assert (await failure(workspace, "many")).detail == "The server's tools cannot be used: there are more than 128."


async def test_tools_whose_definition_holds_a_secret_are_refused(workspace: Path) -> None:
    failed = await failure(workspace, "leak")

    assert failed.for_people == (
        "The server's tools cannot be used: the definition of one contains the secret GITHUB_TOKEN."
    )


async def test_a_server_that_dies_in_a_call_is_reported_with_its_last_words(workspace: Path) -> None:
    async with opened(workspace) as connection:
        with pytest.raises(ServerFailed, match="ended during the call") as failed:
            await connection.call("die", {})
        assert not connection.alive

    assert failed.value.said == "Died: out of coffee"


async def test_a_call_that_hangs_ends_at_its_time(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(workspace) as connection:
        monkeypatch.setattr(connections, "CALL_SECONDS", 0.5)
        with pytest.raises(ServerFailed, match=r"no answer within 0\.5 seconds; it may or may not"):
            await connection.call("hang", {})
        assert not connection.alive


async def test_an_error_of_the_tool_and_a_result_of_5_mb_come_through(workspace: Path) -> None:
    async with opened(workspace) as connection:
        failed = await connection.call("fail", {})
        big = await connection.call("big", {})

    assert (failed.is_error, text_of(failed)) == (True, "The disk is on fire.")
    assert len(text_of(big)) == 5_000_000


async def test_pictures_and_files_are_named_and_not_shown(workspace: Path) -> None:
    async with opened(workspace) as connection:
        result = await connection.call("picture", {})

    assert text_of(result) == "[a picture, image/png, 12 kB, not shown]\n[a file, application/pdf, 3 bytes, not shown]"


async def test_sampling_is_not_offered(workspace: Path) -> None:
    async with opened(workspace) as connection:
        result = await connection.call("ask", {})

    assert "not supported" in text_of(result)


async def test_a_server_that_ignores_its_end_is_gone_after_closing(workspace: Path) -> None:
    async with opened(workspace, "stubborn") as connection:
        assert connection.alive
    assert not connection.alive


async def test_a_cancelled_call_leaves_the_server_usable(workspace: Path) -> None:
    async with opened(workspace) as connection:
        call = asyncio.create_task(connection.call("echo", {"text": "x"}))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert text_of(await connection.call("echo", {"text": "y"})) == "echo: y"


async def test_a_secret_that_stands_where_the_last_words_are_cut_is_not_shown_in_part(workspace: Path) -> None:
    failed = await failure(workspace, "", WORDY)

    assert failed.said.endswith("The end.")
    assert not any(SECRET[n:] in failed.said for n in range(len(SECRET) - 3))


async def test_a_secret_that_stands_where_a_banner_is_cut_is_not_shown_in_part(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 1.0)
    failed = await failure(workspace, "", BANNER)

    assert failed.said.startswith("xxx")
    assert not any(SECRET[:n] in failed.said for n in range(4, len(SECRET) + 1))
