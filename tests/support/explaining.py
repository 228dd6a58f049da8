"""Ask a database how it finds rows, for what must not read a whole table."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import event

from homing.store import Tx


def explain(tx: Tx, work: Callable[[], Any]) -> str:
    """Give the plans of all statements that a piece of work makes, on a database that prefers indexes."""
    asked: list[tuple[str, Any]] = []

    def take(_c: Any, _cursor: Any, statement: str, params: Any, *_: Any) -> None:
        asked.append((statement, params))

    for setting in ("enable_seqscan", "enable_bitmapscan") if tx.postgres else ():
        # It reads a small table whole otherwise.
        tx.connection.exec_driver_sql(f"set local {setting} = off")
    event.listen(tx.connection, "before_cursor_execute", take)
    work()
    event.remove(tx.connection, "before_cursor_execute", take)
    word = "explain" if tx.postgres else "explain query plan"
    return "\n".join(
        str(row) for statement, params in asked for row in tx.connection.exec_driver_sql(f"{word} {statement}", params)
    )
