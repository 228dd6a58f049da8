"""The terminal's conversation, with a server and a stream of the test's own: what arrives in which order."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from homing.cli.chat import stream as chat_stream
from homing.cli.chat import talk
from homing.cli.chat.paper import Paper, open_history
from homing.cli.chat.stream import Event
from homing.cli.chat.talk import Talk
from homing.client.home import known_token
from homing.client.remote import Client
from homing.settings import load
from support.commands import Homing

INBOUND = "in_1"


class Server:
    """Answers a message only after its whole turn is on the stream, as a server under load may."""

    def __init__(self) -> None:
        self.stream = Stream()

    def ask(self, operation: str, **fields: Any) -> Any:
        if operation == "list_messages":
            return {"items": []}
        assert operation == "send_message"
        self.stream.turn.set()
        # Until everything was read, or for long enough that it would have been.
        self.stream.read.wait(0.5)
        return {"inbound_id": INBOUND, "will": "start"}


class Stream:
    """A turn's events, once it was asked for."""

    def __init__(self) -> None:
        self.turn = threading.Event()
        self.read = threading.Event()
        self._left = threading.Event()

    def events(self) -> Iterator[Event]:
        yield Event(noun="hello", data={}, id=None)
        self.turn.wait(10)
        yield message(1, "user", INBOUND)
        yield message(2, "assistant", None)
        yield Event(noun="session", data={"state": "idle", "lane_size": 0}, id=None)
        self.read.set()
        self._left.wait(10)

    def leave(self) -> None:
        self._left.set()


def message(seq: int, role: str, inbound_id: str | None) -> Event:
    data = {
        "seq": seq,
        "role": role,
        "kind": "chat",
        "text": f"text {seq}",
        "inbound_id": inbound_id,
        "turn_id": "turn_1",
        "created_at": "2026-11-16T08:00:00Z",
        "deliveries": [],
    }
    return Event(noun="message", data=data, id=str(seq))


def test_an_answer_that_is_streamed_before_its_message_was_confirmed_gives_the_prompt_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = iter(["hello"])
    asked = threading.Event()

    def type_next(self: Paper) -> str:
        line = next(lines, None)
        if line is None:
            asked.set()
            raise EOFError
        return line

    monkeypatch.setattr(Paper, "ask", type_next)
    monkeypatch.setattr(talk, "silent_keys", threading.Lock)
    server = Server()
    conversation = Talk(server, server.stream, {"key": "cli:main"}, Paper("Europe/Berlin"))  # type: ignore[arg-type]
    threading.Thread(target=conversation.run, daemon=True).start()
    assert asked.wait(10), "The prompt never came back."


def test_a_hooks_words_stand_under_its_name_and_not_under_you(capsys: pytest.CaptureFixture[str]) -> None:
    said = message(1, "user", INBOUND).data | {"meta": {"source": "hook", "hook_id": "hook_1", "hook_name": "ci"}}
    Paper("UTC").message(said)
    assert capsys.readouterr().out.startswith("Hook “ci”  Mon 16 Nov 08:00 UTC")


def test_a_chat_says_who_answers_and_lets_another_agent_answer(
    homing: Homing, server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    homing("agents", "add", "Research")
    homing("send", "cli:main", "help", "--wait")
    lines = iter(["/agent", "/agent research", "/agent nobody", "/AGENT", "/help"])

    def type_next(self: Paper) -> str:
        line = next(lines, None)
        if line is None:
            raise EOFError
        return line

    monkeypatch.setattr(Paper, "ask", type_next)
    client = Client(server, known_token(load()))
    stream = chat_stream.Stream(client, "cli:main")
    capsys.readouterr()
    Talk(client, stream, client.ask("get_session", session_key="cli:main"), Paper("Europe/Berlin")).run()
    said = " ".join(capsys.readouterr().out.split())
    assert "Main (main) answers here. Others: Research (research). /agent NAME changes it." in said
    assert "Research (research) answers from now on, also this conversation's automations." in said
    assert "There is no agent nobody." in said
    assert "Research (research) answers here. Others: Main (main)." in said
    assert client.ask("get_session", session_key="cli:main")["agent_id"] == "research"
    client.close()


def typed(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    left = iter(lines)

    def type_next(self: Paper) -> str:
        line = next(left, None)
        if line is None:
            raise EOFError
        return line

    monkeypatch.setattr(Paper, "ask", type_next)
    monkeypatch.setattr(talk, "silent_keys", threading.Lock)


def test_a_chat_schedules_reminds_chooses_a_model_and_attaches_files(
    homing: Homing,
    server: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    homing("send", "cli:main", "help", "--wait")
    (tmp_path / "notes.txt").write_text("apples")
    typed(
        monkeypatch,
        "/schedule every weekday at 8:30: look at the news",
        "/remind tomorrow at 9: call mom",
        "/remind tomorrow at 9",
        "/model",
        "/model test:never",
        "/model offline",
        "/model auto",
        f"/file {tmp_path / 'nothing.txt'}",
        f"/file {tmp_path / 'notes.txt'}",
        "here it is",
        "and without it",
    )
    client = Client(server, known_token(load()))
    capsys.readouterr()
    stream = chat_stream.Stream(client, "cli:main")
    Talk(client, stream, client.ask("get_session", session_key="cli:main"), Paper("Europe/Berlin")).run()
    said = " ".join(capsys.readouterr().out.split())
    assert "Write /remind WHEN: WHAT" in said
    assert "offline answers here, as for all of Main." in said
    assert "offline answers here. /model NAME" in said
    assert "Goes with your next message: notes.txt" in said
    jobs = {job["payload"]["message"]: job for job in client.pages("list_jobs", session_key="cli:main")}
    assert jobs["look at the news"]["words"] == "Weekdays at 08:30 Europe/Berlin"
    assert jobs["call mom"]["payload"]["kind"] == "reminder"
    assert client.ask("get_session", session_key="cli:main")["model"] is None
    sent = {m["text"]: m["files"] for m in client.ask("list_messages", session_key="cli:main", limit=50)["items"]}
    assert [file["name"] for file in sent["here it is"]] == ["notes.txt"]
    assert sent["and without it"] == []
    client.close()


def test_what_was_typed_is_kept_in_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    path = tmp_path / "chat_history"
    path.write_text("")
    path.chmod(0o644)
    open_history(path).append_string("hello")
    assert path.stat().st_mode & 0o777 == 0o600
    assert "hello" in list(open_history(path).load_history_strings())
    # Where nothing can be written, it is kept for this time only.
    assert list(open_history(tmp_path / "nowhere" / "history").load_history_strings()) == []
