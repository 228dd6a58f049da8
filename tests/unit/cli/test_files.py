"""The files of a home: who can read them, what is put back, and one engine whatever name the database is reached by."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from homing.cli.home import only_engine, sqlite_file
from homing.cli.problems import Problem
from homing.settings import load
from support.commands import Homing
from support.kept_homes import load_home


def test_a_backup_is_restored_and_what_was_there_is_kept(homing: Homing, tmp_path: Path) -> None:
    homing("memories", "add", "It was sunny.")
    backed_up = homing("db", "backup", str(tmp_path / "copy.db"))
    assert f"homing db restore {tmp_path / 'copy.db'}" in backed_up.out
    homing("memories", "add", "It rained.")
    said = homing("db", "restore", str(tmp_path / "copy.db"))
    assert said.code == 0
    assert [memory["text"] for memory in homing("memories", "list", "--json").objects] == ["It was sunny."]
    kept = said.out.split()[-1].rstrip(".")
    assert homing("db", "restore", kept, "--json").object["database"].endswith("homing.db")
    assert len(homing("memories", "list", "--json").objects) == 2


def test_a_backup_comes_into_a_new_home(homing: Homing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    homing("memories", "add", "It was sunny.")
    homing("db", "backup", str(tmp_path / "copy.db"))
    monkeypatch.setenv("HOMING_HOME", str(tmp_path / "elsewhere"))
    assert homing("db", "restore", str(tmp_path / "copy.db"), "--json").object["kept"] is None
    assert len(homing("memories", "list", "--json").objects) == 1
    assert {path.name for path in (tmp_path).glob("copy*")} == {"copy.db"}


def test_a_backup_of_an_older_homing_is_restored_and_upgraded_with_the_next_start(
    homing: Homing, home: Path, tmp_path: Path
) -> None:
    load_home("0.1.0", f"sqlite:///{tmp_path / 'old.db'}")
    said = homing("db", "restore", str(tmp_path / "old.db"), "--json")
    assert (said.code, said.object["schema"]) == (0, "0002"), said.err
    assert homing("db", "upgrade", "--json").object["before"] == "0002"
    assert homing("memories", "list", "--json").objects


def test_the_log_of_a_database_that_cannot_be_read_is_not_played_into_its_successor(
    homing: Homing, home: Path, tmp_path: Path
) -> None:
    homing("memories", "add", "It was sunny.")
    homing("db", "backup", str(tmp_path / "copy.db"))
    database, log = home / "homing.db", home / "homing.db-wal"
    with closing(sqlite3.connect(database, isolation_level=None)) as writer:
        writer.execute("pragma wal_autocheckpoint=0")
        writer.execute("update memory set text = 'It rained.'")
        left = log.read_bytes()
    assert left
    # As after a kill -9 and a disk that lost a block.
    log.write_bytes(left)
    database.write_bytes(bytes(4096) + database.read_bytes()[4096:])
    said = homing("db", "restore", str(tmp_path / "copy.db"))
    assert said.code == 0, said.err
    assert [memory["text"] for memory in homing("memories", "list", "--json").objects] == ["It was sunny."]


def spoil(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[8192:12288] = bytes(4096)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("missing.db", "There is no file"),
        ("homing.db", "is the database itself"),
        ("words.db", "cannot be restored"),
        ("other.db", "not a Homing database"),
        ("unversioned.db", "not a Homing database"),
        ("partial.db", "not a Homing database"),
        ("future.db", "newer Homing"),
        ("damaged.db", "is damaged"),
        ("half.db", "half.db"),
    ],
)
def test_a_file_that_is_not_a_sound_homing_database_is_refused(
    homing: Homing, home: Path, file: str, words: str
) -> None:
    homing("memories", "add", "It was sunny.")
    for name in ("future.db", "unversioned.db", "partial.db", "damaged.db", "half.db"):
        homing("db", "backup", str(home / name))
    (home / "words.db").write_text("These are only words. " * 400)
    with sqlite3.connect(home / "other.db") as other:
        other.execute("create table thing (id)")
    other.close()
    with sqlite3.connect(home / "future.db") as future:
        future.execute("update alembic_version set version_num = '9999'")
    future.close()
    with sqlite3.connect(home / "unversioned.db") as unversioned:
        unversioned.execute("delete from alembic_version")
    unversioned.close()
    with sqlite3.connect(home / "partial.db") as partial:
        partial.execute("drop table delivery")
    partial.close()
    spoil(home / "damaged.db")
    (home / "half.db").write_bytes((home / "half.db").read_bytes()[: 4096 * 8])
    before = (home / "homing.db").read_bytes()
    said = homing("db", "restore", str(home / file))
    assert (said.code, words in said.err) == (2, True), said.err
    assert (home / "homing.db").read_bytes() == before
    assert not list(home.glob("*before-restore*"))


def test_on_postgresql_a_restore_names_the_right_tool(homing: Homing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOMING_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nowhere")
    said = homing("db", "restore", "copy.db")
    assert said.code == 2
    assert "pg_restore" in said.err


def test_a_damaged_database_is_told_as_one_and_names_the_way_out(homing: Homing, home: Path) -> None:
    for n in range(40):
        homing("memories", "add", f"Fact {n}: " + "a long one. " * 50)
    content = bytearray((home / "homing.db").read_bytes())
    # All but the schema's pages, which come first.
    content[4096 * 60 :] = os.urandom(len(content) - 4096 * 60)
    (home / "homing.db").write_bytes(content)
    said = homing("memories", "list")
    assert said.code == 1
    assert "damaged" in said.err
    assert "homing db restore FILE" in said.err
    assert "bug" not in said.err
    looked = homing("doctor", "--json")
    [finding] = [one for one in looked.objects if one["what"] == "Database"]
    assert finding["state"] == "wrong"
    assert "homing db restore FILE" in finding["fix"]


def test_a_home_that_others_may_enter_keeps_its_database_to_itself(
    homing: Homing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_home = tmp_path / "open"
    open_home.mkdir(mode=0o755)
    monkeypatch.setenv("HOMING_HOME", str(open_home))
    before = os.umask(0o022)
    try:
        homing("memories", "add", "x")
        modes = {path.name: path.stat().st_mode & 0o777 for path in open_home.iterdir()}
    finally:
        os.umask(before)
    assert modes["homing.db"] == 0o600
    # An older Homing left it open; it is closed by the next who uses it.
    for name in ("homing.db", "homing.db-wal"):
        (open_home / name).touch()
        (open_home / name).chmod(0o644)
    homing("memories", "list")
    assert (open_home / "homing.db").stat().st_mode & 0o777 == 0o600
    # What people made there is theirs to close; the doctor names it.
    (open_home / "homing.toml").write_text("")
    (open_home / "homing.toml").chmod(0o644)
    [finding] = [one for one in homing("doctor", "--json").objects if one["what"] == "Disk"]
    assert finding["fix"] == f"chmod 600 {open_home / 'homing.toml'}"


# Runs a backup, and looks at the folder between any two things that it does to files.
_WATCHED_BACKUP = """
import os, sys
from homing.cli.main import run

