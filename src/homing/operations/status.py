"""How this Homing is."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from homing.model.clock import NOTHING_FIRES
from homing.operations.desk import Desk
from homing.operations.shapes.base import Nothing, utc
from homing.operations.shapes.people_asks import (
    DeliveryCounts,
    JobCounts,
    ModelShape,
    RunCounts,
    SchedulerShape,
    StatusShape,
)
from homing.store import deliveries, job_lists, jobs, run_lists, upkeep
from homing.store.upkeep import Worker

ALIVE = timedelta(seconds=90)
OFF = "The scheduler is switched off (HOMING_SCHEDULER_ENABLED): nothing fires until it is on."


def get_status(desk: Desk, ask: Nothing) -> StatusShape:
    """Tell how the house is, and the caller's own numbers."""
    user_id = desk.caller.user_id
    workers = upkeep.workers(desk.tx, ALIVE)
    house = desk.house
    return StatusShape(
        version=house.version,
        server_time=str(utc(desk.now)),
        timezone=desk.zone(),
        model=ModelShape(name=house.model, offline=house.model_offline, why=house.model_why),
        database="postgresql" if desk.tx.postgres else "sqlite",
        scheduler=SchedulerShape(
            enabled=desk.settings.scheduler_enabled,
            workers=len(workers),
            beat_at=utc(max((worker.beat_at for worker in workers), default=None)),
            next_wake_at=utc(_next_wake(desk, workers)),
        ),
        jobs=JobCounts(**job_lists.count_by_status(desk.tx, user_id)),
        runs=RunCounts(**run_lists.count_active(desk.tx, user_id)),
        deliveries=DeliveryCounts(**deliveries.count_by_state(desk.tx, user_id)),
    )


def why_nothing_fires(desk: Desk) -> str | None:
    """Say why no job can come due now; None while a scheduler is alive."""
    if any(worker.schedules for worker in upkeep.workers(desk.tx, ALIVE)):
        return None
    return NOTHING_FIRES if desk.settings.scheduler_enabled else OFF


def _next_wake(desk: Desk, workers: Sequence[Worker]) -> datetime | None:
    """Tell when something is next to be done, if anybody is there to do it. A beat may be older than the newest job."""
    scheduling = [worker for worker in workers if worker.schedules]
    if not scheduling:
        return None
    told = [at for worker in scheduling if (at := worker.next_wake_at) is not None and at > desk.now]
    return jobs.next_wake(desk.tx) or min(told, default=None)
