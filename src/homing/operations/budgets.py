"""Ceilings of money (rule 37): who is beyond one, and what becomes of a run that is. A day is the user's own day.

Only what no person opened is ever stopped: a person's messages are answered, and they are told once a day.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from homing.model.errors import Conflict, Invalid
from homing.model.jobs import DueJob, Job, Stretch, Verdict
from homing.model.people import User
from homing.model.runs import COUNTED, SCHEDULED
from homing.model.schedules import At
from homing.model.sessions import Session
from homing.model.usage import NANO, day_of, dollars
from homing.operations.context import Context, Instance
from homing.operations.homes import NotePlace, note_places
from homing.operations.models import default_model
from homing.operations.notes import give_note
from homing.operations.removal import go_on_without, uncount
from homing.settings import Settings
from homing.store import Tx, agents, inbounds, jobs, people, runs, sessions, usage
from homing.store.runs import Finished

BUDGET = "budget"
# What is announced once a day, beside the jobs that are beyond their own ceiling.
RUNS = "runs"
MESSAGES = "messages"


@dataclass(frozen=True, kw_only=True)
class Ceilings:
    """What a job and its user may spend in a day, in dollars. None: without limit; 0: nothing may run."""

    job_usd: float | None = None
    user_usd: float | None = None

    @property
    def any(self) -> bool:
        return self.job_usd is not None or self.user_usd is not None


@dataclass(frozen=True, kw_only=True)
class Beyond:
    """A ceiling that is reached, or that cannot be kept."""

    day: date
    about: str
    """The job's id, or `RUNS` when it is the user's ceiling."""
    words: str


@dataclass(frozen=True, kw_only=True)
class StoppedRun:
    """A queued run that is not to open."""

    run_id: str
    job_id: str
    user_id: str
    beyond: Beyond


def find_beyond(
    tx: Tx, ceilings: Ceilings, settings: Settings, *, user_id: str, job_id: str | None, unpriced: str | None = None
) -> Beyond | None:
    """Say which ceiling is reached; `unpriced` is a model without a known price. Without ceilings nothing is read."""
    if not ceilings.any:
        return None
    day = _today(tx, people.get_user(tx, user_id), settings)
    if unpriced is not None:
        words = f"The price of the model {unpriced} is not known, so what it spends cannot be limited."
        return Beyond(day=day, about=job_id or RUNS, words=words)
    if job_id is not None and ceilings.job_usd is not None:
        spent = usage.spent(tx, user_id, since=day, until=day, job_id=job_id).cost_nano_usd
        if spent >= ceilings.job_usd * NANO:
            return Beyond(day=day, about=job_id, words=f"Its budget of {_of(ceilings.job_usd, spent)}.")
    if ceilings.user_usd is not None:
        spent = usage.spent(tx, user_id, since=day, until=day).cost_nano_usd
        if spent >= ceilings.user_usd * NANO:
            return Beyond(day=day, about=RUNS, words=f"The budget of {_of(ceilings.user_usd, spent)}.")
    return None


def _of(ceiling: float, spent: int) -> str:
    return f"{dollars(ceiling * NANO)} a day is used up ({dollars(spent)} spent today)"


def _today(tx: Tx, user: User | None, settings: Settings) -> date:
    return day_of(tx.now(), (user.timezone if user else None) or settings.timezone)


def check_ceiling(ctx: Context, columns: Mapping[str, Any], agent_id: str, session_id: int) -> None:
    """Refuse a ceiling of money for a model whose price is not known. 0 needs no price: nothing may run."""
    if not columns["max_cost_usd_per_day"]:
        return
    agent = agents.get(ctx.tx, agent_id)
    model = columns["model"] or sessions.get(ctx.tx, session_id).model or (agent.model if agent else None)
    model = model or default_model(ctx.instance, agent.server_model if agent else None)
    if not ctx.instance.has_price(model):
        raise Invalid(
            f"The price of the model {model} is not known, so max_cost_usd_per_day cannot limit what it spends. Choose"
            " a model with a known price (payload.model), or leave the budget out.",
            field="max_cost_usd_per_day",
            code="price_unknown",
        )


def check_may_spend(ctx: Context, job: Job) -> None:
    """Refuse to run a job by hand that is beyond a ceiling."""
    if job.payload.kind == "reminder":
        return
    ceilings = Ceilings(job_usd=job.max_cost_usd_per_day, user_usd=ctx.settings.budget_usd_per_day)
    if beyond := find_beyond(ctx.tx, ceilings, ctx.settings, user_id=job.user_id, job_id=job.id):
        raise Conflict(f"{beyond.words} Raise it, or wait until tomorrow.", code="quota_reached")


def hold_back(
    tx: Tx, decided: Sequence[Verdict], instance: Instance
) -> tuple[list[Verdict], dict[str, Beyond], list[tuple[DueJob, Exception]]]:
    """Turn due runs that are beyond a ceiling into skips; name the ceiling of each such job, and the jobs whose next
    time cannot be computed. A retry is left to its opening: its instant has a run already."""
    settings = instance.settings
    held: list[Verdict] = []
    stopped: dict[str, Beyond] = {}
    bad: list[tuple[DueJob, Exception]] = []
    users: dict[str, Beyond | None] = {}
    for one in decided:
        job = one.job
        if one.scheduled_for is None or one.trigger not in COUNTED or job.payload_kind == "reminder":
            held.append(one)
            continue
        if job.user_id not in users:
            of_user = Ceilings(user_usd=settings.budget_usd_per_day)
            users[job.user_id] = find_beyond(tx, of_user, settings, user_id=job.user_id, job_id=None)
        of_job = Ceilings(job_usd=job.max_cost_usd_per_day)
        beyond = find_beyond(tx, of_job, settings, user_id=job.user_id, job_id=job.id) or users[job.user_id]
        if beyond is None:
            held.append(one)
            continue
        try:
            held.append(_skipped(one, tx))
            stopped[job.id] = beyond
        except Exception as error:  # noqa: BLE001 - one bad job never stops a batch: it alone gets the error
            bad.append((job, error))
    return held, stopped, bad


def _skipped(one: Verdict, tx: Tx) -> Verdict:
    assert one.scheduled_for is not None
    stretch = Stretch(reason=BUDGET, first=one.scheduled_for, until=one.scheduled_for, count=1)
    upcoming = one.job.timing.next_due(tx.now())
    return replace(one, scheduled_for=None, trigger="timer", skips=(*one.skips, stretch), next_run_at=upcoming)


def after_skip(tx: Tx, job: DueJob | Job, beyond: Beyond, place: NotePlace, *, run_id: str | None = None) -> None:
    """Say once a day that runs are left out; a one-shot that has no other time is disabled, and kept. All is locked."""
    found = jobs.get(tx, job.id)
    assert found is not None
    if isinstance(found.timing.schedule, At) and found.next_run_at is None and found.enabled:
        reason = f"It was due, and could not run. {beyond.words}"
        jobs.disable(tx, job.id, by="engine", reason=reason, rev=sessions.touch(tx, found.session_id))
        if usage.announce(tx, found.user_id, beyond.day, found.id):
            text = f'The automation "{found.name}" did not run. {beyond.words} Give it another time, or run it by hand.'
            give_note(tx, home=place.home, lane_id=place.lane_id, job=found, run_id=run_id, text=text)
        return
    if not usage.announce(tx, found.user_id, beyond.day, beyond.about):
        return
    if beyond.about == RUNS:
        text = f"{beyond.words} Automations are paused until tomorrow. Your own messages are still answered."
        give_note(tx, home=place.home, lane_id=place.lane_id, text=text)
        return
    text = f'The automation "{found.name}" will not run again today. {beyond.words}'
    give_note(tx, home=place.home, lane_id=place.lane_id, job=found, run_id=run_id, text=text)


def skip_run(tx: Tx, stopped: StoppedRun, instance: Instance) -> None:
    """Take a queued run out of its lane that is beyond a ceiling. Somebody else may have done so, or opened it."""
    jobs.lock(tx, [stopped.job_id])
    places = note_places(tx, [stopped.user_id], unified=instance.settings.unified_session)
    place = places[stopped.user_id]
    run = runs.get(tx, stopped.run_id)
    if run is None:
        return
    sessions.lock(tx, {run.session_id, run.lane_id, place.home.id, place.lane_id})
    if not inbounds.withdraw_runs(tx, [run.id]):
        return
    rev = sessions.touch(tx, run.session_id)
    before = runs.skip_before(tx, run.job_id, run.scheduled_for, BUDGET) if run.trigger in COUNTED else None
    runs.finish_runs(tx, [Finished(run_id=run.id, state="skipped", reason=BUDGET, rev=rev)])
    uncount(tx, [run])
    if run.trigger in SCHEDULED and (job := jobs.get(tx, run.job_id)) is not None:
        after_skip(tx, job, stopped.beyond, place, run_id=before.id if before is not None else run.id)
        go_on_without(tx, [run], reason="It has no further time to run.")
    if before is not None:
        # Rule 12: what is left out for one reason is one row.
        runs.prolong_skip(tx, before.id, until=run.scheduled_for, more=1, rev=rev)
        runs.delete_skip(tx, run.id)
    tx.ring("lanes", f"user:{run.user_id}")


def tell_person(tx: Tx, settings: Settings, *, user_id: str, session: Session, lane_id: int) -> None:
    """Tell somebody who writes, once a day, that the budget is used up. Their session is locked."""
    ceilings = Ceilings(user_usd=settings.budget_usd_per_day)
    beyond = find_beyond(tx, ceilings, settings, user_id=user_id, job_id=None)
    if beyond is None or not usage.announce(tx, user_id, beyond.day, MESSAGES):
        return
    text = f"{beyond.words} I still answer your messages; automations go on tomorrow."
    give_note(tx, home=session, lane_id=lane_id, text=text)
