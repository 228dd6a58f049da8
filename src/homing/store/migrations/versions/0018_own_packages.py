"""An admin's own change of an agent's packages is an approval that no turn asked for."""

from homing.store.migrations.changes import drop_not_null

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    drop_not_null("approval", "turn_id")
