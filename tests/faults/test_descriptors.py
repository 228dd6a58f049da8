"""When descriptors run out the log stays small, and all is well once there are some again."""

import socket
import time
from urllib.parse import urlsplit
from urllib.request import urlopen

from soak.house import House

FEW = 64


def test_running_out_of_descriptors_writes_a_line_a_second_and_passes() -> None:
    with House("sqlite", descriptors=FEW) as instance:
        at = urlsplit(instance.url)
        before = instance.log.stat().st_size
        began = time.monotonic()
        silent = [_half_a_request(at.hostname or "", at.port or 0) for _ in range(2 * FEW)]
        while b"accept_failed" not in instance.log.read_bytes():
            assert time.monotonic() - began < 30, "so many connections leave no descriptor"
            time.sleep(0.1)
        for one in silent:
            one.close()
        ends = time.monotonic() + 30
        while not _answers(instance.url):
            assert time.monotonic() < ends, instance.log.read_text()[-2000:]
        lines = instance.log.read_bytes()[before:].count(b"action=accept_failed")
        assert lines <= time.monotonic() - began + 1
        assert instance.log.stat().st_size < 20_000
        assert instance.alive


def _half_a_request(host: str, port: int) -> socket.socket:
    line = socket.create_connection((host, port))
    line.sendall(b"POST /api/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    return line


def _answers(url: str) -> bool:
    try:
        with urlopen(f"{url}/healthz", timeout=5) as response:
            return response.status == 200
    except OSError:
        return False
