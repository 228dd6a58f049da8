"""DBOS queues as a peer: a no-op workflow of one step, enqueued beforehand, worked off by several processes.

Workflows wait in a queue that nobody listens to; one update lets them all go at once, when every worker is up. The
queue has no partitions: DBOS keeps no order here, which is its faster way. Without a limit a worker, the first to look
would take everything; limit and polling are the best of four that were tried; the default of one look a second was
slower.
"""

import time
from typing import Any

import psycopg
from dbos import DBOS, DBOSClient, DBOSConfig

from benchmarks._crew import Crew, ready

QUEUE = "bench"
HELD = "held"
AT_ONCE = 100
POLLING_SECONDS = 0.05


@DBOS.step()
def step() -> str:
    """Be the one call of a turn."""
    return "done"


@DBOS.workflow()
def turn(n: int) -> str:
    """Be a turn."""
    return step()


def work(url: str) -> None:
    """Work as one process until killed."""
    _launch(url)
    DBOS.register_queue(QUEUE, worker_concurrency=AT_ONCE, polling_interval_sec=POLLING_SECONDS)
    ready()
    # Queues are looked for once a second.
    while True:
        time.sleep(60)


def measure(url: str, turns: int, workers: int) -> float:
    """Return the seconds from letting the workflows go until all of them have succeeded on record."""
    _launch(url)
    DBOS.destroy()
    client = DBOSClient(system_database_url=url)
    for n in range(turns):
        client.enqueue({"queue_name": HELD, "workflow_name": turn.__qualname__}, n)
    client.destroy()
    with (
        Crew("turns", ["--work", "dbos", "--url", url], workers),
        psycopg.connect(url, autocommit=True) as connection,
    ):
        # Each worker notices a queue within a second of its start.
        time.sleep(1.5)
        connection.execute("update dbos.workflow_status set queue_name = %s where queue_name = %s", (QUEUE, HELD))
        begun = time.perf_counter()
        while _left(connection):
            time.sleep(0.02)
        return time.perf_counter() - begun


def _launch(url: str) -> None:
    config: DBOSConfig = {
        "name": "bench",
        "system_database_url": url,
        "application_version": "1",
        "log_level": "ERROR",
    }
    DBOS(config=config)
    DBOS.launch()


def _left(connection: psycopg.Connection[Any]) -> bool:
    left = "select 1 from dbos.workflow_status where queue_name = %s and status <> 'SUCCESS' limit 1"
    return connection.execute(left, (QUEUE,)).fetchone() is not None