folder, modes, looking = sys.argv[1], set(), False

def look(event, args):
    global looking
    if not looking:
        looking = True
        modes.update(oct(entry.stat().st_mode & 0o777) for entry in os.scandir(folder))
        looking = False

os.umask(0o022)
sys.addaudithook(look)
code = run(["db", "backup", folder + "/copy.db"])
looking = True
print(code, *sorted(modes))
"""


def test_a_backup_follows_no_link_and_is_private_from_its_first_byte(homing: Homing, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "victim.db")
    said = homing("db", "backup", str(tmp_path / "link.db"))
    assert said.code == 2
    assert not (tmp_path / "victim.db").exists()
    folder = tmp_path / "backups"
    folder.mkdir()
    command = [sys.executable, "-c", _WATCHED_BACKUP, str(folder)]
    watched = subprocess.run(command, capture_output=True, text=True, check=True)
    assert watched.stdout.splitlines()[-1] == "0 0o600"
    assert [path.name for path in folder.iterdir()] == ["copy.db"]


def ask(url: str, path: str, home: Path, body: dict[str, object] | None = None) -> int:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {(home / 'token').read_text().strip()}"}
    request = Request(url + path, json.dumps(body).encode() if body else None, headers)
    try:
        with urlopen(request) as answer:
            return answer.status
    except HTTPError as error:
        return error.code


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_database_file_that_is_taken_away_under_a_running_server_is_noticed(
    homing: Homing, home: Path, server: str, how: str
) -> None:
    fact: dict[str, object] = {"text": "It was sunny."}
    assert ask(server, "/api/memories", home, fact) == 201
    assert ask(server, "/readyz", home) == 200
    away = home / "away.db"
    (home / "homing.db").rename(away)
    if how == "replaced":
        shutil.copy(away, home / "homing.db")
    # Nothing is accepted that would be gone after the next start.
    assert ask(server, "/api/memories", home, fact) == 503
    assert ask(server, "/api/memories", home) == 503
    assert ask(server, "/readyz", home) == 503
    [finding] = [one for one in homing("doctor", "--json").objects if one["what"] == "Server"]
    assert finding["state"] == "wrong"
    assert "removed or replaced" in finding["said"]
    if how == "removed":
        # The very same file, put back, is the database again.
        away.replace(home / "homing.db")
        assert ask(server, "/api/memories", home, fact) == 201


@contextmanager
def engine(url: str, home: Path) -> Iterator[None]:
    database = sqlite_file(load({"HOMING_HOME": str(home), "HOMING_DATABASE_URL": url, "TZ": "UTC"}))
    assert database is not None
    with only_engine(database, home):
        yield


@pytest.mark.parametrize("way", ["query", "symlink", "hard link", "lock deleted", "relative"])
def test_one_engine_whatever_name_the_database_is_reached_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    first = tmp_path / "homing.db"
    with engine(f"sqlite:///{first}", tmp_path):
        second = f"sqlite:///{first}"
        match way:
            case "query":
                second += "?timeout=5"
            case "symlink":
                (tmp_path / "elsewhere").mkdir()
                (tmp_path / "elsewhere" / "link.db").symlink_to(first)
                second = f"sqlite:///{tmp_path / 'elsewhere' / 'link.db'}"
            case "hard link":
                (tmp_path / "twin.db").hardlink_to(first)
                second = f"sqlite:///{tmp_path / 'twin.db'}"
            case "lock deleted":
                (tmp_path / "homing.db.lock").unlink()
            case _:
                monkeypatch.chdir(tmp_path)
                second = "sqlite:///homing.db"
        with pytest.raises(Problem, match="already runs"), engine(second, tmp_path):
            pass
    with engine(f"sqlite:///{first}", tmp_path):
        pass
