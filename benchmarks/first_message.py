"""F14: the first message after `homing up` until the model's server is asked; the model's library is a large one."""

import argparse
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks._instance import say
from homing.client import Client

WAIT = 60.0


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks first_message")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--after", type=float, default=2.0, help="seconds from the printed link to the message")
    ask = parser.parse_args(argv)
    taken = [_first(ask.after) for _ in range(ask.repeat)]
    more = {"repeat": ask.repeat, "after_s": ask.after, "load": round(os.getloadavg()[0], 1)}
    say("first_message_to_model", statistics.median(taken), "ms", best_ms=round(min(taken), 1), **more)


def _first(after: float) -> float:
    """Start a server, wait as a person does who opens the page, say something, and see when the model is asked."""
    program = str(Path(sys.executable).parent / "homing")
    with tempfile.TemporaryDirectory(prefix="homing-first-") as home, socket.create_server(("127.0.0.1", 0)) as model:
        model.settimeout(WAIT)
        base = f"http://127.0.0.1:{model.getsockname()[1]}/v1"
        env = {name: value for name, value in os.environ.items() if not name.startswith("HOMING_")}
        env |= {"HOMING_HOME": home, "HOMING_MODEL": "openai-chat:stub", "HOMING_PORT": "0"}
        env |= {"OPENAI_BASE_URL": base, "OPENAI_API_KEY": "unused"}
        server = subprocess.Popen([program, "up", "--no-open"], env=env, stdout=subprocess.PIPE, text=True)
        assert server.stdout
        try:
            url = next(line.split()[1] for line in server.stdout if line.startswith("  Open "))
            time.sleep(after)
            with Client(url, (Path(home) / "token").read_text().strip()) as client:
                client.ask("add_session", key="cli:main")
                begun = time.perf_counter()
                client.ask("send_message", session_key="cli:main", text="hello")
                connection, _ = model.accept()
                taken = (time.perf_counter() - begun) * 1000
            connection.close()
        finally:
            server.send_signal(signal.SIGKILL)
            server.wait()
            server.stdout.close()
    return taken
