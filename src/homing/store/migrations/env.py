"""Alembic's entry: it is handed an open connection by `schema`, and is never run by itself."""

from alembic import context

from homing.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=False)
with context.begin_transaction():
    context.run_migrations()
