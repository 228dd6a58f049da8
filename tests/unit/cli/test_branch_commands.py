"""`homing sessions branch`, `export`, pin and archive: with a server and without one."""

import json
from pathlib import Path

import pytest

from support.commands import Homing


@pytest.fixture(params=["server", "no server"])
def anywhere(request: pytest.FixtureRequest, homing: Homing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homing:
    if request.param == "server":
        request.getfixturevalue("server")
    monkeypatch.chdir(tmp_path)
    return homing


def test_a_conversation_is_branched_exported_pinned_and_archived(anywhere: Homing, tmp_path: Path) -> None:
    anywhere("cron", "add", "in 1h", "look", "--session", "cli:main")
    assert anywhere("sessions", "test", "cli:main", "cli:main").code == 0
    made = anywhere("sessions", "branch", "cli:main", "1", "--json").object
    assert made["branch_of"] == {"session_key": "cli:main", "seq": 1}
    beyond = anywhere("sessions", "branch", "cli:main", "9")
    assert (beyond.code, "There is no message 9" in beyond.err) == (2, True)
    assert "Wrote cli-main.md." in anywhere("sessions", "export", "cli:main").out
    assert (tmp_path / "cli-main.md").read_text().startswith("# cli:main\n")
    assert anywhere("sessions", "export", "cli:main").code == 2
    assert anywhere("sessions", "export", "cli:main", "--format", "json", "-o", "it.json").code == 0
    assert len(json.loads((tmp_path / "it.json").read_text())["messages"]) == 1
    assert anywhere("sessions", "export", "cli:main", "--format", "pdf").code == 2
    assert not list(tmp_path.glob(".*partial"))
    assert anywhere("sessions", "update", made["key"], "--pin", "--archive", "--json").object["archived"] is True
    assert made["key"] not in anywhere("sessions", "list").out
    assert made["key"] in anywhere("sessions", "list", "--archived", "--json").out
    assert anywhere("sessions", "update", made["key"], "--unarchive", "--json").object["pinned"] is True
