"""`approvals`, `questions` and `inbox`: what agents ask, shown whole and answered from a terminal or a script."""

import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from support.commands import Homing


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def ask_for_memory(homing: Homing, text: str = "I like pears") -> dict[str, Any]:
    """Let the offline model ask to remember something; gives the approval."""
    homing("agents", "update", "main", "--tool", "schedule_task", "--tool", "remember=ask", "--tool", "recall")
    homing("send", "cli:main", f"remember {text}", "--wait")
    [approval] = homing("approvals", "list", "--state", "pending", "--json").objects
    return approval


def test_an_approval_is_shown_whole_and_approved_by_its_digest(homing: Homing, server: str) -> None:
    approval = ask_for_memory(homing)
    assert approval["id"] in homing("approvals", "list").out
    shown = homing("approvals", "get", approval["id"][:9]).out
    for part in (
        approval["id"],
        approval["title"],
        approval["digest"],
        "waiting for an answer",
        "cli:main, by a turn that a person's message opened",
        "the user of the conversation",
        "What will run, all of it:",
        '"text": "I like pears"',
    ):
        assert part in shown, shown

    blind = homing("approvals", "approve", approval["id"])
    assert blind.code == 2
    assert "--digest" in blind.err
    assert f"homing approvals get {approval['id']}" in blind.err
    wrong = homing("approvals", "approve", approval["id"], "--digest", "sha256:0")
    assert (wrong.code, "This is not what you looked at" in wrong.err) == (2, True)
    assert homing("memories", "list", "--json").objects == []

    done = homing("approvals", "approve", approval["id"], "--digest", approval["digest"], "--note", "fine")
    assert (done.code, approval["id"] in done.out) == (0, True)
    until(lambda: homing("approvals", "get", approval["id"], "--json").object["state"] == "done")
    assert [memory["text"] for memory in homing("memories", "list", "--json").objects] == ["I like pears"]
    card = homing("approvals", "get", approval["id"]).out
    assert "Note" in card
    assert "What came of it:" in card


def on_a_terminal(*args: str, answer: str) -> tuple[int, str]:
    """Run a command on a terminal of its own and answer its question; gives its exit code and what it showed."""
    mine, its = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "homing", *args], stdin=its, stdout=its, stderr=its) as process:
        os.close(its)
        shown = b""
        try:
            while piece := os.read(mine, 4096):
                asked = b"[y/N]" in shown
                shown += piece
                if b"[y/N]" in shown and not asked:
                    os.write(mine, f"{answer}\n".encode())
        except OSError:
            # So the end of a terminal reads on Linux.
            pass
    os.close(mine)
    return process.returncode, shown.decode()


def test_on_a_terminal_the_whole_card_is_shown_before_it_is_asked(homing: Homing, server: str) -> None:
    approval = ask_for_memory(homing)
    code, shown = on_a_terminal("approvals", "approve", approval["id"], answer="n")
    assert code == 2
    assert shown.index('"text": "I like pears"') < shown.index("Approve this?") < shown.index("Nothing was answered.")
    assert homing("approvals", "get", approval["id"], "--json").object["state"] == "pending"
    code, shown = on_a_terminal("approvals", "approve", approval["id"], answer="y")
    assert (code, "about to begin" in shown) == (0, True)
    until(lambda: homing("approvals", "get", approval["id"], "--json").object["state"] == "done")


def test_the_offline_model_says_that_an_approval_is_needed(homing: Homing, server: str) -> None:
    approval = ask_for_memory(homing)
    answers = homing("sessions", "get", "cli:main").out
    assert f"It is not done yet: you have to approve it first ({approval['id']})." in answers


def test_a_denial_needs_no_digest_and_tells_the_agent(homing: Homing, server: str) -> None:
    approval = ask_for_memory(homing)
    said = homing("approvals", "deny", approval["id"], "--note", "not now")
    assert (said.code, said.out) == (0, f"{approval['id']}: denied. The agent is told.\n")
    again = homing("approvals", "approve", approval["id"], "--digest", approval["digest"])
    assert (again.code, "denied" in again.err) == (2, True)


def test_what_an_agent_wrote_cannot_control_the_terminal(homing: Homing, server: str) -> None:
    approval = ask_for_memory(homing, "I like \x1b]0;pears\x07 and \u202efigs")
    for shown in (homing("approvals", "get", approval["id"]).out, homing("approvals", "list").out):
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert "\\u001b]0;pears\\u0007 and \\u202efigs" in homing("approvals", "get", approval["id"]).out


def test_an_unknown_approval_or_question_is_refused_with_a_sentence(homing: Homing, server: str) -> None:
    said = homing("approvals", "get", "appr_nowhere")
    assert (said.code, said.err.splitlines()[0]) == (2, "There is no approval appr_nowhere.")
    said = homing("questions", "answer", "q_nowhere", "1")
    assert (said.code, said.err.splitlines()[0]) == (2, "There is no question q_nowhere.")
    assert homing("approvals", "get", "").code == 2


def test_the_inbox_says_what_to_do_next(homing: Homing, server: str) -> None:
    assert homing("inbox").out == "Nothing new, nothing waits for you, and nothing failed.\n"
    approval = ask_for_memory(homing)
    shown = homing("inbox").out
    assert approval["title"] in shown
    assert f"homing approvals approve {approval['id']}" in shown
    [item] = homing("inbox", "--json").objects
    assert (item["kind"], item["id"], item["seen"]) == ("approval", approval["id"], False)


def test_nothing_asked_says_so(homing: Homing, server: str) -> None:
    assert homing("approvals", "list").out == "No agent has asked for an approval.\n"
    assert homing("questions", "list").out == "No agent has asked a question.\n"
    assert "Nothing matches the filter" in homing("approvals", "list", "--state", "done").out
