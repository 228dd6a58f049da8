"""D-M5: nothing that came from outside moves the terminal, whichever command shows it."""

import io
import json

import pytest
from rich.console import Console

from homing.cli.chat.paper import Paper
from homing.cli.visible import json_text, visible
from support.commands import Homing

EVIL = "a\x1b]52;c;cHduZWQ=\x07b\x9b2Jc\u202ed\u2066e\x7ff"
ACTIVE = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))]


def active_in(text: str) -> list[str]:
    return [char for char in text if char in ACTIVE and char not in "\n\t"]


def test_every_control_and_turning_character_is_shown_as_an_escape() -> None:
    assert active_in(visible("".join(ACTIVE))) == []
    assert visible("tab\tline\nwindows\r\nend") == "tab\tline\nwindows\nend"
    assert visible("\x1b[2J \x9b \u202e") == "\\x1b[2J \\x9b \\u202e"
    assert visible("苹果 é 😀") == "苹果 é 😀"


def test_json_stays_json_and_says_the_same() -> None:
    written = json_text({"name": EVIL, "fruit": "苹果"})
    assert active_in(written) == []
    assert json.loads(written) == {"name": EVIL, "fruit": "苹果"}
    assert "苹果" in written


def test_no_command_passes_an_escape_on(homing: Homing, server: str) -> None:
    made = homing("cron", "add", "every 2h", EVIL, "-m", EVIL, "--name", EVIL, "--json")
    if made.code:
        made = homing("cron", "add", "every 2h", "-m", EVIL, "--name", "evil", "--json")
    job = made.object
    assert homing("memories", "add", EVIL).code == 0
    assert homing("hooks", "add", "-s", "cli:main", "--name", "evil").code in (0, 2)
    commands = (
        ("cron", "list"), ("cron", "show", job["id"]), ("cron", "why", job["id"]), ("cron", "runs", job["id"]),
        ("sessions", "list"), ("sessions", "get", "cli:main"), ("memories", "list"), ("hooks", "list"),
        ("send", "cli:main", EVIL, "--wait"), ("cron", "show", EVIL), ("tokens", "create", "--user", EVIL), ("export",),
    )  # fmt: skip
    for command in commands:
        for more in ((), ("--json",)):
            said = homing(*command, *(more if command != ("export",) else ()))
            assert active_in(said.out) == active_in(said.err) == [], command
            assert "should not" not in said.err, said.err
    assert "\\x1b]52" in homing("memories", "list").out
    [memory] = homing("memories", "list", "--json").objects
    assert "\x1b" in memory["text"]


def test_a_plain_chat_shows_the_answer_without_escapes(homing: Homing, server: str) -> None:
    said = homing("chat", stdin=f"remember {EVIL}\nwhat did I say about a\n")
    assert active_in(said.out) == []


@pytest.mark.parametrize("pieces", [["\x1b", "]0;pwn\x07"], ["\x9b2", "J"]])
def test_a_sequence_that_is_streamed_in_pieces_is_caught(pieces: list[str]) -> None:
    paper = Paper("UTC")
    screen = io.StringIO()
    paper.console = Console(file=screen, force_terminal=True, width=80, color_system=None, legacy_windows=False)
    for piece in pieces:
        paper.write(piece, whole=False)
    paper.end()
    shown = screen.getvalue()
    assert "\x1b]0" not in shown
    assert "\x9b" not in shown
    assert "\x07" not in shown
