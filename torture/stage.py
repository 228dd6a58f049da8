"""The stage of one campaign: a database, the processes on it, and the folder in which everything leaves its traces."""

import json
import signal
import socket
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import psycopg

from homing.testing import PostgresServer
from torture.nursery import Nursery, Order
from torture.restate_server import RestateServer, find_program
from torture.sabotage import SABOTAGES, VARIABLE
from torture.sick import Panel

Kind = Literal["sqlite", "postgresql"]

TOKEN = "hom_torture_owner"
CLAIM_SECONDS = 2.0
WORKERS = 4
USERS = ("ana", "ben", "cho")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


@dataclass(kw_only=True, eq=False)
class Actor:
    """A process that is killed, frozen and started again. A sick one may differ from start to start."""

    name: str
    command: str
    may_be_sick: bool
    pid: int | None = None
    frozen: bool = False
    starts: int = 0
    restate: bool = False
    """Restate drives its lanes."""


@dataclass(kw_only=True, eq=False)
class Stage:
    """Everything that a campaign touches."""

    kind: Kind
    folder: Path
    url: str
    nursery: Nursery
    panel: Panel
    server: PostgresServer | None
    broken: str | None
    """The guard that is broken on purpose."""
    restate: RestateServer | None = None
    """Drives the lanes of some workers; it is killed too."""
    door_port: int = field(default_factory=_free_port)
    model_port: int = field(default_factory=_free_port)
    receiver_port: int = field(default_factory=_free_port)
    actors: list[Actor] = field(default_factory=list[Actor])
    crowded: bool = False
    """So much waits that nobody asks for more: what a machine cannot carry proves nothing."""

    @property
    def door(self) -> str:
        return f"http://127.0.0.1:{self.door_port}"

    @property
    def model(self) -> str:
        return f"http://127.0.0.1:{self.model_port}"

    @property
    def receiver(self) -> str:
        return f"http://127.0.0.1:{self.receiver_port}"

    def file(self, name: str) -> Path:
        return self.folder / name

    def note(self, name: str, **line: Any) -> None:
        """Write one line into one of the campaign's own logs."""
        with self.file(name).open("a") as file:
            file.write(json.dumps(line) + "\n")

    def start_extras(self) -> None:
        """Start the model and the receiver, which are never killed: they are the witnesses."""
        self._start("model", ["--port", str(self.model_port), "--log", str(self.file("model.jsonl"))], "model")
        receiver = ["--port", str(self.receiver_port), "--log", str(self.file("letters.jsonl"))]
        self._start("receiver", receiver, "receiver")

    def start(self, actor: Actor, *, sick: bool) -> None:
        """Start an actor, sick or as it is."""
        actor.starts += 1
        actor.frozen = False
        if sick and actor.may_be_sick:
            arguments = [actor.command, str(self.file("panel")), str(self.file("deeds.jsonl"))]
            actor.pid = self._start("sick", arguments, actor.name, restate=actor.restate)
            return
        options = {"up": ["--no-open"]}.get(actor.command, [])
        actor.pid = self._start("homing", [actor.command, *options], actor.name, restate=actor.restate)

    def signal(self, actor: Actor, number: signal.Signals) -> bool:
        return actor.pid is not None and self.nursery.signal(actor.pid, number)

    def alive(self, actor: Actor) -> bool:
        return actor.pid is not None and self.nursery.ended(actor.pid) is None

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """Read the database with plain SQL, as an onlooker."""
        if self.kind == "postgresql":
            with psycopg.connect(self.url, connect_timeout=5, autocommit=True) as connection:
                return connection.execute(statement.encode()).fetchall()
        with _onlooker(self.url) as lite:
            return lite.execute(statement).fetchall()

    def weaken(self) -> None:
        """Drop the index that would stop what the broken guard lets through."""
        index = SABOTAGES[self.broken].drops if self.broken else None
        if index is None:
            return
        if self.kind == "postgresql":
            with psycopg.connect(self.url, autocommit=True) as connection:
                connection.execute(f"drop index {index}".encode())
            return
        with _onlooker(self.url) as lite:
            lite.execute(f"drop index {index}")

    def _start(self, role: str, arguments: list[str], log: str, *, restate: bool = False) -> int:
        environment = self._environment()
        if restate and self.restate:
            environment |= {f"HOMING_{name.upper()}": value for name, value in self.restate.settings.items()}
        order = Order(role=role, arguments=arguments, environment=environment, log=str(self.file(f"{log}.log")))
        return self.nursery.start(order)

    def _environment(self) -> dict[str, str]:
        settings = {
            "home": self.folder, "database_url": self.url, "token": TOKEN, "port": self.door_port,
            "model": "openai-chat:stub", "timezone": "UTC", "claim_seconds": CLAIM_SECONDS, "idle_retry_ms": 200,
            "turn_seconds": 20, "delivery_attempts": 3, "max_concurrent_runs": 4, "slots": 8,
        }  # fmt: skip
        return {f"HOMING_{name.upper()}": str(value) for name, value in settings.items()} | {
            "OPENAI_BASE_URL": f"{self.model}/v1",
            "OPENAI_API_KEY": "stub",
            "NO_COLOR": "1",
            **({VARIABLE: self.broken} if self.broken else {}),
        }


@contextmanager
def set_stage(kind: Kind, folder: Path, *, broken: str | None, restate: bool = False) -> Iterator[Stage]:
    """Set a stage and clear it away; its folder stays."""
    panel = Panel(folder / "panel")
    nursery = Nursery()
    server = PostgresServer() if kind == "postgresql" else None
    url = server.fresh() if server else f"sqlite:///{folder / 'homing.db'}"
    stage = Stage(kind=kind, folder=folder, url=url, nursery=nursery, panel=panel, server=server, broken=broken)
    stage.actors.extend(_cast(kind, restate=restate))
    try:
        if restate:
            program = find_program()
            assert program, "restate-server is not installed: PYTHONPATH=tests python -m support.published_servers"
            stage.restate = RestateServer(program, folder / "restate")
            stage.restate.start()
        yield stage
    finally:
        nursery.close()
        if stage.restate:
            stage.restate.kill()
        if server:
            with suppress(Exception):
                server.stop()


def _cast(kind: Kind, *, restate: bool) -> Sequence[Actor]:
    if kind == "sqlite":
        return [Actor(name="up", command="up", may_be_sick=True)]
    # With Restate the last one stays our own: both work side by side.
    workers = [
        Actor(name=f"work-{n}", command="work", may_be_sick=n > 1, restate=restate and n < WORKERS)
        for n in range(1, WORKERS + 1)
    ]
    return [Actor(name="serve", command="serve", may_be_sick=False), *workers]


@contextmanager
def _onlooker(url: str) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=10)
    try:
        yield connection
    finally:
        connection.close()
