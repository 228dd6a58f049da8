"""A home of every released version goes through every migration, and keeps each of its rows."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from homing.model.clock import SystemClock
from homing.store import Store, schema
from homing.store import tables as t
from homing.testing import PostgresServer
from store.test_schema import is_compared
from support.kept_homes import VERSIONS, load_home

Rows = dict[str, list[dict[str, Any]]]
MAINS_TOOLS = ["forget", "recall", "remember", "schedule_task"]


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'homing.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    url = server.fresh()
    yield url
    server.drop(url)


def rows_of(store: Store) -> Rows:
    """Read every row of every table that the program knows, by the columns that are there."""
    with store.engine.connect() as connection:
        there = sa.inspect(connection)
        return {
            name: sorted(
                (dict(row._mapping) for row in connection.execute(sa.text(f'select * from "{name}"'))), key=str
            )
            for name in t.metadata.tables
            if there.has_table(name)
        }


@pytest.mark.parametrize("version", VERSIONS)
def test_a_kept_home_upgrades_without_losing_a_row_or_a_value(empty: str, version: str) -> None:
    load_home(version, empty)
    store = Store(empty, SystemClock(), fsync=False)
    before = rows_of(store)
    assert before["turn"]
    assert before["delivery"]
    schema.upgrade(store)
    after = rows_of(store)
    [(was, now)] = zip(before["agent"], after["agent"], strict=True)
    # Rule 40: the tools that every 0.1.0 home names become the defaults of the running version.
    assert sorted(was["tools"] if isinstance(was["tools"], list) else json.loads(was["tools"])) == MAINS_TOOLS
    assert now["tools"] is None
    was["tools"] = now["tools"]
    for name, rows in before.items():
        columns = rows[0].keys() if rows else ()
        assert sorted(({c: row[c] for c in columns} for row in after[name]), key=str) == sorted(rows, key=str), name
    calls = [step for step in after["step"] if step["kind"] in ("model", "summary") and step["state"] == "done"]
    for column in ("input_tokens", "output_tokens"):
        assert sum(row[column] for row in after["usage_sum"]) == sum(step[column] for step in calls)
    assert sum(row["turns"] for row in after["usage_sum"]) == len({step["turn_id"] for step in calls}) > 0
    assert sum(row["unpriced_calls"] for row in after["usage_sum"]) == len(calls)
    # Nothing that was there before counts as unread.
    assert all(row["read_seq"] == row["seq"] for row in after["session"])
    assert not any(row["unasked"] for row in after["message"])
    # What it cost then cannot be known any more.
    assert {row["cost_nano_usd"] for name in ("step", "turn", "run") for row in after[name]} == {None}
    store.engine.dispose()


def test_what_no_person_made_0_1_0_remember_is_unconfirmed_after_the_upgrade(empty: str) -> None:
    load_home("0.1.0", empty)
    store = Store(empty, SystemClock(), fsync=False)
    with store.engine.begin() as connection:
        connection.execute(
            sa.text(
                "insert into step (turn_id, n, kind, name, key, state, failed, result, input_tokens, output_tokens,"
                " begun_at, done_at) select id, 900, 'tool', 'remember', 'c900', 'done', false,"
                " 'Remembered: 我喜欢苹果 (see (mem_other)) (' || (select id from memory where text = '我喜欢苹果')"
                " || ')', 0, 0, opened_at, opened_at from turn where source = 'hook' limit 1"
            )
        )
    schema.upgrade(store)
    kept = {row["text"]: (bool(row["confirmed"]), row["source"]) for row in rows_of(store)["memory"]}
    assert kept == {
        "The user likes apples": (True, None),
        "Ana plays chess": (True, None),
        "我喜欢苹果": (False, "a turn that no person opened, before the upgrade"),
    }
    store.engine.dispose()


def test_after_the_upgrade_an_agents_automation_of_a_conversation_with_outside_content_is_marked(empty: str) -> None:
    """Rule 41; one whose conversation is not there any more counts as such."""
    load_home("0.1.0", empty)
    store = Store(empty, SystemClock(), fsync=False)
    with store.engine.begin() as connection:
        jobs = connection.execute(sa.text("select id from job order by n")).scalars().all()
        turn = connection.execute(
            sa.text(
                "select id from turn where not exists (select 1 from message where message.lane_id = turn.lane_id"
                " and message.kind in ('note', 'report')) limit 1"
            )
        ).scalar_one()
        connection.execute(sa.text("update job set origin_door = 'api', origin_turn_id = null"))
        for job, writer in zip(jobs, ("turn_gone", turn), strict=False):
            connection.execute(
                sa.text("update job set origin_door = 'tool', origin_turn_id = :writer where id = :job"),
                {"job": job, "writer": writer},
            )
        connection.execute(
            sa.text(
                "insert into step (turn_id, n, kind, name, key, state, failed, result, input_tokens, output_tokens,"
                " begun_at, done_at) select id, 901, 'tool', 'look', 'c901', 'done', false, '[data 0 from a page]',"
                " 0, 0, opened_at, opened_at from turn where source = 'hook' limit 1"
            )
        )
    schema.upgrade(store)
    after = rows_of(store)
    assert {row["id"] for row in after["job"] if row["outside"]} == {jobs[0]}
    assert [row["source"] for row in after["turn"] if row["outside"] == "the tool look"] == ["hook"]
    store.engine.dispose()


@pytest.mark.parametrize("version", VERSIONS)
def test_an_upgraded_home_has_the_schema_of_a_new_one(empty: str, version: str) -> None:
    load_home(version, empty)
    store = Store(empty, SystemClock(), fsync=False)
    schema.upgrade(store)
    with store.engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True, "include_object": is_compared}
        )
        assert compare_metadata(context, t.metadata) == []
        if not store.postgres:
            assert connection.exec_driver_sql("pragma foreign_keys").scalar() == 1
            assert connection.exec_driver_sql("pragma integrity_check").all() == [("ok",)]
    store.engine.dispose()
