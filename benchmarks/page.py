"""The page over 5,000 messages and 2,000 automations: what each request costs, and whether anything stutters; SQLite.

A real server in a process of its own, Debian's chromium before it. A request's wall time suffers with a busy machine;
`cpu_ms`, what the server's process worked while it had the request, says what the request itself costs, and
`against_ms` what the browser sees of the same page over a home with next to nothing in it, minutes before.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from urllib.request import urlopen

from playwright.sync_api import BrowserContext, CDPSession, Page, expect, sync_playwright
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from benchmarks._crowd import KEY, TOKEN, Crowd, fill
from benchmarks._instance import say

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
MOST_MS = 300
# Frames and long tasks are counted from the very beginning, before the page's own script runs.
WATCH = """
performance.setResourceTimingBufferSize(5000);
window.__tasks = [];
new PerformanceObserver((list) => { for (const one of list.getEntries()) window.__tasks.push(one.duration); })
  .observe({ type: "longtask", buffered: true });
window.__frames = [];
let last = 0;
const tick = (now) => { if (last) window.__frames.push(now - last); last = now; requestAnimationFrame(tick); };
requestAnimationFrame(tick);
"""
SEEN = """() => performance.getEntriesByType("resource")
  .filter((one) => one.name.includes("/api/") && !one.name.includes("/api/events"))
  .map((one) => [new URL(one.name).pathname, one.responseEnd - one.requestStart])"""
IDS = re.compile(r"job_\w+|web:\w+")


def main(argv: list[str]) -> None:
    """Print the slowest of each path, by the browser's clock and by the server's, and what the page itself took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks page")
    parser.add_argument("--messages", type=int, default=5000)
    parser.add_argument("--automations", type=int, default=2000)
    parser.add_argument("--ran", type=int, default=400, help="so many of them have thirty runs each")
    parser.add_argument("--sessions", type=int, default=40)
    parser.add_argument("--clicks", action="store_true", help="only click from place to place")
    parser.add_argument("--rounds", type=int, default=2, help="the first is cold; all count")
    parser.add_argument("--serve", help="serve this home (the measurement calls itself so)")
    ask = parser.parse_args(argv)
    if ask.serve:
        asyncio.run(_serve(Path(ask.serve)))
        return
    with tempfile.TemporaryDirectory(prefix="homing-page-") as folder:
        if ask.clicks:
            home = Path(folder) / "home"
            fill(home, messages=ask.messages, automations=ask.automations, ran=ask.ran, sessions=ask.sessions)
            with running_server(home) as url:
                _click_through(url, ask.rounds, _record(home))
            return
        home, bare = Path(folder) / "crowd" / "home", Path(folder) / "bare" / "home"
        small = fill(bare, messages=60, automations=20, ran=10, deliveries=20)
        with running_server(bare) as url:
            against = _visit(url, small, ask.rounds, acting=False)
        begun = time.perf_counter()
        crowd = fill(home, messages=ask.messages, automations=ask.automations, ran=ask.ran)
        sizes = {name: size for name, size in asdict(crowd).items() if name != "now"}
        say("page_fill", time.perf_counter() - begun, "s", **sizes)
        with running_server(home) as url:
            seen = _visit(url, crowd, ask.rounds)
        _tell(seen, [json.loads(line) for line in _record(home).read_text().splitlines()], _by_path(against))


def _by_path(seen: list[tuple[str, float]]) -> dict[str, list[float]]:
    by_path: dict[str, list[float]] = {}
    for path, ms in seen:
        by_path.setdefault(IDS.sub("*", unquote(path)), []).append(ms)
    return by_path


def _tell(seen: list[tuple[str, float]], served: list[dict[str, Any]], against: dict[str, list[float]]) -> None:
    by_path = _by_path(seen)
    work: dict[str, list[dict[str, Any]]] = {}
    for one in served:
        work.setdefault(IDS.sub("*", one["path"]), []).append(one)
    for path, times in sorted(by_path.items(), key=lambda one: -max(one[1])):
        own = work.get(path, [])
        say(
            "page_request_max", max(times), "ms", path=path, requests=len(times),
            median=round(statistics.median(times)), against_ms=round(max(against.get(path, [0]))),
            server_ms=max((one["ms"] for one in own), default=0), cpu_ms=max((one["cpu_ms"] for one in own), default=0),
            cpu_median=round(statistics.median([one["cpu_ms"] for one in own]), 1) if own else 0,
        )  # fmt: skip
    say("page_requests_over", sum(ms > MOST_MS for _, ms in seen), "requests", limit_ms=MOST_MS, of=len(seen),
        cpu_over=sum(one["cpu_ms"] > MOST_MS for one in served), load=round(os.getloadavg()[0], 1))  # fmt: skip


