"""D-M8: how long a chat turn takes while another user asks for what is expensive, against the same turn in peace.

Six clients of a user with 500 jobs that fire every second ask for 61 days of `list_upcoming`, again and again. The
rounds alternate, so the ratio holds for one machine and one hour. The server is a process of its own.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks._instance import say
from homing.client.problems import Problem
from homing.client.remote import Client

JOBS = 500
ATTACKERS = 6
TOKEN = "hom_of_the_benchmark_and_long_enough"


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks fairness")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--turns", type=int, default=10, help="turns per round, in peace and under attack")
    ask = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="homing-fairness-") as home, _server(home) as url:
        owner = Client(url, TOKEN)
        attacker = owner.ask("create_token", user="attacker")["token"]
        _furnish(Client(url, attacker))
        _turn(owner)
        peace, attack, asked = list[float](), list[float](), list[float]()
        for _ in range(ask.rounds):
            peace += [_turn(owner) for _ in range(ask.turns)]
            with _attack(url, attacker, asked):
                attack += [_turn(owner) for _ in range(ask.turns)]
        owner.close()
    median = statistics.median
    say(
        "turn_under_attack",
        median(attack) / median(peace),
        "x",
        peace_ms=round(median(peace)),
        attack_ms=round(median(attack)),
        worst_peace_ms=round(max(peace)),
        worst_attack_ms=round(max(attack)),
        attackers_answer_ms=round(median(asked)) if asked else None,
        attackers_answers=len(asked),
        turns=len(attack),
    )


def _turn(owner: Client) -> float:
    begun = time.perf_counter()
    answer = owner.ask("send_message", session_key="web:owner", text="help", wait=60)
    assert answer["outcome"] == "answered", answer
    return (time.perf_counter() - begun) * 1000


def _furnish(client: Client) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    client.ask("add_session", key="web:attacker")
    for n in range(JOBS):
        client.ask(
            "add_job",
            session_key="web:attacker",
            schedule={"kind": "every", "every_ms": 1000},
            starts_at=tomorrow,
            payload={"kind": "reminder", "message": f"again {n}"},
        )
    client.close()


@contextmanager
def _attack(url: str, token: str, asked: list[float]) -> Iterator[None]:
    over = threading.Event()

    def ask_on() -> None:
        client, to = Client(url, token), (datetime.now(UTC) + timedelta(days=61)).isoformat()
        while not over.is_set():
            begun = time.perf_counter()
            try:
                client.ask("list_upcoming", to=to)
                asked.append((time.perf_counter() - begun) * 1000)
            except Problem:
                # Sent away for now: that is the server's answer to such a client.
                over.wait(0.05)
        client.close()

    threads = [threading.Thread(target=ask_on) for _ in range(ATTACKERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


@contextmanager
def _server(home: str) -> Iterator[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("HOMING_")}
    env |= {"HOMING_HOME": home, "HOMING_MODEL": "offline", "HOMING_PORT": "0", "HOMING_TIMEZONE": "UTC"}
    env |= {"HOMING_TOKEN": TOKEN, "HOMING_SANDBOX": "off", "PYTHONUNBUFFERED": "1"}
    program = str(Path(sys.executable).parent / "homing")
    server = subprocess.Popen(
        [program, "up", "--no-open"], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert server.stdout
    url = ""
    for line in server.stdout:
        if "  Open " in line:
            url = line.split()[-1].partition("/sign-in")[0].rstrip("/")
        if "Next wake" in line:
            break
    try:
        yield url
    finally:
        server.send_signal(signal.SIGTERM)
        server.stdout.read()
        server.wait(30)
