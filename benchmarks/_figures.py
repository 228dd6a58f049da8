"""What docs/scale.md tells in figures."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks._floors import APS_WAL, OURS, OURS_PG, RAW_PG
from benchmarks._results import Marks, Results

_ONCE = {"part": "once", "who": "homing", "database": "sqlite"}


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure, and the command that gives it."""

    what: str
    command: str
    draw: Callable[[Results], str]


def _rate(where: Marks) -> Callable[[Results], str]:
    """Draw a rate, and what one costs."""

    def draw(results: Results) -> str:
        rate = results.median("dispatch", where)
        return f"{rate:,.0f} runs/s, {1000 / rate:.2f} ms each"

    return draw


def _turns(workers: int) -> Callable[[Results], str]:
    def draw(results: Results) -> str:
        where = {"who": "homing", "workers": workers}
        connections = results.worst("turns", where, "connections")
        return f"{results.median('turns', where):,.0f} turns/s, {connections:.0f} connections"

    return draw


def _grown(metric: str) -> Callable[[Results], str]:
    def draw(results: Results) -> str:
        small, large = results.median(metric, field="against_ms"), results.median(metric)
        sizes = [f"{results.worst(metric, field=name):,.0f}" for name in ("against", "stored")]
        return f"{small:.1f} ms at {sizes[0]}, {large:.1f} ms at {sizes[1]}"

    return draw


def _herd(metric: str, counted: str) -> Callable[[Results], str]:
    def draw(results: Results) -> str:
        seconds, due, seen = (results.median(metric, field=name) for name in ("value", "due", counted))
        how = "seen" if seen >= due else f"by the rate after {seen:,.0f}"
        return f"{seconds:.0f} s for {due:,.0f} ({how})"

    return draw


def _herd_person(results: Results) -> str:
    p50, p95, most = (results.median("herd_person", field=name) for name in ("value", "p95_ms", "max_ms"))
    return f"p50 {p50:.0f} ms, p95 {p95:.0f} ms, longest {most:.0f} ms"


def _chat(database: str) -> Callable[[Results], str]:
    def draw(results: Results) -> str:
        called, closed = (
            results.median(f"chat_message_to_{name}_p50", {"database": database}) for name in ("model", "closing")
        )
        return f"{called:.1f} ms until the model is called, {closed:.1f} ms until the answer is on record"

    return draw


def _memory(results: Results) -> str:
    return f"{results.median('stored_idle_memory', field='rss_mb'):.0f} MB"


FIGURES = (
    Figure(what="a scheduled run, SQLite, one process, 512 slots", command="dispatch",
           draw=_rate(OURS)),
    Figure(what="the same with the default of 8 slots", command="dispatch --slots 8 --due 2000",
           draw=_rate(_ONCE | {"slots": 8})),
    Figure(what="the same, many runs for few conversations", command="dispatch --sessions 100 --due 2000",
           draw=_rate(_ONCE | {"sessions": 100})),
    Figure(what="a scheduled run, PostgreSQL, one process, 512 slots", command="dispatch --database postgresql",
           draw=_rate(OURS_PG)),
    Figure(what="a chat turn alone, SQLite", command="chat", draw=_chat("sqlite")),
    Figure(what="a chat turn alone, PostgreSQL", command="chat --database postgresql", draw=_chat("postgresql")),
    Figure(what="turns, PostgreSQL, 1 worker", command="turns --workers 1", draw=_turns(1)),
    Figure(what="turns, PostgreSQL, 2 workers", command="turns --workers 2", draw=_turns(2)),
    Figure(what="turns, PostgreSQL, 4 workers", command="turns --workers 4", draw=_turns(4)),
    Figure(what="the herd until its last run is queued, SQLite", command="herd", draw=_herd("herd_queued", "queued")),
    Figure(what="the herd until its last run is finished", command="herd",
           draw=_herd("herd_until_last", "finished")),
    Figure(what="a person's message meanwhile, until its turn thinks", command="herd", draw=_herd_person),
    Figure(what="add a job", command="stored", draw=_grown("stored_add")),
    Figure(what="list a user's jobs", command="stored", draw=_grown("stored_list")),
    Figure(what="start until the timer is armed", command="stored", draw=_grown("stored_start")),
    Figure(what="memory of an idle process with the large store", command="stored", draw=_memory),
)  # fmt: skip

# What docs/benchmarks.md tells beside the floors.
BESIDE = (
    Figure(what="APScheduler on SQLite with fewer jobs due", command="dispatch --who apscheduler --due 2000",
           draw=_rate({**_ONCE, "who": "apscheduler"})),
    Figure(what="APScheduler on SQLite in WAL", command="dispatch --who apscheduler-wal", draw=_rate(APS_WAL)),
    Figure(what="raw writes on PostgreSQL", command="dispatch --who raw --database postgresql", draw=_rate(RAW_PG)),
    Figure(what="next instants against croniter (floor 4x)", command="schedules",
           draw=lambda results: f"{results.median('next_after_vs_croniter'):.1f}x"),
    Figure(what="Python's own start", command="commands",
           draw=lambda results: f"{results.median('command_bare_python'):.0f} ms"),
)  # fmt: skip
