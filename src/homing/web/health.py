"""Is it alive, and can it serve? Open to everybody, and so without details; the log has them."""

from datetime import timedelta

import structlog

from homing.model.errors import NotReady
from homing.operations.desk import House
from homing.store import Store, Tx, schema, upkeep

log = structlog.get_logger(__name__)

BEAT_WITHIN = timedelta(seconds=30)


async def check_ready(store: Store, house: House) -> None:
    """Refuse while the database does not answer, has another schema, or nobody schedules."""
    fault = await _fault(store, house)
    if fault:
        log.warning("not ready", action="not_ready", fault=fault)
        raise NotReady("Homing cannot serve yet. Its log, or `homing doctor`, says why.")


async def _fault(store: Store, house: House) -> str | None:
    def look(tx: Tx) -> str | None:
        found, wanted = schema.version_in(tx)
        if found != wanted:
            return f"the database has schema version {found}, and this program needs {wanted}"
        schedulers = [worker for worker in upkeep.workers(tx, BEAT_WITHIN) if worker.schedules]
        if house.settings.scheduler_enabled and not schedulers:
            return "no scheduler was heard of for 30 seconds"
        return None

    try:
        return await store.read(look)
    except NotReady as error:
        return str(error)
