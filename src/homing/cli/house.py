"""Opening the house for a command or a server: wired, its database up to date, its owner known."""

from homing.cli.home import owner_token
from homing.cli.problems import refused
from homing.model.people import OWNER
from homing.settings import Settings
from homing.store import Tx, people
from homing.wiring import Homing, prepare, wire


def open_house(settings: Settings) -> Homing:
    """Wire a Homing, bring its database up to date, and let its owner in."""
    homing = wire(settings)
    prepare(homing)
    token = owner_token(settings)

    def admit(tx: Tx) -> None:
        people.add_token(tx, user_id=OWNER, role="admin", kind="token", secret=token, expires_at=None)

    homing.store.write_now(admit)
    return homing


def need_postgres(settings: Settings, command: str) -> None:
    """SQLite has one engine process; splitting doors from engine needs a database that several may share."""
    if settings.database_url.startswith("sqlite"):
        raise refused(
            f"`homing {command}` needs PostgreSQL: SQLite belongs to one process.",
            hint="Use `homing up`, or set HOMING_DATABASE_URL to postgresql://…",
        )
