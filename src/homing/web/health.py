"""Is it alive, and can it serve? Open to everybody, and so without details; the log has them."""

from datetime import timedelta

from homing.model.errors import NotReady
from homing.operations.context import Instance
from homing.store import Store, Tx, maintenance, schema

OUTDATED = "Its database has another schema than this program: start it again with the newest Homing."
BEAT_WITHIN = timedelta(seconds=30)


async def check_ready(store: Store, instance: Instance) -> list[str]:
    """Refuse while the database does not answer, has another schema, or nobody schedules; else give workers' notes."""

    def look(tx: Tx) -> list[str]:
        found, wanted = schema.version_in(tx)
        if found != wanted:
            raise NotReady(
                f"The database has schema version {found}, and this program needs {wanted}.", public=OUTDATED
            )
        workers = maintenance.workers(tx, BEAT_WITHIN)
        schedulers = [worker for worker in workers if worker.schedules]
        if instance.settings.scheduler_enabled and not schedulers:
            raise NotReady("No scheduler was heard of for 30 seconds.")
        return sorted({worker.note for worker in workers if worker.note})

    return await store.read(look)
