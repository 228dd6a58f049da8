"""How this Homing is."""

from datetime import timedelta

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
from homing.store import deliveries, job_lists, runs, upkeep

ALIVE = timedelta(seconds=90)


def get_status(desk: Desk, ask: Nothing) -> StatusShape:
    """Tell how the house is, and the caller's own numbers."""
    user_id = desk.caller.user_id
    workers = upkeep.workers(desk.tx, ALIVE)
    wakes = [worker.next_wake_at for worker in workers if worker.schedules and worker.next_wake_at is not None]
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
            next_wake_at=utc(min(wakes, default=None)),
        ),
        jobs=JobCounts(**job_lists.count_by_status(desk.tx, user_id)),
        runs=RunCounts(**runs.count_active(desk.tx, user_id)),
        deliveries=DeliveryCounts(**deliveries.count_by_state(desk.tx, user_id)),
    )
