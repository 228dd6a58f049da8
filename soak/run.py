"""Normal load beside the hostile one: a person who writes, programs that read, a browser that listens, jobs."""

import asyncio
import itertools
import json
import secrets
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx2

from soak.hostile import ATTACKS, TOO_LONG, TOO_PATIENT
from soak.house import TOKEN, House

KEY = "web:soak"
PERIOD_MS = 5000
JOBS = 5
_READS = ("/api/me", "/api/jobs", "/api/sessions", f"/api/sessions/{KEY}/messages", "/healthz")
_MOST_LOG = 1_000_000
_GROWTH_MB = 48.0
_AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
# At the end a job may be behind by this much: what is late by more has stopped.
_BEHIND_MS = 6 * PERIOD_MS


@dataclass(kw_only=True)
class Seen:
    """What normal clients saw, and what the process looked like."""

    reads_ms: list[float] = field(default_factory=list[float])
    turns_ms: list[float] = field(default_factory=list[float])
    failures: list[str] = field(default_factory=list[str])
    rss_mb: list[float] = field(default_factory=list[float])
    reconnects: int = 0
    """Requests asked again because the server had closed their idle connection."""
    events: int = 0
    instants: int = 0
    missed: int = 0
    worst_lateness_ms: int = 0
    log_bytes: int = 0
    accept_failures: int = 0
    """Lines in the log that say that no descriptor was left."""
    stop_seconds: float | None = None
    hostile: dict[str, int] = field(default_factory=dict[str, int])

    def told(self) -> dict[str, Any]:
        return {
            "read_p50_ms": _percentile(self.reads_ms, 50), "read_p99_ms": _percentile(self.reads_ms, 99),
            "turn_p50_ms": _percentile(self.turns_ms, 50), "turn_p99_ms": _percentile(self.turns_ms, 99),
            "reads": len(self.reads_ms), "turns": len(self.turns_ms),
            "reconnects": self.reconnects, "events": self.events,
            "instants": self.instants, "missed": self.missed, "worst_lateness_ms": self.worst_lateness_ms,
            "rss_first_mb": round(self._settled()), "rss_last_mb": round(self._end()), "log_bytes": self.log_bytes,
            "accept_failures": self.accept_failures,
            "stop_seconds": self.stop_seconds, "failures": len(self.failures), "hostile": self.hostile,
        }  # fmt: skip

    def violations(self) -> list[str]:
        """Say which bounds were broken."""
        said = {
            f"{len(self.failures)} normal requests failed, first: {self.failures[:1]}": bool(self.failures),
            f"{self.missed} instants were missed": self.missed > 0,
            "no instant came": self.instants == 0,
            f"memory grew from {self._settled():.0f} to {self._end():.0f} MB": self._end()
            > self._settled() * 1.2 + _GROWTH_MB,
            f"the log has {self.log_bytes:,} bytes": self.log_bytes >= _MOST_LOG,
            f"descriptors ran out {self.accept_failures} times": self.accept_failures > 0,
            "the stream brought nothing": self.events == 0,
            "no normal load": not self.reads_ms or not self.turns_ms,
            **{f"hostile: no {kind}": not self._did(kind) for kind in ATTACKS},
            **{f"hostile: {what} ({count})": _is_wrong(what) for what, count in self.hostile.items()},
            "it ended by itself": self.stop_seconds is None,
        }
        return [sentence for sentence, broken in said.items() if broken]

    def _did(self, kind: str) -> bool:
        return any(what.startswith(kind) and count for what, count in self.hostile.items())

    def _settled(self) -> float:
        """Its memory once everything was used: the highest of the second quarter."""
        return max(self.rss_mb[len(self.rss_mb) // 4 : len(self.rss_mb) // 2 + 1], default=0.0)

    def _end(self) -> float:
        return max(self.rss_mb[len(self.rss_mb) * 3 // 4 :], default=0.0)


def soak(house: House, seconds: float) -> Seen:
    """Load a Homing well and badly for so long, then look at what became of it."""
    return asyncio.run(_soak(house, seconds))


async def _soak(house: House, seconds: float) -> Seen:
    seen = Seen()
    async with httpx2.AsyncClient(base_url=house.url, headers=_AUTHORIZED, timeout=60, trust_env=False) as owner:
        jobs = await _set_up(owner)
        enemy = (await owner.post("/api/tokens", json={"user": "eve"})).json()["token"]
        hostile = _hostile([house.url, enemy, str(seconds), str(house.descriptors)])
        assert hostile.stdout is not None
        if await asyncio.to_thread(hostile.stdout.readline) != b"ready\n":
            raise AssertionError("The hostile clients did not get in.")
        load = [_read(owner, seen), _talk(owner, seen), _listen(house.url, seen), _weigh(house, seen)]
        tasks = [asyncio.create_task(one) for one in load]
        await asyncio.sleep(seconds)
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        # Load that broke off by itself proves nothing about the rest of the time.
        seen.failures += [f"the load broke off: {error!r}" for error in ended if isinstance(error, Exception)]
        said, _ = await asyncio.to_thread(hostile.communicate, timeout=120)
        seen.hostile = json.loads(said or b"{}")
        for job in jobs:
            await _count_runs(owner, job, seen)
    seen.stop_seconds = await asyncio.to_thread(house.stop)
    log = house.log.read_bytes()
    seen.log_bytes, seen.accept_failures = len(log), log.count(b"accept_failed")
    return seen


def _hostile(arguments: list[str]) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "soak.hostile", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


async def _set_up(owner: httpx2.AsyncClient) -> list[str]:
    (await owner.post("/api/sessions", json={"key": KEY})).raise_for_status()
    jobs: list[str] = []
    for number in range(JOBS):
        job = {"session_key": KEY, "schedule": {"every_ms": PERIOD_MS}, "name": f"tick {number}",
               "payload": {"kind": "reminder", "message": "tick"}}  # fmt: skip
        made = await owner.post("/api/jobs", json=job)
        made.raise_for_status()
        jobs.append(made.json()["id"])
    return jobs


async def _read(owner: httpx2.AsyncClient, seen: Seen) -> None:
    for path in itertools.cycle(_READS):
        began = time.perf_counter()
        await _asked(owner, seen, "GET", path)
        seen.reads_ms.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(0.05)


async def _talk(owner: httpx2.AsyncClient, seen: Seen) -> None:
    for number in itertools.count():
        began = time.perf_counter()
        said = {"text": f"hello {number}"}
        if await _asked(owner, seen, "POST", "/api/sessions/web:talk/messages?wait=60", said) == 200:
            seen.turns_ms.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(0.3)


async def _asked(owner: httpx2.AsyncClient, seen: Seen, method: str, path: str, body: Any = None) -> int:
    headers = {"Idempotency-Key": secrets.token_hex(8)} if method == "POST" else {}
    try:
        try:
            response = await owner.request(method, path, json=body, headers=headers)
        except (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError):
            # The server may close a connection between two requests: after five idle seconds, or to make room for
            # others. Any HTTP client then asks once more on a new one; that must work.
            seen.reconnects += 1
            async with httpx2.AsyncClient(
                base_url=owner.base_url, headers=owner.headers, timeout=60, trust_env=False
            ) as fresh:
                response = await fresh.request(method, path, json=body, headers=headers)
    except httpx2.HTTPError as error:
        seen.failures.append(f"{method} {path}: {type(error).__name__} {error}")
        return 0
    if response.status_code >= 300:
        seen.failures.append(f"{method} {path}: {response.status_code} {response.text[:200]}")
    return response.status_code


async def _listen(url: str, seen: Seen) -> None:
    async with httpx2.AsyncClient(base_url=url, headers=_AUTHORIZED, timeout=None, trust_env=False) as browser:
        while True:
            with suppress(httpx2.HTTPError):
                async with browser.stream("GET", "/api/events") as stream:
                    async for line in stream.aiter_lines():
                        seen.events += line.startswith("event: message")
            seen.failures.append("the stream ended")
            await asyncio.sleep(0.5)


async def _weigh(house: House, seen: Seen) -> None:
    while house.alive:
        seen.rss_mb.append(house.rss_mb())
        await asyncio.sleep(0.5)


async def _count_runs(owner: httpx2.AsyncClient, job_id: str, seen: Seen) -> None:
    """Every instant of a job has a run of its own, the next one a period later, and none was missed."""
    runs: list[dict[str, Any]] = []
    cursor = None
    while True:
        more = {"cursor": cursor} if cursor else {}
        page = (await owner.get(f"/api/jobs/{job_id}/runs", params={"limit": 200, **more})).json()
        runs += page["items"]
        cursor = page["next_cursor"]
        if not cursor:
            break
    instants = sorted(datetime.fromisoformat(run["scheduled_for"]) for run in runs)
    seen.instants += len(instants)
    seen.missed += sum(run["missed_count"] or run["state"] == "missed" for run in runs)
    seen.missed += left_out(instants, datetime.now(UTC))
    seen.worst_lateness_ms = max([seen.worst_lateness_ms, *(run["lateness_ms"] or 0 for run in runs)])


def left_out(instants: list[datetime], now: datetime) -> int:
    """Count the instants between the first and now that have no run; the very last ones may still be on their way."""
    gaps = [(later - sooner).total_seconds() * 1000 for sooner, later in itertools.pairwise(instants)]
    inside = sum(round(gap / PERIOD_MS) - 1 for gap in gaps)
    since = (now - instants[-1]).total_seconds() * 1000 if instants else 0
    return inside + (int(since // PERIOD_MS) if since > _BEHIND_MS else 0)


def _is_wrong(what: str) -> bool:
    """Say whether a hostile client was treated too well, or found a bug."""
    return what in (TOO_LONG, TOO_PATIENT) or what.endswith(" 500")


def _percentile(values: list[float], percent: int) -> float | None:
    if len(values) < 2:
        return None
    return round(statistics.quantiles(values, n=100, method="inclusive")[percent - 1], 1)
