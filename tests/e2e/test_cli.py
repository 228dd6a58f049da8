"""The command line as people use it: real processes, real signals, a real terminal."""

import asyncio
import codecs
import json
import os
import pty
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from homing.cli.process import own_server
from homing.client import Client
from homing.settings import load
from homing.testing import DiscordStub, PostgresServer, TelegramStub
from unit.channels.post_office import post_office

PATIENCE = 60.0

pytestmark = pytest.mark.slow


class Process:
    """One `homing` process and what it has said so far."""

    def __init__(self, home: Path, *args: str, **more: str) -> None:
        env = (
            os.environ | {"HOMING_HOME": str(home), "HOMING_TIMEZONE": "Europe/Berlin", "PYTHONUNBUFFERED": "1"} | more
        )
        self._process = subprocess.Popen(
            [sys.executable, "-m", "homing", *args],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said = ""

    def read_until(self, words: str) -> str:
        """Read until it says these words."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.said += line
            if words in line:
                return line
        raise AssertionError(f"It never said {words!r}, but:\n{self.said}")

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, and tell the exit code."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        rest, _ = self._process.communicate(timeout=PATIENCE)
        self.said += rest
        return self._process.returncode


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def started() -> Iterator[Any]:
    """Start processes that end with the test, whatever happens."""
    with ExitStack() as held:

        def start(home: Path, *args: str, **more: str) -> Process:
            process = Process(home, *args, **more)
            held.callback(process.end, signal.SIGKILL)
            return process

        yield start


def up(started: Any, home: Path, **more: str) -> tuple[Process, str]:
    """Start everything; tell the process and its address."""
    process = started(home, "up", "--no-open", "--port", "0", **more)
    url = process.read_until("  Open ").split()[-1]
    process.read_until("Next wake")
    return process, url


def homing(home: Path, *args: str, code: int = 0, stdin: str = "", **more: str) -> str:
    env = os.environ | {"HOMING_HOME": str(home), "HOMING_TIMEZONE": "Europe/Berlin"} | more
    done = subprocess.run(
        [sys.executable, "-m", "homing", *args],
        env=env,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def objects(home: Path, *args: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in homing(home, *args, "--json").splitlines()]


def wait_for_run(home: Path, job_id: str) -> dict[str, Any]:
    """Look until the job has a run that is over."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        done = [run for run in objects(home, "cron", "runs", job_id) if run["finished_at"]]
        if done:
            return done[0]
        time.sleep(0.2)
    raise AssertionError("It did not run.")


def test_up_warns_of_admin_tokens_that_an_older_homing_left(home: Path, started: Any) -> None:
    homing(home, "db", "upgrade")
    with sqlite3.connect(home / "homing.db") as database:
        database.execute(
            "insert into token (id, user_id, role, kind, hash, created_at, approve)"
            " values ('tok_aaaaaaaaaa', 'default', 'admin', 'token', 'x', 1750000000000000, 0)"
        )
    database.close()
    server, _ = up(started, home)
    assert "  Warning    1 admin token without a name is left from earlier starts" in server.said
    assert "`homing tokens revoke ID`" in server.said


def test_up_warns_of_a_model_that_cannot_be_used_and_starts_all_the_same(home: Path, started: Any) -> None:
    server, _ = up(started, home, HOMING_MODEL="nonsense")
    assert "  Warning    There is no model nonsense. A model is named provider:model" in server.said
    assert "Turns fail until `homing model set` or HOMING_MODEL names one that works here." in server.said


def test_up_says_where_it_is_and_ends_cleanly_when_asked(home: Path, started: Any) -> None:
    server, url = up(started, home)
    # What is not a terminal may be a journal that others read: no proof stands in it.
    assert "code=" not in server.said
    base, _, code = homing(home, "open", "--no-open").strip().partition("/sign-in#code=")
    assert base == url
    for words in ("Model      offline", "Database   SQLite", "Time zone  Europe/Berlin", "nothing is scheduled"):
        assert words in server.said
    assert (home / "token").stat().st_mode & 0o777 == 0o600
    body = json.dumps({"code": code}).encode()
    asked = Request(f"{base}/api/auth/sign-in", body, {"Content-Type": "application/json"})
    with urlopen(asked) as answer:
        assert "HttpOnly" in answer.headers["Set-Cookie"]
    with pytest.raises(HTTPError, match="401"):
        urlopen(asked)
    assert "worker" in homing(home, "cron", "status")
    assert server.end() == 0
    assert not (home / "server.json").exists()


def test_what_came_due_while_nothing_ran_comes_once_after_the_next_start(home: Path, started: Any) -> None:
    server, _ = up(started, home)
    [job] = objects(home, "cron", "add", "--at", "1h", "--reminder", "-m", "Time to take a break!")
    assert server.end() == 0
    assert objects(home, "cron", "runs", job["id"]) == []
    with sqlite3.connect(home / "homing.db") as database:
        # The hour passes in the rows.
        database.execute("update job set at = at - 3600000000, next_run_at = next_run_at - 3600000000")
    database.close()
    server, _ = up(started, home)
    assert wait_for_run(home, job["id"])["state"] == "ok"
    assert server.end(signal.SIGINT) == 0
    up(started, home)
    assert len(objects(home, "cron", "runs", job["id"])) == 1
    assert "Time to take a break!" in homing(home, "sessions", "get", "main")


def test_a_killed_server_is_not_believed_in_and_what_it_owed_comes_once(home: Path, started: Any) -> None:
    server, _ = up(started, home)
    [job] = objects(home, "cron", "add", "--at", "3s", "--reminder", "-m", "Stretch")
    server.end(signal.SIGKILL)
    assert (home / "server.json").exists()
    assert [one["id"] for one in objects(home, "cron", "list")] == [job["id"]]
    up(started, home)
    assert wait_for_run(home, job["id"])["state"] == "ok"
    assert len(objects(home, "cron", "runs", job["id"])) == 1


def test_a_second_homing_on_one_database_is_told_so(home: Path, started: Any) -> None:
    _, link = up(started, home)
    said = homing(home, "up", "--no-open", "--port", "0", code=1)
    assert f"already running at {link.partition('/sign-in')[0]}" in said
    assert "homing open" in said


def test_up_tells_where_the_command_lies(home: Path, started: Any) -> None:
    process, _ = up(started, home)
    assert f"Command    {sys.executable} -m homing" in process.said


def test_up_names_its_channels_those_of_the_settings_and_those_that_were_added(home: Path, started: Any) -> None:
    with TelegramStub() as telegram, DiscordStub() as discord:
        more = {"HOMING_CHANNEL_TELEGRAM_TOKEN": telegram.token, "HOMING_CHANNEL_TELEGRAM_BASE_URL": telegram.url}
        process, _ = up(started, home)
        assert "Channels   none yet; `homing channels add telegram` adds one\n" in process.said
        fields = f"token={discord.token}\nbase_url={discord.url}\n"
        assert "work works" in homing(home, "channels", "add", "work", "--kind", "discord", stdin=fields)
        assert process.end() == 0
        process, _ = up(started, home, **more)
        assert "Channels   telegram, work\n" in process.said
        assert telegram.token not in process.said
        assert discord.token not in process.said
        assert process.end() == 0


def test_watch_shows_what_happens_survives_a_restart_and_ends_well(home: Path, started: Any) -> None:
    server, _ = up(started, home)
    watch = started(home, "watch")
    watch.read_until("Version")
    homing(home, "cron", "add", "--at", "1s", "--reminder", "-m", "stretch")
    watch.read_until("stretch: OK")
    watch.read_until("cli:main stretch")
    server.end()
    watch.read_until("The server is away")
    up(started, home)
    watch.read_until("The server is back")
    homing(home, "send", "main", "hello")
    watch.read_until("cli:main hello")
    assert watch.end(signal.SIGINT) == 0
    assert "Traceback" not in watch.said


def test_watch_ends_when_its_reader_has_seen_enough(home: Path, started: Any) -> None:
    up(started, home)
    env = os.environ | {"HOMING_HOME": str(home)}
    watch = subprocess.Popen(
        [sys.executable, "-m", "homing", "watch", "--json"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert watch.stdout is not None
    assert watch.stderr is not None
    homing(home, "cron", "add", "every 1s", "tick", "--reminder")
    assert json.loads(watch.stdout.readline())["event"] in ("job", "run", "message", "inbox", "delivery")
    watch.stdout.close()
    assert watch.wait(PATIENCE) == 0
    assert watch.stderr.read() == b""
    watch.stderr.close()


def test_without_a_server_there_is_nothing_to_watch(home: Path) -> None:
    assert "homing up" in homing(home, "watch", code=1)


def test_a_taken_port_is_told_plainly(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = homing(home, "up", "--no-open", "--port", str(taken.getsockname()[1]), code=1)
    assert "already in use" in said
    assert "--port" in said


def test_what_cannot_start_says_why(home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "HOMING_HOME" in homing(tmp_path / "file" / "home", "up", code=1)
    assert "HOMING_TOKEN" in homing(home, "up", "--host", "0.0.0.0", code=2)
    said = homing(home, "up", code=2, HOMING_PORT="x", HOMING_MODLE="y")
    assert "HOMING_PORT" in said
    assert "HOMING_MODEL" in said
    nobody = "postgresql://nobody@127.0.0.1:9/nothing"
    assert "cannot be opened" in homing(home, "up", "--port", "0", code=1, HOMING_DATABASE_URL=nobody)
    homing(home, "db", "upgrade")
    with sqlite3.connect(home / "homing.db") as database:
        database.execute("update alembic_version set version_num = '9999'")
    database.close()
    assert "newer Homing" in homing(home, "up", "--port", "0", code=2)


@pytest.mark.parametrize("door", ["commands", "api"])
async def test_a_mail_arrives_by_commands_alone_and_by_the_api_alone(home: Path, started: Any, door: str) -> None:
    address = "email:anna@example.org"
    async with post_office() as office:
        smtp = f"smtp://127.0.0.1:{office.port}?from=homing@example.org"
        _, link = await asyncio.to_thread(up, started, home, HOMING_SMTP_URL=smtp)
        ask = _by_commands if door == "commands" else _by_api
        await asyncio.to_thread(ask, home, link.partition("/sign-in")[0], address)
        async with asyncio.timeout(PATIENCE):
            while len(office.mails) < 2:
                await office.came.wait()
                office.came.clear()
    test, answer = office.mails
    assert "This is a test message from Homing" in test.get_content()
    assert "every day at 09:00" in answer.get_content()
    assert (answer["To"], answer["From"]) == ("anna@example.org", "homing@example.org")


def _by_commands(home: Path, base: str, address: str) -> None:
    homing(home, "send", "main", "hello", "--wait")
    assert "may write to" in homing(home, "grants", "add", address)
    assert address in homing(home, "grants", "list")
    homing(home, "sessions", "test", "main", address)
    assert f"cli:main, {address}" in homing(home, "sessions", "update", "main", "--address", address)
    homing(home, "send", "main", "every day at 9 say good morning", "--wait")


def _by_api(home: Path, base: str, address: str) -> None:
    token = (home / "token").read_text().strip()

    def ask(method: str, path: str, **body: object) -> Any:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        with urlopen(Request(f"{base}/api{path}", json.dumps(body).encode(), headers, method=method)) as answer:
            return json.load(answer)

    ask("POST", "/sessions", key="web:mail")
    assert ask("POST", "/grants", agent_id="main", address=address)["id"].startswith("grt_")
    ask("POST", "/sessions/web:mail/test", address=address)
    assert ask("PATCH", "/sessions/web:mail", addresses=["web:mail", address])["addresses"] == ["web:mail", address]
    ask("POST", "/sessions/web:mail/messages", text="every day at 9 say good morning")


def test_doors_and_engine_can_be_processes_of_their_own(
    home: Path, started: Any, postgres_server: PostgresServer
) -> None:
    url = postgres_server.fresh("homing_template")
    server = started(home, "serve", "--no-open", "--port", "0", HOMING_DATABASE_URL=url)
    server.read_until("Next wake")
    worker = started(home, "work", HOMING_DATABASE_URL=url)
    worker.read_until("Working on")
    homing(home, "cron", "add", "every day at 9", "Say good morning", "--id", "mine", HOMING_DATABASE_URL=url)
    said = homing(home, "cron", "run", "mine", "--watch", HOMING_DATABASE_URL=url)
    assert "Say good morning" in said
    assert worker.end() == 0
    assert server.end() == 0


class Terminal:
    """A `homing` process in a terminal of 80 columns."""

    def __init__(self, home: Path, *args: str) -> None:
        more = {"HOMING_HOME": str(home), "TERM": "xterm", "COLUMNS": "80", "LINES": "30", "PYTHONUNBUFFERED": "1"}
        self.pid, self._handle = pty.fork()
        if self.pid == 0:
            os.execve(sys.executable, [sys.executable, "-m", "homing", *args], os.environ | more)
        self.seen = ""
        self._status: int | None = None
        # A read may end in the middle of a letter.
        self._letters = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def type(self, text: str) -> None:
        os.write(self._handle, text.encode())

    def read_until(self, words: str) -> None:
        until = time.monotonic() + PATIENCE
        while words not in self.seen:
            ready, _, _ = select.select([self._handle], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"Not seen: {words!r}, but:\n{self.seen}"
            self.seen += self._letters.decode(os.read(self._handle, 65536))
        self.seen = self.seen.partition(words)[2]

    def wait_still(self) -> None:
        """Wait until it waits for a key: Python loses a Ctrl-C that comes in the instant before."""
        until = time.monotonic() + PATIENCE
        while Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
            assert time.monotonic() < until, "It never stood still."
            time.sleep(0.005)

    def end(self) -> int:
        """Wait for its end, reading on so that it can write."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            ready, _, _ = select.select([self._handle], [], [], 0.1)
            try:
                if ready and not os.read(self._handle, 65536):
                    break
            except OSError:
                break
        else:
            raise AssertionError("It did not end.")
        self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status

    def bury(self) -> None:
        """Leave nothing of it behind, however its test ended."""
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._handle)


Opening = Callable[..., Terminal]


@pytest.fixture
def terminal(home: Path) -> Iterator[Opening]:
    """Start commands in terminals, and leave none behind."""
    with ExitStack() as stack:

        def start(*args: str) -> Terminal:
            opened = Terminal(home, *args)
            stack.callback(opened.bury)
            return opened

        yield start


def test_on_a_terminal_up_prints_the_link_to_sign_in(terminal: Opening) -> None:
    server = terminal("up", "--no-open", "--port", "0")
    server.read_until("/sign-in#code=")
    server.read_until("Next wake")
    server.type("\x03")
    assert server.end() == 0


def test_a_chat_shows_what_the_schedule_brings_while_one_types(home: Path, terminal: Opening) -> None:
    chat = terminal("chat")
    chat.read_until("›")
    chat.type("half a sen")
    chat.read_until("half a sen")
    homing(home, "cron", "add", "--at", "1s", "--reminder", "-m", "stretch")
    chat.read_until("Reminder")
    chat.read_until("stretch")
    chat.read_until("half a sen")
    chat.type("\x15\x04")
    assert chat.end() == 0


def test_a_chat_beside_a_server_is_the_same_conversation(home: Path, started: Any, terminal: Opening) -> None:
    up(started, home)
    chat = terminal("chat", "cli:main")
    chat.read_until("›")
    homing(home, "send", "main", "help", "--wait")
    chat.read_until("Offline mode")
    chat.type("/jobs\r")
    chat.read_until("No automations")
    chat.type("/quit\r")
    assert chat.end() == 0


def test_ctrl_c_at_the_prompt_leaves_only_when_pressed_twice(terminal: Opening) -> None:
    chat = terminal("chat")
    chat.read_until("Ctrl-D, leaves")
    interrupt(chat, "never sent")
    chat.type("hello\n")
    chat.read_until("Offline mode")
    interrupt(chat, "nor this")
    chat.read_until("›")
    chat.wait_still()
    chat.type("\x03")
    assert chat.end() == 0


@pytest.mark.parametrize("leave", ["the end of its input", "Ctrl-C"])
def test_a_chat_that_is_its_own_server_ends_although_something_in_it_does_not_hear_that_it_shall_stop(
    home: Path, tmp_path: Path, leave: str
) -> None:
    env = {"HOMING_HOME": str(home), "HOMING_TIMEZONE": "Europe/Berlin"}
    with own_server(load(env)) as url, Client(url, (home / "token").read_text().strip()) as server:
        address = server.ask("add_webhook", url="http://nobody.example/")["address"]
        server.ask("add_session", key="cli:main")
        server.ask("update_session", session_key="cli:main", addresses=["cli:main", address])
    (tmp_path / "sitecustomize.py").write_text(NAMES_NEVER_FOUND)
    chat = subprocess.Popen(
        [sys.executable, "-m", "homing", "chat"],
        env=os.environ | env | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}, cwd=tmp_path,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        assert chat.stdin is not None
        chat.stdin.write("hello\n")
        chat.stdin.flush()
        until = time.monotonic() + PATIENCE
        while not (tmp_path / "asked").exists():
            assert time.monotonic() < until, "Nobody asked for the name."
            time.sleep(0.01)
        if leave == "Ctrl-C":
            chat.send_signal(signal.SIGINT)
        said, _ = chat.communicate(timeout=PATIENCE)
    finally:
        chat.kill()
        chat.wait()
    assert chat.returncode == (130 if leave == "Ctrl-C" else 0), said
    assert "Traceback" not in said


NAMES_NEVER_FOUND = """
import pathlib, socket, threading
find = socket.getaddrinfo

def getaddrinfo(host, *args, **more):
    if host == "nobody.example":
        pathlib.Path("asked").touch()
        threading.Event().wait()
    return find(host, *args, **more)

socket.getaddrinfo = getaddrinfo
"""


def interrupt(chat: Terminal, half: str) -> None:
    """Press Ctrl-C in the middle of a line: what is shown of it, and that nothing moves then, proves who listens."""
    chat.read_until("›")
    chat.type(half)
    chat.read_until(half)
    chat.wait_still()
    chat.type("\x03")
    chat.read_until("Nothing to stop. Ctrl-C again leaves.")
