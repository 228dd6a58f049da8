"""Connections leave descriptors for the rest; when these run out all the same, the log stays small and it passes."""

import asyncio
import socket
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

from soak.house import House

FEW = 64
ENOUGH = 256
BURSTS = 3


def test_a_burst_of_connections_leaves_descriptors_for_the_rest() -> None:
    with House("sqlite", descriptors=ENOUGH) as instance:
        over = threading.Event()
        most = [0]
        counting = threading.Thread(target=_count_descriptors, args=(instance.pid, over, most))
        counting.start()
        try:
            asyncio.run(_bursts(urlsplit(instance.url).port or 0))
        finally:
            over.set()
            counting.join()
        assert b"accept_failed" not in instance.log.read_bytes()
        assert ENOUGH // 2 < most[0] < ENOUGH - 32
        assert _answers(instance.url)


def _count_descriptors(pid: int, over: threading.Event, most: list[int]) -> None:
    descriptors = Path(f"/proc/{pid}/fd")
    while not over.is_set():
        most[0] = max(most[0], sum(1 for _ in descriptors.iterdir()))


async def _bursts(port: int) -> None:
    for _ in range(BURSTS):
        opening = (asyncio.open_connection("127.0.0.1", port) for _ in range(2 * ENOUGH))
        opened = await asyncio.gather(*opening, return_exceptions=True)
        for one in opened:
            if not isinstance(one, BaseException):
                one[1].close()


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
        lines = instance.log.read_bytes()[before:].count(b"accept_failed")
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
