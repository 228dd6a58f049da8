"""The floors F1–F13 as they were agreed, what was measured of each, and why one that is not met is not."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks._results import Marks, Missing, Results

# Measured in turn, round after round; what ran once beside them is for docs/scale.md.
_ROUNDS: Marks = {"part": "rounds"}
OURS: Marks = {**_ROUNDS, "who": "homing", "database": "sqlite"}
OURS_PG: Marks = {**_ROUNDS, "who": "homing", "database": "postgresql"}
RAW: Marks = {**_ROUNDS, "who": "raw", "database": "sqlite"}
RAW_PG: Marks = {**_ROUNDS, "who": "raw", "database": "postgresql"}
APS: Marks = {**_ROUNDS, "who": "apscheduler", "database": "sqlite"}
APS_WAL: Marks = {**_ROUNDS, "who": "apscheduler-wal", "database": "sqlite"}
APS_PG: Marks = {**_ROUNDS, "who": "apscheduler", "database": "postgresql"}
FOUR: Marks = {**_ROUNDS, "who": "homing", "workers": 4}
DBOS: Marks = {**_ROUNDS, "who": "dbos", "workers": 4}


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What came out, in words, and whether it is enough."""

    words: str
    met: bool


@dataclass(frozen=True, kw_only=True)
class Floor:
    """One promise about speed."""

    id: str
    what: str
    floor: str
    command: str
    judge: Callable[[Results], Measured]
    why_not: str


def verdict(floor: Floor, results: Results) -> tuple[str, str]:
    """Give what was measured and the verdict; a missing figure is neither met nor excused."""
    try:
        measured = floor.judge(results)
    except Missing as missing:
        return "–", f"**not measured**: no line `{missing}`"
    return measured.words, "met" if measured.met else f"**not met**: {floor.why_not}"


def _f1(results: Results) -> Measured:
    ratio = results.ratio("dispatch", OURS, APS)
    wal, raw = results.ratio("dispatch", OURS, APS_WAL), results.ratio("dispatch", RAW, APS)
    rate, theirs = results.median("dispatch", OURS), results.median("dispatch", APS)
    words = f"{ratio:.1f}x ({rate:,.0f} against {theirs:,.0f}/s); {wal:.1f}x of it in WAL; written by hand {raw:.1f}x"
    return Measured(words=words, met=ratio >= 30)


def _f2(results: Results) -> Measured:
    ratio = results.ratio("dispatch", OURS, RAW)
    return Measured(words=f"{ratio:.2f} (raw {results.median('dispatch', RAW):,.0f}/s)", met=ratio >= 0.33)


def _f3(results: Results) -> Measured:
    ratio, raw = results.ratio("dispatch", OURS_PG, APS_PG), results.ratio("dispatch", RAW_PG, APS_PG)
    rate, theirs = results.median("dispatch", OURS_PG), results.median("dispatch", APS_PG)
    return Measured(
        words=f"{ratio:.1f}x ({rate:,.0f} against {theirs:,.0f}/s); written by hand {raw:.1f}x", met=ratio >= 8
    )


def _f4(results: Results) -> Measured:
    first = results.median("dispatch_first_start", OURS)
    stall, p99 = (results.median("dispatch_loop_stall", OURS, field) for field in ("value", "p99_ms"))
    words = f"first after {first:.0f} ms; longest stall {stall:.0f} ms, p99 {p99:.0f} ms"
    return Measured(words=words, met=first <= 100 and stall <= 50)


def _f5(results: Results) -> Measured:
    ratio = results.median("stored_tick", field="ratio")
    return Measured(words=f"{ratio:.2f}", met=ratio >= 0.85)


def _f6(results: Results) -> Measured:
    took = results.median("stored_start")
    return Measured(words=f"{took:.0f} ms", met=took <= 100)


def _f7(results: Results) -> Measured:
    ratio = results.median("lateness_p99", field="ratio")
    late, timer = results.median("lateness_p99"), results.median("timer_p99")
    begun = results.median("lateness_started_p99")
    words = f"{ratio:.1f}x (p99 {late:.1f} ms, timer {timer:.1f} ms; the turn thinks after {begun:.1f} ms)"
    return Measured(words=words, met=ratio <= 3)


def _f8(results: Results) -> Measured:
    cpu, wakes, more = (results.median(f"stored_idle_{name}") for name in ("cpu", "wakeups", "memory"))
    words = f"{cpu:.3f} % CPU, {wakes:.2f} wake-ups/s, {more:+.1f} MB"
    return Measured(words=words, met=cpu <= 0.01 and wakes <= 1 and more <= 5)


def _f9(results: Results) -> Measured:
    ratio = results.ratio("turns", FOUR, DBOS)
    rate, theirs = results.median("turns", FOUR), results.median("turns", DBOS)
    return Measured(words=f"{ratio:.1f}x ({rate:,.0f} against {theirs:,.0f} turns/s)", met=ratio >= 5)


