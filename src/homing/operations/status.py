"""How this Homing is."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from homing.model.channel_info import MAIL
from homing.model.clock import NOTHING_FIRES
from homing.model.jobs import LISTED_FOR
from homing.model.words import JOB_STATUSES
from homing.operations.context import Context
from homing.operations.kept_channels import with_kept
from homing.operations.models import server_model
from homing.operations.shapes.base import Nothing, utc
from homing.operations.shapes.people_asks import (
    DeliveryCounts,
    JobCounts,
    ModelShape,
    RunCounts,
    SchedulerShape,
    StatusShape,
)
from homing.store import deliveries, job_lists, jobs, maintenance, run_lists
from homing.store.maintenance import Worker

ALIVE = timedelta(seconds=90)
OFF = "The scheduler is switched off (HOMING_SCHEDULER_ENABLED): nothing fires until it is on."


def get_status(ctx: Context, ask: Nothing) -> StatusShape:
    """Show the state of this Homing, and the caller's own counts."""
    user_id = ctx.caller.user_id
    workers = maintenance.workers(ctx.tx, ALIVE)
    instance, settings = ctx.instance, with_kept(ctx.tx, ctx.settings)
    model = server_model(instance, maintenance.model_setting(ctx.tx))
    return StatusShape(
        version=instance.version,
        server_time=str(utc(ctx.now)),
        timezone=ctx.zone(),
        model=ModelShape(name=model.name, offline=model.offline, why=model.why),
        database="postgresql" if ctx.tx.postgres else "sqlite",
        channels=[
            "web",
            "cli",
            "api",
            "webhook",
            *([MAIL] if settings.sends_mail else []),
            *(name for name in settings.channel_names if name != MAIL),
        ],
        scheduler=SchedulerShape(
            enabled=ctx.settings.scheduler_enabled,
            workers=len(workers),
            beat_at=utc(max((worker.beat_at for worker in workers), default=None)),
            next_wake_at=utc(_next_wake(ctx, workers)),
        ),
        status_words=dict(JOB_STATUSES),
        jobs=JobCounts(**job_lists.count_by_status(ctx.tx, user_id, listed_since=ctx.now - LISTED_FOR)),
        runs=RunCounts(**run_lists.count_active(ctx.tx, user_id)),
        deliveries=DeliveryCounts(**deliveries.count_by_state(ctx.tx, user_id)),
    )


def why_nothing_fires(ctx: Context) -> str | None:
    """Say why no job can come due now; None while a scheduler is alive."""
    if any(worker.schedules for worker in maintenance.workers(ctx.tx, ALIVE)):
        return None
    return NOTHING_FIRES if ctx.settings.scheduler_enabled else OFF


def _next_wake(ctx: Context, workers: Sequence[Worker]) -> datetime | None:
    """Tell when something is next to be done, if anybody is there to do it. A beat may be older than the newest job."""
    scheduling = [worker for worker in workers if worker.schedules]
    if not scheduling:
        return None
    told = [at for worker in scheduling if (at := worker.next_wake_at) is not None and at > ctx.now]
    return jobs.next_wake(ctx.tx) or min(told, default=None)
