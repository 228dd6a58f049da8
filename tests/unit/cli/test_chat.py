"""The terminal's conversation, with a server and a stream of the test's own: what arrives in which order."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from homing.cli.chat import talk
from homing.cli.chat.paper import Paper
from homing.cli.chat.stream import Event
from homing.cli.chat.talk import Talk

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
