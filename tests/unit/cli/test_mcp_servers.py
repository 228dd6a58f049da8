"""`homing mcp-servers`: everything about an agent's servers at the command line, with a server and without one."""

from pathlib import Path

import pytest

from support.commands import Homing
from support.http_mcp_server import http_mcp_server
from support.mcp_scripts import SCRIPT
from support.sandboxes import need_bubblewrap

WORDS = ["python3", "-c", SCRIPT]


@pytest.fixture(autouse=True)
def open_home(home: Path) -> None:
    need_bubblewrap()
    # As root a program inside has another uid, and must be able to pass.
    home.parent.chmod(0o755)


@pytest.mark.parametrize("running", [False, True])
def test_a_server_is_added_tested_changed_accepted_and_removed(
    homing: Homing, running: bool, request: pytest.FixtureRequest
) -> None:
    if running:
        request.getfixturevalue("server")
    added = homing("mcp-servers", "add", "bad", "--env", "WORD=x", "--", *WORDS, "fine")
    assert (added.code, added.out.splitlines()[:3]) == (0, ["Added bad.", "State: ready", "  - echo"])
    assert homing("mcp-servers", "test", "bad").out.startswith("bad was tried.\nState: ready\n")
    changed = homing("mcp-servers", "update", "bad", "--", *WORDS, "changed")
    assert "State: changed\n  + echo\n" in changed.out
    assert "homing mcp-servers accept bad" in changed.out
    accepted = homing("mcp-servers", "accept", "bad")
    assert accepted.out.startswith("Accepted of bad: echo, new.\nState: ready\n")
    assert "echo (changed)\nGives the text back. And now something else.\n" in accepted.err
    assert 'new (new)\nDoes new.\n{"type": "object", "properties"' in accepted.err
    [listed] = homing("mcp-servers", "list", "--json").objects
    assert (listed["state"], listed["env"], listed["revision"]) == ("ready", {"WORD": "x"}, 2)
    assert homing("agents", "get", "main", "--json").object["mcp_servers"] == [
        {"name": "bad", "state": "ready", "policy": "allow", "tools": 13, "offered": 13}
    ]
    off = homing("mcp-servers", "update", "bad", "--off", "--tool", "write=deny", "--json").object
    assert off["state"] == "off"
    assert homing("mcp-servers", "remove", "bad").out.strip() == "Removed bad from main."
    assert "No MCP servers" in homing("mcp-servers", "list").out


def test_a_server_that_does_not_start_says_why_and_a_test_of_it_exits_with_1(homing: Homing) -> None:
    added = homing("mcp-servers", "add", "bad", "--", *WORDS, "exit")
    assert added.code == 1
    assert "State: failing" in added.out
    assert "To mend it: homing mcp-servers update bad …" in added.out
    assert "homing mcp-servers remove bad" in added.out
    assert homing("mcp-servers", "update", "bad", "--policy", "allow").code == 1
    assert "KeyError: 'API_KEY'" in added.out
    assert homing("mcp-servers", "test", "bad").code == 1
    assert "failing" in homing("mcp-servers", "list").out
    [finding] = [one for one in homing("doctor", "--json").objects if one["what"] == "MCP server"]
    assert (finding["state"], finding["fix"]) == ("wrong", "homing mcp-servers test bad --agent main")


