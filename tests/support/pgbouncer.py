"""A real PgBouncer (Debian's) before the tests' PostgreSQL."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict

from support.ports import free_port

PROGRAM = "/usr/sbin/pgbouncer"
PoolMode = Literal["transaction", "session"]


@contextmanager
def pooled(database_url: str, mode: PoolMode, *, connections: int = 4) -> Iterator[str]:
    """Run it for as long as the block lasts; give the URL of the same database through it."""
    at, port = conninfo_to_dict(database_url), free_port()
    folder = Path(tempfile.mkdtemp(prefix="homing-pgbouncer-"))
    # It refuses to run as root; the owner of PostgreSQL's socket reaches it.
    owner = pwd.getpwuid(Path(str(at["host"])).stat().st_uid).pw_name
    folder.chmod(0o755)
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n* = host={at['host']} port={at.get('port', 5432)} user={at['user']}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
        f"pool_mode = {mode}\ndefault_pool_size = {connections}\nmax_client_conn = 200\n"
    )
    command = [PROGRAM, *(["-u", owner] if os.geteuid() == 0 else []), str(settings)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, process_group=0)
    try:
        _wait(process, port, folder / "log")
        yield f"postgresql://{quote(str(at['user']))}@127.0.0.1:{port}/{at['dbname']}"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(20)
        shutil.rmtree(folder)


def _wait(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    until = time.monotonic() + 60
    while True:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        assert process.poll() is None and time.monotonic() < until, log.read_text()  # noqa: PT018
        time.sleep(0.02)
