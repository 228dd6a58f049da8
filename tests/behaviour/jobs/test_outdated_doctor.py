"""Rule 62 at the command line: `homing doctor` says which process is older than the database, and what to do."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from homing.cli.main import run
from homing.engine.scheduler import Scheduler
from homing.engine.sweeper import Sweeper
from homing.model.clock import SystemClock
from homing.store import Store, schema
from support.commands import Said
from support.worlds import make_instance

Doctor = Callable[[], list[tuple[str, str, str, str | None]]]


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """The database as a worker sees it, by the machine's own clock, as doctor does."""
    store = Store(database, SystemClock())
    yield store
    store.engine.dispose()


@pytest.fixture
def doctor(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Doctor:
    """Give what doctor finds about the database and its engines."""
    monkeypatch.setenv("HOMING_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOMING_DATABASE_URL", database)

    def look() -> list[tuple[str, str, str, str | None]]:
        capsys.readouterr()
        said = Said(code=run(("doctor", "--json")), out=capsys.readouterr().out, err="")
        found = [one for one in said.objects if one["what"] in ("Migrations", "Engine")]
        assert (said.code, any(one["state"] == "wrong" for one in said.objects)) in ((1, True), (0, False))
        return [(one["what"], one["state"], one["said"], one["fix"]) for one in found]

    return look


def set_schema(store: Store, version: str) -> None:
    store.write_now(lambda tx: tx.run(sa.text(f"update alembic_version set version_num = '{version}'")))


def beat(store: Store) -> None:
    instance = make_instance()
    scheduler = Scheduler(store, instance, SystemClock())
    asyncio.run(Sweeper(store, instance, SystemClock(), "worker_1", "here:1", scheduler).beat())


def test_doctor_of_an_older_homing_says_that_it_is_too_old(store: Store, doctor: Doctor) -> None:
    known = schema.current(store)[1]
    set_schema(store, "9999")
    assert doctor() == [
        (
            "Migrations",
            "wrong",
            f"schema 9999 was made by a newer Homing; this one knows {known}.",
            "Install the newer Homing, or go back to a backup.",
        )
    ]


def test_doctor_of_the_newest_homing_names_an_engine_that_is_too_old(store: Store, doctor: Doctor) -> None:
    known = schema.current(store)[1]
    # To the process, another has upgraded its database; to doctor, the version is the one it knows.
    set_schema(store, "9999")
    beat(store)
    set_schema(store, known)
    migrations, *engines = doctor()
    assert migrations == ("Migrations", "ok", f"schema {known}, the newest", None)
    assert engines == [
        (
            "Engine",
            "wrong",
            "An engine runs, but it is too old for this database: nothing fires.",
            "Upgrade and restart it.",
        ),
        (
            "Engine",
            "wrong",
            "here:1: the database has schema 9999, made by a newer Homing; it takes no new work.",
            "Upgrade and restart it if it is too old; check the clock and its NTP if that leapt.",
        ),
    ]
    # Once it was upgraded and has beaten again, doctor is content.
    beat(store)
    [_, (what, state, _, fix)] = doctor()
    assert (what, state, fix) == ("Engine", "ok", None)
