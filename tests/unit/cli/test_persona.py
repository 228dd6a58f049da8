"""`homing import FOLDER`: a persona in files becomes an agent."""

import os
from pathlib import Path

import pytest

from support.commands import Homing

FILES = {
    "SOUL.md": "You are Nori, a calm gardener.\n",
    "AGENTS.md": "Answer in two sentences.\r\nAsk before you water.\n",
    "USER.md": "\ufeffAnna grows roses.\n",
    "HEARTBEAT.md": "# Every morning\n- look at the weather\n",
}
INSTRUCTIONS = (
    "# Who you are\n\nYou are Nori, a calm gardener.\n\n"
    "# How you work\n\nAnswer in two sentences.\nAsk before you water.\n\n"
    "# About the user\n\nAnna grows roses."
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "Nori the Gardener"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8", newline="")
    (folder / "TOOLS.md").write_text("not ours", "utf-8")
    (folder / "memory").mkdir()
    return folder


def test_a_dry_run_shows_what_a_persona_becomes_and_changes_nothing(homing: Homing, folder: Path) -> None:
    said = homing("import", str(folder))
    assert said.code == 0
    for word in (
        "SOUL.md",
        "Who you are",
        "Checklist",
        "Ignored: TOOLS.md, memory.",
        "nori-the-gardener would be made",
    ):
        assert word in said.out
    assert "add --apply" in said.out
    assert [one["id"] for one in homing("agents", "list", "--json").objects] == ["main"]


def test_a_persona_becomes_an_agent_and_a_second_import_changes_the_same_one(homing: Homing, folder: Path) -> None:
    said = homing("import", str(folder), "--apply", "--json").object
    assert (said["agent_id"], said["action"], said["applied"]) == ("nori-the-gardener", "add", True)
    agent = homing("agents", "get", "nori", "--json").object
    assert (agent["name"], agent["instructions"]) == ("Nori the Gardener", INSTRUCTIONS)
    assert agent["heartbeat"]["checklist"] == "# Every morning\n- look at the weather"
    assert homing("import", str(folder), "--json").object["action"] == "none"
    assert "already as these files say" in homing("import", str(folder), "--apply").out
    homing("agents", "update", "nori", "--name", "Nori", "--host", "example.org")
    (folder / "SOUL.md").write_text("You are Nori, a hasty gardener.\n", "utf-8")
    (folder / "HEARTBEAT.md").write_text("# Nothing\n<!-- - look\nat it -->\n", "utf-8")
    assert "would change (revision 2)" in homing("import", str(folder)).out
    assert homing("import", str(folder), "--apply").out.strip().endswith("homing chat --agent nori-the-gardener")
    again = homing("agents", "get", "nori", "--json").object
    assert "hasty" in again["instructions"]
    assert (again["name"], again["hosts"], again["heartbeat"]["checklist"]) == ("Nori", ["example.org"], None)


def test_a_persona_can_be_given_to_an_agent_by_name(homing: Homing, folder: Path) -> None:
    homing("import", str(folder), "--agent", "main", "--apply")
    assert homing("agents", "get", "main", "--json").object["instructions"] == INSTRUCTIONS
    said = homing("import", str(folder), "--agent", "Not An Id", "--apply")
    assert (said.code, "small letters" in said.err) == (2, True)


def test_a_dry_run_refuses_what_apply_would_refuse(
    homing: Homing, server: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = homing("import", str(folder), "--agent", "Not An Id")
    assert (said.code, "small letters, digits and -" in said.err) == (2, True)
    token = homing("tokens", "create", "--user", "anna", "--role", "user", "--json").object["token"]
    monkeypatch.setenv("HOMING_TOKEN", token)
    said = homing("import", str(folder))
    assert (said.code, said.err.splitlines()[0]) == (2, "Only an admin may make or change agents.")


def test_some_files_are_enough(homing: Homing, folder: Path) -> None:
    for name in ("SOUL.md", "USER.md", "HEARTBEAT.md"):
        (folder / name).unlink()
    said = homing("import", str(folder), "--json").object
    assert said["instructions"] == "# How you work\n\nAnswer in two sentences.\nAsk before you water."
    assert said["heartbeat"] == {"checklist": None}


def _empty(folder: Path) -> None:
    for name in FILES:
        (folder / name).write_text("\n", "utf-8")


def _latin(folder: Path) -> None:
    (folder / "SOUL.md").write_bytes("Größe".encode("latin-1"))


def _huge(folder: Path) -> None:
    (folder / "SOUL.md").write_text("x" * 200_000, "utf-8")


def _long(folder: Path) -> None:
    (folder / "SOUL.md").write_text("x" * 32_768, "utf-8")


def _link(folder: Path) -> None:
    (folder / "SOUL.md").unlink()
    (folder / "SOUL.md").symlink_to("/etc/hostname")


def _pipe(folder: Path) -> None:
    (folder / "SOUL.md").unlink()
    os.mkfifo(folder / "SOUL.md")


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (_empty, "holds no persona"),
        (_latin, "SOUL.md is not UTF-8 text"),
        (_huge, "is larger than 131,072 bytes"),
        (_long, "instructions have at most 32,768"),
        (_link, "links are not followed"),
        (_pipe, "is not a regular file"),
    ],
)
def test_a_folder_that_cannot_be_read_says_why_and_changes_nothing(
    homing: Homing, folder: Path, spoil: "object", sentence: str
) -> None:
    assert callable(spoil)
    spoil(folder)
    said = homing("import", str(folder), "--apply")
    assert said.code == 2
    assert sentence in said.err
    assert len(homing("agents", "list", "--json").objects) == 1


def test_an_agent_is_named_for_a_folder_only(homing: Homing, tmp_path: Path) -> None:
    file = tmp_path / "jobs.json"
    file.write_text("[]", "utf-8")
    said = homing("import", str(file), "--agent", "x")
    assert (said.code, "not a folder" in said.err) == (2, True)
