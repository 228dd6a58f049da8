"""A SQLite file with very many jobs, filled inside the database."""

from collections.abc import Mapping
from pathlib import Path

import sqlalchemy as sa

from benchmarks._instance import instance, stock
from homing.store import Tx
from homing.store import tables as t

# As many as one user may have.
OF_A_USER = 10_000
OF_A_SESSION = 50
SESSIONS = 500


def fill(path: Path, size: int) -> None:
    """Store jobs, ten thousand a user; the first thousand are the owner's."""
    with instance(f"sqlite:///{path}") as homing:
        stock(homing, stored=min(size, 1000), sessions=SESSIONS)
        homing.store.write_now(lambda tx: _multiply(tx, size - 1000))
        homing.store.engine.dispose()


def _multiply(tx: Tx, more: int) -> None:
    """Copy jobs inside the database: a million rows through Python would be all that is measured."""
    if more <= 0:
        return
    count = "with recursive counted(i) as (select 0 union all select i + 1 from counted where i + 1 < :more)"
    tx.run(sa.insert(t.user), [
        {"id": f"user{n}", "name": f"user{n}", "role": "user", "created_at": tx.now()}
        for n in range(more // OF_A_USER + 1)
    ])  # fmt: skip
    last = tx.rows(sa.select(sa.func.max(t.session.c.id)))[0][0]
    _copy(tx, t.session, f"{count} insert into session", more // OF_A_SESSION + 1, {
        "id": f"{last + 1} + i", "key": "'web:o' || i", "user_id": f"'user' || (i * {OF_A_SESSION} / {OF_A_USER})",
    }, f"session.id = {last}")  # fmt: skip
    _copy(tx, t.job, f"{count} insert into job", more, {
        "id": "'job_more' || i", "user_id": f"'user' || (i / {OF_A_USER})",
        "session_id": f"{last + 1} + i / {OF_A_SESSION}", "next_run_at": "next_run_at + (i % 100000) * 1000000",
        "anchor": "anchor + (i % 100000) * 1000000",
    }, "job.n = 1 + i % 1000")  # fmt: skip
    tx.run(sa.text("analyze"))


def _copy(tx: Tx, table: sa.Table, insert: str, more: int, new: Mapping[str, str], which: str) -> None:
    names = [column.name for column in table.c if column.name != "n"]
    quoted = ", ".join(f'"{name}"' for name in names)
    values = ", ".join(new.get(name, f'{table.name}."{name}"') for name in names)
    text = f"{insert} ({quoted}) select {values} from counted join {table.name} on {which}"
    tx.run(sa.text(text).bindparams(more=more))
