"""Search over 50,000 messages, 300 automations and 200 conversations on SQLite: how long an answer takes.

A real server in a process of its own, asked over HTTP one question after another. The home is filled with words of a
small vocabulary, so that common words are in thousands of messages and rare ones in a few.
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request, urlopen

from benchmarks._crowd import TOKEN, fill
from benchmarks._instance import say
from benchmarks.page import running_server
from homing.engine.indexer import Indexer
from homing.settings import load
from homing.wiring import wire

MOST_MS = 100
QUESTIONS = {
    "in every second message": "apples",
    "one word begun": "app",
    "four words": "apples cost day 77",
    "one message": "answer 4321 ",
    "nowhere": "xylophone",
    "one letter": "a",
    "a name": "watch number 77",
}


def main(argv: list[str]) -> None:
    """Print the median and the slowest answer to each kind of question."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks search")
    parser.add_argument("--messages", type=int, default=50_000)
    parser.add_argument("--automations", type=int, default=300)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--times", type=int, default=20)
    ask = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="homing-search-") as folder:
        home = Path(folder) / "home"
        fill(home, messages=ask.messages, automations=ask.automations, sessions=ask.sessions, ran=0, deliveries=0)
        begun = time.perf_counter()
        asyncio.run(_index(home))
        took = time.perf_counter() - begun
        say("search_index", ask.messages / took, "messages/s", seconds=round(took, 1), messages=ask.messages)
        with running_server(home) as url:
            _ask(url, "")  # A page has asked for other things before anybody searches.
            for kind, words in QUESTIONS.items():
                times = sorted(_ask(url, words) for _ in range(ask.times))
                say("search_answer_max", times[-1], "ms", question=kind, words=words, limit_ms=MOST_MS,
                    median=round(statistics.median(times), 1), load=round(os.getloadavg()[0], 1))  # fmt: skip


async def _index(home: Path) -> None:
    homing = wire(load({"HOMING_HOME": str(home), "HOMING_MODEL": "offline"}))
    indexer = Indexer(homing.store)
    while await indexer.step():
        pass
    await homing.store.close()


def _ask(url: str, words: str) -> float:
    request = Request(f"{url}/api/search?limit=20&q={quote(words)}", headers={"Authorization": f"Bearer {TOKEN}"})
    begun = time.perf_counter()
    with urlopen(request, timeout=60) as answer:
        answer.read()
    return (time.perf_counter() - begun) * 1000
