"""Is it alive, and can it serve? Open to everybody, and so without details; the log has them."""

from datetime import timedelta

from homing.model.errors import NotReady
from homing.operations.desk import House
from homing.store import Store, Tx, schema, upkeep

BEAT_WITHIN = timedelta(seconds=30)


async def check_ready(store: Store, house: House) -> None:
    """Refuse while the database does not answer, has another schema, or nobody schedules."""

    def look(tx: Tx) -> None:
        found, wanted = schema.version_in(tx)
        if found != wanted:
            raise NotReady(f"The database has schema version {found}, and this program needs {wanted}.")
        schedulers = [worker for worker in upkeep.workers(tx, BEAT_WITHIN) if worker.schedules]
        if house.settings.scheduler_enabled and not schedulers:
            raise NotReady("No scheduler was heard of for 30 seconds.")

    await store.read(look)