def _f10(results: Results) -> Measured:
    p50, p95 = (results.median(f"chat_message_to_model_p{percent}", {"database": "sqlite"}) for percent in (50, 95))
    return Measured(words=f"p50 {p50:.1f} ms, p95 {p95:.1f} ms", met=p50 <= 10)


def _f11(results: Results) -> Measured:
    beyond, claim = results.worst("takeover"), results.worst("takeover", field="claim_s")
    after = results.worst("takeover", field="max_after_claim_s")
    words = f"claim {beyond:+.2f} s at worst (claim of {claim:g} s; {after:.2f} s after its end)"
    return Measured(words=words, met=beyond <= 2)


def _f12(results: Results) -> Measured:
    served, alone = (results.median("command_list", {"server": server}) for server in (True, False))
    return Measured(words=f"{served:.0f} ms with a server, {alone:.0f} ms without", met=served <= 400)


def _f13(results: Results) -> Measured:
    add, update = results.median("stored_add"), results.median("stored_update")
    stored = results.worst("stored_add", field="stored")
    words = f"add {add:.1f} ms, update {update:.1f} ms (at {stored:,.0f} stored)"
    return Measured(words=words, met=max(add, update) <= 5)


def _f16(results: Results) -> Measured:
    ratio, inside, bare = (results.median("sandbox", field=name) for name in ("value", "inside_ms", "bare_ms"))
    return Measured(words=f"{ratio:.1f}x ({inside:.0f} against {bare:.0f} ms)", met=ratio <= 2.5)


FLOORS = (
    Floor(
        id="F1", what="dispatch of 10,000 jobs due at once, SQLite, against APScheduler 3.11 with its defaults",
        floor="30x", command="dispatch", judge=_f1,
        why_not="APScheduler changes one row per job and keeps no record of runs; we write sixteen. What the database"
        " itself takes of them is what is written by hand.",
    ),
    Floor(
        id="F2", what="the same against raw batched SQLite that does the same writes", floor="0.33",
        command="dispatch --who raw", judge=_f2,
        why_not="raw batches know beforehand what to write; we pick, lock and read back each lane, render its prompt"
        " and keep its claim.",
    ),
    Floor(
        id="F3", what="dispatch on PostgreSQL against APScheduler 3.11 on PostgreSQL", floor="8x",
        command="dispatch --database postgresql", judge=_f3,
        why_not="as with F1, sixteen rows against one; the same rows written by hand show what is left to gain.",
    ),
    Floor(
        id="F4", what="first of 10,000 due runs starts; stalls of the event loop", floor="100 ms; never > 50 ms",
        command="dispatch", judge=_f4,
        why_not="transactions run in threads, which share the interpreter's lock with the loop; which part holds it"
        " longest is not profiled here.",
    ),
    Floor(
        id="F5", what="ticking 10,000 due among 1M against among 20k", floor="0.85", command="stored", judge=_f5,
        why_not="a larger index is a deeper one, and its pages are colder.",
    ),
    Floor(
        id="F6", what="start with 1M stored jobs to the armed timer, imports aside", floor="100 ms", command="stored",
        judge=_f6, why_not="the time goes into wiring and first statements, not into jobs: compare `against_ms`.",
    ),
    Floor(
        id="F7", what="lateness of 1,000 jobs over 20 s beside 1M stored: p99 against the bare loop timer", floor="3x",
        command="lateness", judge=_f7,
        why_not="a tick waits for the one writer while turns are written.",
    ),
    Floor(
        id="F8", what="idle with 1M jobs: CPU, wake-ups, memory beyond that with 1k", floor="0.01 %, 1/s, 5 MB",
        command="stored", judge=_f8, why_not="the sweeper's beat costs the same with a thousand jobs.",
    ),
    Floor(
        id="F9", what="turns through lanes on PostgreSQL, 4 workers, against DBOS queues", floor="5x", command="turns",
        judge=_f9,
        why_not="four workers and the server share two cores, and more workers are not faster here than one"
        " (docs/scale.md). Skipping lanes that others hold, and picking among more, did not change it (ADR 0019).",
    ),
    Floor(
        id="F10", what="overhead of a chat turn, `send_message` until the model is called, SQLite", floor="p50 10 ms",
        command="chat", judge=_f10,
        why_not="two durable commits, the message and the opening, come before the model's call.",
    ),
    Floor(
        id="F11", what="kill -9 of the worker in mid-turn until another works on it", floor="claim + 2 s",
        command="takeover", judge=_f11, why_not="the survivor looked later than it should: look at its log.",
    ),
    Floor(
        id="F12", what="`homing cron list` from shell to answer", floor="400 ms", command="commands", judge=_f12,
        why_not="most of it is the interpreter and imports.",
    ),
    Floor(
        id="F13", what="one add or update of a job", floor="5 ms", command="stored", judge=_f13,
        why_not="a durable commit is in it, and the rules' reads.",
    ),
    Floor(
        id="F16", what="a program in the sandbox against bare, `python3 -c pass`", floor="2.5x", command="sandbox",
        judge=_f16,
        why_not="bubblewrap makes some twenty mounts, and three small programs run before the one that was asked for.",
    ),
)  # fmt: skip