def _visit(url: str, crowd: Crowd, rounds: int, *, acting: bool = True) -> list[tuple[str, float]]:
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("The page is measured with Debian's chromium: apt-get install chromium")
    seen: list[tuple[str, float]] = []
    expect.set_options(timeout=60_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        context = browser.new_context(viewport={"width": 1280, "height": 800}, timezone_id="Europe/Berlin")
        context.add_init_script(WATCH)
        _sign_in(context, url)
        for _ in range(rounds):
            for name, path, act in _acts(crowd):
                page = context.new_page()
                page.goto(url + path)
                expect(page.get_by_role("heading", level=1)).to_be_visible()
                expect(page.locator(".skeleton, main [aria-busy=true]")).to_have_count(0)
                opened = _reset(page)
                if acting:
                    say("page_open_longest_task", max(opened["tasks"], default=0), "ms", page=name)
                if acting and act:
                    act(page, crowd)
                    _tell_acting(name, _reset(page), page)
                seen += [(where, ms) for where, ms in page.evaluate(SEEN)]
                page.close()
        browser.close()
    return seen


def _sign_in(context: BrowserContext, url: str) -> None:
    """Sign in as the page does: the cookie is the browser's, the key the page's."""
    answer = context.request.post(f"{url}/api/auth/sign-in", data={"token": TOKEN}, headers={"Origin": url})
    key = answer.json()["key"]
    context.add_init_script(f"try {{ localStorage.setItem('homing.key', '{key}') }} catch {{}}")


CLICKS = ("Automations", "Week", "Agents", "Inbox", "Deliveries", "Settings", "Chat")
# Between clicks, so that one is not charged with what the one before still loads.
_REST_MS = 500
# Clicks inside a place: what is clicked is the first of its kind there.
INSIDE = (
    ("an automation", "Automations", "main a[href^='/automations/job_']"),
    ("a run", "Week", "main td a[href^='/runs/']"),
    ("a conversation", "Chat", "aside a[href*='beside']"),
    ("the long conversation", "Chat", "aside a[href$='long']"),
)
# From the click to the frame in which the page is settled: its heading there, nothing of it still loading.
SETTLED = """(link) => new Promise((settled) => {
  const begun = performance.now();
  link.click();
  const look = () => document.querySelector("main h1") &&
    !document.querySelector("main .skeleton, main [aria-busy=true]") ? settled(performance.now() - begun)
    : requestAnimationFrame(look);
  requestAnimationFrame(() => requestAnimationFrame(look));
})"""


def _click_through(url: str, rounds: int, record: Path) -> None:
    """Click from place to place, and into what is there; the first round is cold."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        context = browser.new_context(viewport={"width": 1280, "height": 800}, timezone_id="Europe/Berlin")
        _sign_in(context, url)
        page = context.new_page()
        # The other pages' files are fetched once this one is idle.
        with page.expect_request(re.compile(r"/assets/DeliveriesPage-")):
            page.goto(f"{url}/chat/{KEY}")
        devtools = context.new_cdp_session(page)
        devtools.send("Performance.enable")
        for turn in range(rounds + 1):
            for name in CLICKS:
                _click(page, devtools, record, f"nav a:has-text('{name}')", to=name, round=turn)
            for name, place, inside in INSIDE:
                page.locator(f"nav a:has-text('{place}')").first.click()
                page.locator(inside).first.wait_for()
                _click(page, devtools, record, inside, to=name, round=turn)
        browser.close()


def _click(page: Page, devtools: CDPSession, record: Path, link: str, **named: Any) -> None:
    """Click once. What browser and server worked for it says what it takes where nobody else works."""
    page.wait_for_timeout(_REST_MS)
    worked, served = _worked(devtools), len(_served(record))
    ms = page.locator(link).first.evaluate(SETTLED)
    browser_ms = _worked(devtools) - worked
    asked = _served(record)[served:]
    say(
        "page_click", ms, "ms", **named, limit_ms=MOST_MS, browser_cpu_ms=round(browser_ms), requests=len(asked),
        server_cpu_ms=round(max((one["cpu_ms"] for one in asked), default=0)), load=round(os.getloadavg()[0], 1),
    )  # fmt: skip


def _worked(devtools: CDPSession) -> float:
    """How long the page's own thread has worked, in milliseconds."""
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    return next(one["value"] for one in metrics if one["name"] == "ThreadTime") * 1000


def _served(record: Path) -> list[dict[str, Any]]:
    return [one for one in map(json.loads, record.read_text().splitlines()) if one["path"].startswith("/api/")]


def _acts(crowd: Crowd) -> list[tuple[str, str, Any]]:
    return [
        ("chat", f"/chat/{KEY}", _read_back),
        ("composer", f"/chat/{KEY}", _type),
        ("link", f"/chat/{KEY}?at=40", _wait_for_link),
        ("automations", "/automations", _scroll_list),
        ("search", "/automations", _search),
        ("automation", "/automations/job_crowd00007", None),
        ("week", f"/week?week={crowd.now.date() - timedelta(days=crowd.now.weekday() + 7)}", _settle),
        ("deliveries", "/deliveries", None),
        ("settings", "/settings", None),
    ]


def _reset(page: Page) -> dict[str, list[float]]:
    return page.evaluate(
        "() => { const had = {tasks: window.__tasks, frames: window.__frames};"
        " window.__tasks = []; window.__frames = []; return had; }"
    )


def _tell_acting(name: str, had: dict[str, list[float]], page: Page) -> None:
    frames = sorted(had["frames"]) or [0.0]
    say(
        "page_act_longest_task", max(had["tasks"], default=0), "ms", page=name, tasks=len(had["tasks"]),
        frames=len(frames), frame_p95=round(frames[int(len(frames) * 0.95)], 1), frame_max=round(frames[-1], 1),
        nodes=page.evaluate("() => document.querySelectorAll('*').length"),
    )  # fmt: skip


def _read_back(page: Page, crowd: Crowd) -> None:
    """Turn the wheel up through a thousand messages."""
    log = page.get_by_role("log")
    log.hover()
    until = max(1, crowd.messages - 1000)
    for _ in range(400):
        page.mouse.wheel(0, -1500)
        page.wait_for_timeout(16)
        if page.locator("[data-seq]").first.get_attribute("data-seq") and _first(page) <= until:
            return
    raise SystemExit(f"Reading back came to message {_first(page)} only.")


def _first(page: Page) -> int:
    return int(page.locator("[data-seq]").first.get_attribute("data-seq") or 0)


def _type(page: Page, crowd: Crowd) -> None:
    page.get_by_label("Message", exact=True).press_sequentially("how much are apples, please, and pears?", delay=15)


def _settle(page: Page, crowd: Crowd) -> None:
    page.wait_for_load_state("networkidle")


def _wait_for_link(page: Page, crowd: Crowd) -> None:
    expect(page.locator('[data-seq="40"]')).to_be_in_viewport()


def _scroll_list(page: Page, crowd: Crowd) -> None:
    page.locator("main").hover()
    for _ in range(120):
        page.mouse.wheel(0, 1200)
        page.wait_for_timeout(16)


def _search(page: Page, crowd: Crowd) -> None:
    page.get_by_label("Search automations").press_sequentially(f"number {crowd.automations - 1}", delay=30)
    expect(page.get_by_role("link", name=f"watch number {crowd.automations - 1}")).to_be_visible()
    page.get_by_label("Search automations").fill("")
    for status in ("Active", "Needs you", "Paused", "Done"):
        page.get_by_role("navigation", name="Filter by status").get_by_role("button", name=status).click()
        expect(page.locator("main [aria-busy=true]")).to_have_count(0)


@contextmanager
def running_server(home: Path) -> Iterator[str]:
    """Serve a home in a process of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = os.environ | {"HOMING_HOME": str(home), "HOMING_PORT": str(port)}
    env |= {"HOMING_MODEL": "offline", "HOMING_TIMEZONE": "Europe/Berlin"}
    server = subprocess.Popen([sys.executable, "-m", "benchmarks", "page", "--serve", str(home)], env=env)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(url, server)
        yield url
        server.send_signal(signal.SIGTERM)
        server.wait(30)
    finally:
        server.kill()


def _wait_for(url: str, server: "subprocess.Popen[bytes]") -> None:
    while server.poll() is None:
        try:
            with urlopen(f"{url}/readyz", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("The server ended instead of serving.")


def _record(home: Path) -> Path:
    return home.parent / "requests.jsonl"


async def _serve(home: Path) -> None:
    """Serve as `homing up` does, and write down what each request took."""
    from homing.cli.instance import open_instance
    from homing.cli.serving import bind, make_doors, serving
    from homing.cli.shutdown import on_signals, until
    from homing.settings import load
    from homing.wiring import make_engine, running

    settings = load()
    listening = bind(settings)
    told = on_signals(signal.SIGTERM)
    homing = open_instance(settings)
    app = make_doors(homing)
    app.add_middleware(_Timed, record=_record(home))
    async with serving(app, listening) as server, running(homing, make_engine(homing)):
        await until(told, server)
    await homing.store.close()


class _Timed:
    """Writes a line a request: how long until its answer was out, and how long the process worked meanwhile."""

    def __init__(self, app: ASGIApp, *, record: Path) -> None:
        self._app = app
        self._file = record.open("w", buffering=1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == "/api/events":
            await self._app(scope, receive, send)
            return
        begun, worked = time.perf_counter(), time.process_time()

        async def answer(message: Message) -> None:
            await send(message)
            if message["type"] != "http.response.body" or message.get("more_body"):
                return
            took = {"ms": time.perf_counter() - begun, "cpu_ms": time.process_time() - worked}
            self._file.write(
                json.dumps({"path": scope["path"], **{k: round(v * 1000, 1) for k, v in took.items()}}) + "\n"
            )

        await self._app(scope, receive, answer)
