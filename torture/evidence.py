"""All that a checker may look at: the rows, by plain SQL of its own, and what the world wrote down.

Nothing of Homing is imported here: a mistake of its code must not be repeated by its judge.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

Row = dict[str, Any]

TABLES = (
    "session", "webhook", "message", "memory", "job", "run", "turn", "inbound", "step", "outbound", "delivery",
    "approval", "gate",
)  # fmt: skip
COMMANDS = "share/workspaces/*/commands.jsonl"
_JSON = {"meta", "cards", "policy", "variables", "receipt", "said"}


@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """One request that the model got; instants in microseconds."""

    number: int
    arrived_at: int
    outcome: str | None
    said: list[tuple[str, str]]
    """Role and text of each message, in order."""


@dataclass(frozen=True, kw_only=True)
class Letter:
    """One webhook that the receiver got."""

    number: int
    arrived_at: int
    outcome: str | None
    path: str
    delivery_id: str
    event: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What is known after a campaign."""

    rows: dict[str, list[Row]]
    calls: list[ModelCall]
    letters: list[Letter]
    deeds: list[Row]
    accepted: list[Row]
    seen: list[Row]
    commands: list[Row]
    """Lines that commands left in their workspaces."""
    survivors: list[Row]
    """Processes of commands that were alive when everything had stopped."""
    thaws: list[int]
    """When frozen workers came back: each may then still make the call it was about to make."""
    clock_moved: bool = False
    """The store's clock jumped: its instants then tell no order, and only numbers count."""

    def __getitem__(self, table: str) -> list[Row]:
        return self.rows[table]

    @cached_property
    def turns(self) -> dict[str, Row]:
        return {row["id"]: row for row in self["turn"]}

    @cached_property
    def sessions(self) -> dict[int, Row]:
        return {row["id"]: row for row in self["session"]}

    @cached_property
    def jobs(self) -> dict[str, Row]:
        return {row["id"]: row for row in self["job"]}

    @cached_property
    def runs(self) -> dict[str, Row]:
        return {row["id"]: row for row in self["run"]}

    @cached_property
    def messages(self) -> dict[tuple[int, int], Row]:
        return {(row["session_id"], row["seq"]): row for row in self["message"]}

    @cached_property
    def prompts(self) -> dict[str, list[Row]]:
        """Turns by what the model was shown as their opening."""
        found: dict[str, list[Row]] = {}
        for turn in self["turn"]:
            found.setdefault(turn["prompt"].strip(), []).append(turn)
        return found

    def told(self, what: str) -> list[Row]:
        """Give what the driver wrote down of one sort."""
        return [line for line in self.accepted if line["what"] == what]

    def counts(self) -> dict[str, int]:
        """Say how much there was to prove."""
        counted = {table: len(self[table]) for table in ("session", "job", "run", "turn", "step", "delivery")}
        return counted | {
            "accepted": len(self.told("message")),
            "taken_over": sum(turn["fence"] - 1 for turn in self["turn"]),
            "model_calls": len(self.calls),
            "letters": len(self.letters),
            "deeds": len(self.deeds),
            "commands": len(self.commands),
            "approvals": len(self["approval"]),
            "gates": len(self["gate"]),
            "agent_messages": sum(inbound["source"] == "agent" for inbound in self["inbound"]),
            "answered": sum(approval["answered_by"] is not None for approval in self["approval"]),
        }


def gather(url: str, folder: Path, *, clock_moved: bool = False) -> Evidence:
    """Read everything."""
    return Evidence(
        rows=read_rows(url),
        calls=list(_calls(folder / "model.jsonl")),
        letters=list(_letters(folder / "letters.jsonl")),
        deeds=list(read_lines(folder / "deeds.jsonl")),
        accepted=list(read_lines(folder / "accepted.jsonl")),
        seen=list(read_lines(folder / "seen.jsonl")),
        commands=[line for log in sorted(folder.glob(COMMANDS)) for line in read_lines(log)],
        survivors=list(read_lines(folder / "survivors.jsonl")),
        thaws=[micros(line["at"]) for line in read_lines(folder / "thaws.jsonl")],
        clock_moved=clock_moved,
    )


def read_rows(url: str) -> dict[str, list[Row]]:
    """Read whole tables."""
    if url.startswith("sqlite:///"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        connection.row_factory = sqlite3.Row
        try:
            return {t: [_plain(dict(row)) for row in connection.execute(f'select * from "{t}"')] for t in TABLES}
        finally:
            connection.close()
    import psycopg
    from psycopg.rows import dict_row

    with psycopg.connect(url) as pg, pg.cursor(row_factory=dict_row) as cursor:
        return {t: [_plain(row) for row in cursor.execute(f'select * from "{t}"'.encode())] for t in TABLES}


def read_lines(path: Path) -> Iterator[Row]:
    if path.exists():
        with path.open() as file:
            for line in file:
                yield json.loads(line)


def _plain(row: Row) -> Row:
    return {name: json.loads(v) if name in _JSON and isinstance(v, str) else v for name, v in row.items()}


def _requests(path: Path) -> Iterator[tuple[Row, str | None]]:
    """Give each arrival with how it ended."""
    ends: dict[int, str] = {}
    arrivals: list[Row] = []
    for line in read_lines(path):
        if line["event"] == "arrived":
            arrivals.append(_lean(line))
        else:
            ends[line["number"]] = line["outcome"]
    for line in arrivals:
        yield line, ends.get(line["number"])


def _lean(line: Row) -> Row:
    """Drop what nobody looks at: a long campaign's requests would not fit into memory."""
    body: Any = line.get("body") or {}
    kept = {"said": list(_said(body["messages"]))} if "messages" in body else {"event_body": body}
    names = ("number", "at", "path")
    return {**{name: line[name] for name in names}, "id": line["headers"].get("webhook-id", ""), **kept}


def _calls(path: Path) -> Iterator[ModelCall]:
    for line, outcome in _requests(path):
        yield ModelCall(
            number=line["number"], arrived_at=micros(line["at"]), outcome=outcome, said=line.get("said", [])
        )


def _letters(path: Path) -> Iterator[Letter]:
    for line, outcome in _requests(path):
        yield Letter(
            number=line["number"], arrived_at=micros(line["at"]), outcome=outcome, path=line["path"],
            delivery_id=line["id"], event=line.get("event_body", {}),
        )  # fmt: skip


def _said(messages: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for message in messages:
        content = message.get("content") or ""
        parts = content if isinstance(content, list) else [{"text": content}]
        for part in parts:
            yield message["role"], part.get("text", "")


def micros(instant: str) -> int:
    """Read an instant as the rows count it."""
    since = datetime.fromisoformat(instant) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds
