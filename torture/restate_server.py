"""A real Restate server on loopback, to be killed and started again; it keeps what it stored."""

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx2

_PUBLISHED = Path(__file__).resolve().parents[1] / ".cache/mcp-servers"
_PROGRAM = "node_modules/@restatedev/restate-server-*/bin/restate-server"
_STARTS_WITHIN = 60.0


def find_program() -> Path | None:
    """Find the server: the one that `make test-servers` installs from npm, else one on the path."""
    found = sorted(_PUBLISHED.glob(f"*/{_PROGRAM}"), key=lambda path: path.stat().st_mtime)
    if found:
        return found[-1]
    there = shutil.which("restate-server")
    return Path(there) if there else None


class RestateServer:
    """One node; its log is in the folder."""

    def __init__(self, program: Path, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        # Not in the folder: it holds Unix sockets, whose paths must be short.
        self._data = Path(tempfile.mkdtemp(prefix="restate-"))
        atexit.register(shutil.rmtree, self._data, ignore_errors=True)
        ingress, admin, node, self.worker_port = _free_ports(4)
        self.url = f"http://127.0.0.1:{ingress}"
        self.admin_url = f"http://127.0.0.1:{admin}"
        self._environment = {
            "RESTATE_BIND_ADDRESS": f"127.0.0.1:{node}",
            "RESTATE_ADVERTISED_ADDRESS": f"http://127.0.0.1:{node}",
            "RESTATE_INGRESS__BIND_ADDRESS": f"127.0.0.1:{ingress}",
            "RESTATE_ADMIN__BIND_ADDRESS": f"127.0.0.1:{admin}",
            "RESTATE_DISABLE_TELEMETRY": "true",
            "RESTATE_LOG_FILTER": "warn",
            # A worker that stands still without closing its connection is noticed by this.
            "RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE__INTERVAL": "1s",
            "RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE__TIMEOUT": "2s",
            # One machine, little data: not a memory's worth of caches.
            "RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE": "128MB",
            "RESTATE_DEFAULT_NUM_PARTITIONS": "4",
        }

    @property
    def settings(self) -> dict[str, str]:
        """How a worker finds it, by the names of settings."""
        return {
            "engine": "restate",
            "restate_url": self.url,
            "restate_admin_url": self.admin_url,
            "restate_listen": f"127.0.0.1:{self.worker_port}",
        }

    def start(self) -> None:
        """Start it, and wait until it takes calls."""
        with (self._folder / "restate.log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._program, "--base-dir", str(self._data), "--node-name", "n1"],
                env={"PATH": os.environ["PATH"], **self._environment},
                stdout=log,
                stderr=log,
                process_group=0,
            )
        until = time.monotonic() + _STARTS_WITHIN
        while not self.answers():
            assert time.monotonic() < until, "restate-server does not answer; see restate.log"
            assert self._process.poll() is None, "restate-server ended; see restate.log"
            time.sleep(0.05)

    def answers(self) -> bool:
        with suppress(httpx2.HTTPError):
            looks = (f"{self.admin_url}/health", f"{self.url}/restate/health")
            return all(httpx2.get(look, timeout=5, trust_env=False).is_success for look in looks)
        return False

    def kill(self) -> None:
        """Let it die on the spot."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(20)
            self._process = None

    def forget(self) -> None:
        """Lose everything that it stored; it must not run."""
        shutil.rmtree(self._data)

    def query(self, sql: str) -> list[dict[str, object]]:
        """Ask its own tables."""
        answer = httpx2.post(
            f"{self.admin_url}/query", json={"query": sql}, headers={"accept": "application/json"}, trust_env=False
        )
        answer.raise_for_status()
        return answer.json()["rows"]


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        probes = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [probe.getsockname()[1] for probe in probes]