def test_a_server_over_http_gets_a_secret_by_name(homing: Homing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOMING_SECRET_KEY_OF_IT", "Bearer s3cr3t")
    with http_mcp_server() as server:
        homing("agents", "update", "main", "--host", f"127.0.0.1:{server.port}", "--secret", "KEY_OF_IT")
        added = homing("mcp-servers", "add", "web", "--url", server.url, "--header", "Authorization=secret:KEY_OF_IT")
        assert "State: ready" in added.out
        assert "a person approves each call. To allow them without a question: --policy allow" in added.out
        assert "1, 1 asking first" in homing("mcp-servers", "list").out
        assert "web (ready, " in homing("agents", "get", "main").out
        shown = homing("mcp-servers", "get", "web").out
        assert "Authorization=secret:KEY_OF_IT" in shown
        assert "s3cr3t" not in shown
        assert {seen["authorization"] for seen in server.seen} == {"Bearer s3cr3t"}
        [listed] = homing("mcp-servers", "list", "--json").objects
        assert listed["headers"] == {"Authorization": {"secret": "KEY_OF_IT"}}


def test_a_secret_file_that_others_can_read_is_named_by_doctor(homing: Homing, home: Path) -> None:
    (home / "secrets").mkdir()
    (home / "secrets/KEY").write_text("x")
    (home / "secrets/KEY").chmod(0o644)
    [finding] = [one for one in homing("doctor", "--json").objects if one["what"] == "Disk"]

    assert finding["fix"] == f"chmod 600 {home}/secrets/KEY"


def test_what_cannot_work_is_refused_with_exit_2(homing: Homing) -> None:
    for words in (["uvx", "mcp-server-time"], ["no-such-program"], []):
        refused = homing("mcp-servers", "add", "bad", "--", *words)
        assert refused.code == 2, refused
    assert homing("mcp-servers", "update", "bad").code == 2
    assert homing("mcp-servers", "add", "bad", "--env", "WORD", "--", *WORDS).code == 2
    header = homing("mcp-servers", "add", "web", "--url", "https://example.org", "--header", "Authorization=secret:key")
    assert (header.code, "--header Authorization=secret:TRACKER_KEY" in header.err) == (2, True)
    for option in ("--header", "--env"):
        empty = homing("mcp-servers", "add", "web", "--url", "https://example.org", option, "=x")
        assert (empty.code, empty.err.strip()) == (2, f"{option} is written NAME=VALUE, not =x.")
    named = homing("mcp-servers", "add", "My Server", "--", *WORDS)
    assert (named.code, "name must have 1 to 24 small letters, digits and -" in named.err) == (2, True)
    policy = homing("mcp-servers", "update", "bad", "--tool", "echo=maybe")
    assert (policy.code, "NAME=allow, NAME=deny or NAME= " in policy.err) == (2, True)


def test_policies_of_tools_are_shown_with_the_server(homing: Homing) -> None:
    homing(
        "mcp-servers",
        "add",
        "bad",
        "--env",
        "WORD=hidden-value",
        "--host",
        "example.org",
        "--policy",
        "allow",
        "--",
        *WORDS,
        "fine",
    )
    changed = homing("mcp-servers", "update", "bad", "--tool", "echo=deny", "--tool", "write=ask")
    assert "  - echo (deny)\n" in changed.out
    assert "12, 1 denied, 1 asking first" in homing("mcp-servers", "list").out
    assert "bad (ready, 11 of 12 tools offered)" in homing("agents", "get", "main").out
    shown = homing("mcp-servers", "get", "bad").out
    assert all(word in shown for word in ("ready", "example.org", "WORD", "echo", "deny"))
    assert "hidden-value" not in shown
    assert homing("mcp-servers", "get", "bad", "--json").object["env"] == {"WORD": "hidden-value"}
    homing("mcp-servers", "update", "bad", "--policy", "deny")
    assert homing("mcp-servers", "update", "bad", "--tool", "echo=", "--tool", "write=").code == 0
    assert "ready (denied)" in homing("mcp-servers", "list").out
    assert "bad (ready (denied), 0 of 12 tools offered)" in homing("agents", "get", "main").out


def test_a_script_that_the_sandbox_does_not_show_is_explained(homing: Homing, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text("print()")
    added = homing("mcp-servers", "add", "mine", "--", "python3", str(tmp_path / "server.py"))
    assert added.code == 1
    assert "name the script itself by its whole path (and make it executable)" in added.out


def test_of_several_servers_none_is_removed_when_one_is_not_there(homing: Homing) -> None:
    homing("mcp-servers", "add", "bad", "--", *WORDS, "fine")
    refused = homing("mcp-servers", "remove", "bad", "nope")
    assert (refused.code, "The agent main has no MCP server nope." in refused.err) == (2, True)
    assert [one["name"] for one in homing("mcp-servers", "list", "--json").objects] == ["bad"]
    assert homing("mcp-servers", "get", "nope").code == 2
