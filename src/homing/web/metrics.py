"""Prometheus figures. They come from rows at each scrape, so that they are right whichever process answers."""

from collections.abc import Iterable, Iterator
from datetime import timedelta

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from homing.store import Store
from homing.store.stats import Counts, Spread, Stats, gather

MEDIA = CONTENT_TYPE_LATEST
ALIVE_WITHIN = timedelta(seconds=30)


async def scrape(store: Store, version: str) -> bytes:
    """Count now, and spell it as Prometheus reads it."""
    figures = await store.read(lambda tx: gather(tx, alive_within=ALIVE_WITHIN))
    registry = CollectorRegistry()
    registry.register(_Snapshot(figures, version))
    return generate_latest(registry)


class _Snapshot(Collector):
    """One look, as metric families."""

    def __init__(self, figures: Stats, version: str) -> None:
        self._figures = figures
        self._version = version

    def collect(self) -> Iterable[GaugeMetricFamily]:
        f = self._figures
        yield _gauge("homing_info", "The version that answers.", {(self._version,): 1}, "version")
        yield _gauge("homing_lane_waiting", "Inbound that waits in lanes.", f.waiting, "line")
        yield _plain("homing_lane_oldest_waiting_seconds", "Age of the oldest that waits.", f.oldest_waiting_seconds)
        yield _gauge("homing_turns_open", "Turns being thought.", f.open_turns, "source")
        yield _plain("homing_jobs_due", "Jobs whose instant has come and that no scheduler took yet.", f.jobs_due)
        yield _gauge("homing_runs_active", "Runs queued or running.", f.active_runs, "state")
        yield _gauge("homing_runs_last_hour", "Runs finished in the last hour.", f.finished_runs, "state", "reason")
        yield from _spread("homing_run_lateness", "Lateness of runs finished in the last hour", {"": f.lateness})
        yield from _spread("homing_turn_duration", "Length of turns closed in the last hour", f.turns, "source")
        tokens = "Model tokens of turns closed in the last hour."
        yield _gauge("homing_model_tokens_last_hour", tokens, f.tokens, "model", "direction")
        carried = "Deliveries: pending and dead ones, and those sent in the last hour."
        yield _gauge("homing_deliveries", carried, f.deliveries, "state")
        yield _plain("homing_workers", "Workers heard of in the last 30 seconds.", f.workers)
        yield _plain(
            "homing_worker_oldest_beat_seconds", "Since the quietest of them was heard.", f.oldest_beat_seconds
        )


def _gauge(name: str, words: str, counts: Counts, *labels: str) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, words, labels=labels)
    for values, count in sorted(counts.items()):
        family.add_metric(values, count)
    return family


def _plain(name: str, words: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, words, value=value)


def _spread(name: str, words: str, spreads: dict[str, Spread], *labels: str) -> Iterator[GaugeMetricFamily]:
    count = GaugeMetricFamily(f"{name}_last_hour_count", f"{words}: how many.", labels=labels)
    total = GaugeMetricFamily(f"{name}_last_hour_seconds", f"{words}: together.", labels=labels)
    longest = GaugeMetricFamily(f"{name}_longest_last_hour_seconds", f"{words}: the longest.", labels=labels)
    for name_of, spread in sorted(spreads.items()):
        values = [name_of] if labels else []
        count.add_metric(values, spread.count)
        total.add_metric(values, spread.total_seconds)
        longest.add_metric(values, spread.longest_seconds)
    yield from (count, total, longest)
