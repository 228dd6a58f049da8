"""Whatever goes wrong: one sentence, the right exit code, no trace."""

from pathlib import Path

import pytest

from homing import __version__
from support.commands import Homing


def test_the_version_is_told(homing: Homing) -> None:
    assert homing("--version").out.strip() == __version__


@pytest.mark.parametrize("args", [(), ("cron",), ("sessions",), ("--help",), ("cron", "add", "-h"), ("up", "--help")])
def test_help_is_given_and_is_no_failure(homing: Homing, args: tuple[str, ...]) -> None:
    said = homing(*args)
    assert (said.code, said.err) == (0, "")
    assert "Usage: homing" in said.out
    # A flag takes nothing, so it has no type.
    assert "<bool>" not in said.out


def test_help_names_every_command_and_hides_the_old_names(homing: Homing) -> None:
    said = homing("cron", "--help").out
    for word in "status list add get update remove enable disable run skip undo runs why preview".split():
        assert f" {word} " in said
    assert " pause " not in said
    root = homing("--help").out
    words = "up serve work open chat send doctor mcp import export db"
    words += " cron sessions deliveries memories hooks webhooks tokens"
    for word in words.split():
        assert f" {word} " in root


def test_jobs_is_another_word_for_cron(homing: Homing) -> None:
    assert homing("jobs", "list").code == 0


def test_a_mistyped_word_gets_the_nearest_one(homing: Homing) -> None:
    said = homing("cron", "lst")
    assert said.code == 2
    assert "'list'" in said.err
    assert "'cron'" in homing("crom").err


def test_usage_problems_are_json_when_json_is_asked_for(homing: Homing) -> None:
    said = homing("cron", "list", "--json", "--bogus")
    assert (said.code, said.problem["code"], said.out) == (2, "usage", "")


def test_every_wrong_setting_is_told_at_once(homing: Homing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOMING_PORT", "x")
    monkeypatch.setenv("HOMING_MODLE", "y")
    said = homing("cron", "list")
    assert said.code == 2
    assert "HOMING_PORT" in said.err
    assert "HOMING_MODEL" in said.err


def test_a_database_of_a_newer_homing_is_refused(homing: Homing, home: Path) -> None:
    import sqlite3

    with sqlite3.connect(home / "homing.db") as database:
        database.execute("update alembic_version set version_num = '9999'")
    database.close()
    said = homing("cron", "list")
    assert said.code == 2
    assert "newer Homing" in said.err
    looked = homing("doctor", "--json")
    assert looked.code == 1
    [finding] = [one for one in looked.objects if one["what"] == "Migrations"]
    assert finding["state"] == "wrong"


def test_a_home_that_cannot_be_is_told_plainly(homing: Homing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOMING_HOME", str(tmp_path / "file" / "home"))
    said = homing("cron", "list")
    assert said.code == 1
    assert "HOMING_HOME" in said.err
    assert "Traceback" not in said.err


def test_a_database_that_is_none_is_told_plainly(homing: Homing, home: Path) -> None:
    (home / "homing.db").write_text("not a database at all" * 100)
    said = homing("cron", "list")
    assert said.code == 1
    assert "Traceback" not in said.err
    assert homing("doctor").code == 1


def test_doctor_tells_that_no_engine_runs(homing: Homing) -> None:
    said = homing("doctor")
    assert said.code == 1
    assert "homing up" in said.out


def test_serve_and_work_need_postgresql(homing: Homing) -> None:
    for word in ("serve", "work"):
        said = homing(word)
        assert said.code == 2
        assert "PostgreSQL" in said.err


def test_a_backup_makes_no_folders_and_a_folder_is_not_restored(homing: Homing, tmp_path: Path) -> None:
    said = homing("db", "backup", str(tmp_path / "nowhere" / "copy.db"))
    assert (said.code, f"The folder {tmp_path / 'nowhere'} does not exist." in said.err) == (2, True)
    assert not (tmp_path / "nowhere").exists()
    said = homing("db", "restore", str(tmp_path))
    assert (said.code, f"{tmp_path} is a folder." in said.err) == (2, True)


def test_a_backup_is_a_whole_database(homing: Homing, tmp_path: Path) -> None:
    homing("cron", "add", "every day at 9", "x", "--id", "mine")
    said = homing("db", "backup", str(tmp_path / "copy.db"))
    assert said.code == 0
    assert (tmp_path / "copy.db").stat().st_mode & 0o077 == 0
    assert homing("db", "backup", str(tmp_path / "copy.db")).code == 2


def test_the_schema_is_up_to_date(homing: Homing) -> None:
    said = homing("db", "upgrade", "--json").object
    assert said["before"] == said["after"]
