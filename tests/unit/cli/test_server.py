"""Commands that find a running server: the same answers, and things happen."""

import io
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable

import pytest

from homing.cli.connection import NOTHING_FIRES
from homing.cli.process import own_server
from homing.client import remote
from homing.client.problems import Problem
from homing.settings import load
from homing.testing import TelegramStub
from support.commands import Homing

HEAVY = (
    "pydantic_ai",
    "openai",
    "anthropic",
    "fastapi",
    "sqlalchemy",
    "pydantic",
    "httpx2",
    "mcp",
    "asyncio",
    "structlog",
)


def test_a_run_is_watched_until_its_answer_is_there(homing: Homing, server: str) -> None:
    homing("cron", "add", "every day at 9", "Say good morning", "--id", "mine")
    said = homing("cron", "run", "mine", "--watch")
    assert said.code == 0
    assert "OK, took" in said.out
    assert "Say good morning" in said.out
    assert "nothing fires" not in said.err
    [run] = homing("cron", "logs", "mine", "--json").objects
    assert (run["state"], run["trigger"]) == ("ok", "manual")
    assert homing("cron", "get", "mine", "--json").object["recent"][0]["state"] == "ok"


@pytest.fixture
def add_broken(homing: Homing, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Add a job whose model could be asked when it was named, and cannot any more."""

    def add(job_id: str) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "gone soon")
        homing("cron", "add", "every day at 9", "x", "--id", job_id, "--model", "openai-chat:gone")
        monkeypatch.delenv("OPENAI_API_KEY")

    return add


def test_a_watched_run_that_fails_ends_with_exit_one(
    homing: Homing, server: str, add_broken: Callable[[str], None]
) -> None:
    add_broken("mine")
    said = homing("cron", "run", "mine", "--watch", "--json")
    assert (said.code, said.object["state"]) == (1, "error")


def test_a_run_that_failed_is_told_in_a_line_and_not_as_a_trace(
    homing: Homing, server: str, add_broken: Callable[[str], None]
) -> None:
    add_broken("mine")
    said = homing("cron", "run", "mine", "--watch")
    assert said.code == 1
    assert "The model 'openai-chat:gone' cannot be used" in said.out
    assert "Traceback" not in said.out


def test_runs_that_were_started_are_shown_although_another_could_not_be(
    homing: Homing, server: str, add_broken: Callable[[str], None]
) -> None:
    homing("cron", "add", "every day at 9", "Say good morning", "--id", "mine")
    add_broken("broken")
    said = homing("cron", "run", "gone", "broken", "mine", "--watch", "--json")
    assert (said.code, said.problem["code"]) == (2, "not_found")
    assert [(run["job_id"], run["state"]) for run in said.objects] == [("broken", "error"), ("mine", "ok")]
    assert homing("cron", "run", "broken", "mine", "--watch").code == 1


def test_a_message_is_sent_and_its_answer_waited_for(homing: Homing, server: str) -> None:
    said = homing("send", "main", "help", "--wait")
    assert said.code == 0
    assert "Offline mode" in said.out
    sent = homing("send", "cli:main", "-", "--json", stdin="help\n").object
    assert sent["session_key"] == "cli:main"


def test_a_session_that_is_nearly_another_is_not_begun_in_silence(homing: Homing, server: str) -> None:
    homing("send", "cli:groceries", "help", "--wait")
    said = homing("send", "cli:grocreies", "help", "--json")
    assert said.err == "There is no conversation cli:grocreies, so a new one begins. Did you mean cli:groceries?\n"
    assert said.object["session_key"] == "cli:grocreies"
    # It is there now; a number makes another one, and so does another word.
    for name in ("grocreies", "cli:groceries"):
        assert homing("send", name, "help").err == ""
    for name, key in (("cli:plums", "cli:plums"), ("plums-2", "cli:plums-2")):
        assert homing("send", name, "help").err == f"New conversation: {key}\n"
    homing("sessions", "update", "plums", "--title", "Stone fruit")
    assert "Did you mean cli:plums (Stone fruit)?" in homing("chat", "stonefruit", stdin="help\n").err
    assert "Did you mean cli:plums?" in homing("cron", "add", "every day at 9", "x", "-s", "plumbs").err


def test_a_person_at_a_terminal_is_asked_before_a_session_that_is_nearly_another_is_begun(
    homing: Homing, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    homing("send", "cli:groceries", "help", "--wait")
    monkeypatch.setattr(io, "StringIO", Terminal)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    said = homing("send", "grocreies", "help", stdin="n\n")
    assert (said.code, "Did you mean cli:groceries?" in said.err) == (2, True)
    assert "grocreies" not in homing("sessions", "list").out
    assert homing("send", "grocreies", "help", stdin="y\n").code == 0
    assert "grocreies" in homing("sessions", "list").out


def test_a_session_shows_its_last_words(homing: Homing, server: str) -> None:
    homing("send", "main", "remember that I like apples", "--wait")
    assert "cli:main" in homing("sessions", "list").out
    shown = homing("sessions", "get", "main")
    assert "remember that I like apples" in shown.out
    assert "Europe/Berlin" in shown.out


def test_a_chat_through_a_pipe_answers_line_by_line(homing: Homing, server: str) -> None:
    said = homing("chat", stdin="remember that I like apples\n\nwhat did I say about apples\n")
    assert said.code == 0
    assert "apples" in said.out.splitlines()[-1]


def test_a_chat_brings_the_engine_up_when_no_server_runs(homing: Homing) -> None:
    said = homing("chat", "elsewhere", stdin="remind me in 2 hours to stretch\n")
    assert 'Added "stretch"' in said.out
    assert homing("cron", "list", "--json").object["session_key"] == "cli:elsewhere"


def test_doctor_is_content_with_a_running_server(homing: Homing, server: str) -> None:
    said = homing("doctor", "--json")
    assert said.code == 0, said.out
    states = {finding["what"]: finding["state"] for finding in said.objects}
    assert states["Engine"] == states["Server"] == states["Database"] == states["Migrations"] == "ok"


def test_doctor_judges_mail_by_the_environment_of_the_running_server(
    homing: Homing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mail() -> tuple[str, str]:
        [found] = [one for one in homing("doctor", "--json").objects if one["what"] == "Mail"]
        return found["state"], found["said"]

    with own_server(load()):
        monkeypatch.setenv("HOMING_SMTP_URL", "smtp://127.0.0.1:9")
        state, said = mail()
        assert (state, "started without it" in said) == ("wrong", True)
    with own_server(load()):
        assert "127.0.0.1:9 does not answer" in mail()[1]
        monkeypatch.delenv("HOMING_SMTP_URL")
        assert mail() == ("ok", "set up in the running server; its address is not known here")


def test_doctor_names_the_channels_of_the_running_server(homing: Homing, monkeypatch: pytest.MonkeyPatch) -> None:
    with TelegramStub() as telegram:
        monkeypatch.setenv("HOMING_CHANNEL_TELEGRAM_TOKEN", telegram.token)
        monkeypatch.setenv("HOMING_CHANNEL_TELEGRAM_BASE_URL", telegram.url)
        with own_server(load()):
            monkeypatch.delenv("HOMING_CHANNEL_TELEGRAM_TOKEN")
            monkeypatch.delenv("HOMING_CHANNEL_TELEGRAM_BASE_URL")
            [found] = [one for one in homing("doctor", "--json").objects if one["what"] == "Channel telegram"]
    assert (found["state"], "set up in the running server" in found["said"]) == ("ok", True)


def test_a_command_gives_up_on_a_server_that_hangs(homing: Homing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "ANSWER_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        url = f"http://127.0.0.1:{frozen.getsockname()[1]}"
        monkeypatch.setenv("HOMING_URL", url)
        said = homing("cron", "list")
    assert said.code == 1
    assert f"{url} did not answer within 0 seconds." in said.err
    assert "It may be stuck or very busy" in said.err
    assert "It may still do it" not in said.err, "a list changes nothing"


def test_who_waits_for_an_answer_gives_up_soon_after_the_server_should_have_said_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remote, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(remote, "LONG_SECONDS", 60.0)
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        client = remote.Client(f"http://127.0.0.1:{frozen.getsockname()[1]}", "token")
        with pytest.raises(Problem, match="did not answer within 1 seconds") as given_up:
            client.ask("send_message", session_key="cli:main", text="hello", wait=1)
    assert given_up.value.hint is not None
    assert given_up.value.hint.endswith("It may still do what you asked.")


def test_doctor_waits_once_for_a_server_that_hangs(homing: Homing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "ANSWER_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        monkeypatch.setenv("HOMING_URL", f"http://127.0.0.1:{frozen.getsockname()[1]}")
        said = homing("doctor", "--json")
        frozen.setblocking(False)
        frozen.accept()[0].close()
        with pytest.raises(BlockingIOError):
            frozen.accept()
    [finding] = [one for one in said.objects if one["what"] == "Server"]
    assert (finding["state"], "did not answer" in finding["said"]) == ("wrong", True)


def test_a_fresh_sign_in_link_names_the_running_server(homing: Homing, server: str) -> None:
    link = homing("open", "--no-open").out.strip()
    assert link.startswith(f"{server}/sign-in#code=")


def test_a_link_is_made_where_the_server_runs_and_elsewhere_it_says_so(
    homing: Homing, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOMING_URL", server.replace("127.0.0.1", "localhost"))
    assert homing("open", "--no-open").out.startswith(f"{server}/sign-in#code=")
    monkeypatch.setenv("HOMING_URL", "https://homing.example")
    said = homing("open", "--no-open")
    assert said.code == 1
    assert "https://homing.example" in said.err
    assert "sign in with a token" in said.err


def test_asking_a_server_imports_nothing_heavy(homing: Homing, server: str) -> None:
    homing("cron", "add", "every day at 9", "x", "--id", "mine")
    for args in (["cron", "list"], ["cron", "get", "mine"], ["cron", "pause", "mine", "--json"], ["sessions", "list"]):
        assert imported(HEAVY, *args) == "", args


@pytest.mark.parametrize("command", ["--help", "cron list", "cron preview 'every day at 9'", "sessions list"])
def test_without_a_server_nothing_is_imported_that_only_servers_and_engines_need(homing: Homing, command: str) -> None:
    homing("cron", "status")
    heavy = ("pydantic_ai", "openai", "anthropic", "fastapi", "starlette", "uvicorn", "mcp", "httpx2", "alembic")
    assert imported(heavy, *shlex.split(command)) in ("", NOTHING_FIRES), command


def imported(heavy: tuple[str, ...], *args: str) -> str:
    """Run a command in a process of its own; tell what it said on stderr, or which of these it has imported."""
    program = (
        "import sys; from homing.cli.main import run; code = run(sys.argv[1:]);"
        f" sys.exit(code or ' '.join(name for name in {heavy!r} if name in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program, *args], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stderr.strip()


def test_a_server_that_is_set_but_not_there_is_an_error(homing: Homing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOMING_URL", "http://127.0.0.1:9")
    said = homing("cron", "list", "--json")
    assert (said.code, said.problem["code"]) == (1, "unreachable")


def test_a_refusal_names_the_command_that_helps_and_not_the_apis_operation(homing: Homing, server: str) -> None:
    assert "`homing sessions list`" in homing("sessions", "get", "nowhere").err


def test_a_wrong_token_is_refused_with_what_to_do(homing: Homing, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOMING_TOKEN", "hom_wrong")
    said = homing("cron", "list")
    assert said.code == 2
    assert "HOMING_TOKEN" in said.err


def test_another_user_has_a_session_of_their_own(homing: Homing, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    token = homing("tokens", "create", "--user", "anna", "--json").object
    monkeypatch.setenv("HOMING_TOKEN", token["token"])
    job = homing("cron", "add", "in 1 hour", "x", "--json").object
    assert (job["session_key"], job["user_id"]) == ("cli:anna", "anna")


def test_a_user_who_took_cli_main_first_does_not_keep_the_owner_from_it(
    homing: Homing, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = homing("tokens", "create", "--user", "anna", "--json").object
    with monkeypatch.context() as as_anna:
        as_anna.setenv("HOMING_TOKEN", token["token"])
        assert homing("cron", "add", "in 1 hour", "x", "-s", "cli:main", "--json").object["user_id"] == "anna"
    job = homing("cron", "add", "in 1 hour", "x", "--json").object
    assert (job["session_key"], job["user_id"]) == ("cli:main", "default")
