"""Down for three days: what came due meanwhile is caught up once or counted, and the start waits for none of it."""

from datetime import timedelta
from typing import Any

from homing.model.runs import Run
from homing.store import Tx, run_lists
from homing.testing import Reply, StubModelServer
from support.crews import Crew
from support.ledger import CHAT, Ledger

MINUTE_MS = 60_000
DAY_MS = 86_400_000


def add_repeating(ledger: Ledger, name: str, every_ms: int, **values: Any) -> str:
    """Add a job that has been repeating for three days and ten seconds, unseen."""
    now = ledger.write(lambda tx: tx.now())
    anchor = now - timedelta(days=3, seconds=10)
    given = {"schedule_kind": "every", "every_ms": every_ms, "anchor": anchor, "at": None, "next_run_at": anchor}
    return ledger.job(name, f"web:{name}", **(given | values))


def add_once(ledger: Ledger, name: str, **ago: float) -> str:
    at = ledger.write(lambda tx: tx.now()) - timedelta(**ago)
    return ledger.job(name, f"web:{name}", at=at, next_run_at=at)


def runs_of(ledger: Ledger, job_id: str) -> list[Run]:
    def work(tx: Tx) -> list[Run]:
        return run_lists.listed(tx, user_id=None, job_id=job_id, limit=99)

    return sorted(ledger.write(work), key=lambda run: run.scheduled_for)


def ends(found: list[Run]) -> list[tuple[str, str, int | None]]:
    return [(run.state, run.trigger, run.missed_count) for run in found]


def test_after_three_days_down_everything_is_on_record_once_and_nothing_fires_twice(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    stub.otherwise(Reply(text="Fine.", hold="answers"))
    minutely = add_repeating(ledger, "minutely", MINUTE_MS)
    daily = add_repeating(ledger, "daily", DAY_MS)
    lately = add_once(ledger, "lately", hours=3)
    long_ago = add_once(ledger, "long-ago", days=2)
    # Ready means ready: the model has not given one answer yet.
    crew.start(claim_seconds=60)
    stub.wait_for_requests(3)
    assert [request.outcome for request in stub.requests] == [None] * 3
    stub.release("answers")
    for job_id in (minutely, daily, lately):
        ledger.until(lambda job_id=job_id: runs_of(ledger, job_id)[-1].state == "ok", f"{job_id} has run")

    missed, newest = runs_of(ledger, minutely)[:2]
    # Three days have 4320 minutes: all but the newest are counted, however long the start took.
    count = (newest.scheduled_for - missed.scheduled_for) // timedelta(minutes=1)
    assert count >= 4320
    assert ends([missed, newest]) == [("skipped", "timer", count), ("ok", "timer", count)]
    assert missed.missed_until == newest.scheduled_for - timedelta(minutes=1)
    assert ends(runs_of(ledger, daily)) == [("skipped", "timer", 3), ("ok", "timer", 3)]
    assert ends(runs_of(ledger, lately)) == [("ok", "catch_up", None)]
    assert ends(runs_of(ledger, long_ago)) == [("skipped", "timer", 1)]
    assert [m.kind for m in ledger.messages("web:long-ago")] == ["note"]
    assert "It runs late, by 3 hours." in (runs_of(ledger, lately)[0].prompt or "")

    crew.workers[0].stop()
    crew.start(claim_seconds=60)
    ledger.say("still there?", CHAT)
    crew.ring()
    ledger.until_closed(1)
    assert ends(runs_of(ledger, daily)) == [("skipped", "timer", 3), ("ok", "timer", 3)]
    assert len(runs_of(ledger, lately)) == len(runs_of(ledger, long_ago)) == 1
    assert ends(runs_of(ledger, minutely))[:2] == [("skipped", "timer", count), ("ok", "timer", count)]
    assert [m.kind for m in ledger.messages("web:long-ago")] == ["note"]
