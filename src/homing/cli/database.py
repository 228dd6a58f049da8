"""`db upgrade` and `db backup`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from homing.cli.answers import write_json
from homing.cli.asking import AsJson
from homing.cli.home import make_home
from homing.settings import load


def upgrade(as_json: AsJson = False) -> None:
    """Bring the database to this version's schema; `homing up` does the same by itself."""
    from homing.store import schema
    from homing.wiring import prepare, wire

    settings = load()
    make_home(settings)
    homing = wire(settings)
    before, newest = schema.current(homing.store)
    prepare(homing)
    if as_json:
        write_json({"before": before, "after": newest})
    elif before == newest:
        typer.echo(f"The database is up to date (schema {newest}).")
    else:
        typer.echo(f"Upgraded from {before or 'nothing'} to {newest}.")


def backup(
    target: Annotated[Path | None, typer.Argument(metavar="FILE", help="Where to; else a dated file in home.")] = None,
    as_json: AsJson = False,
) -> None:
    """Copy the live database to a file, consistent, without stopping anybody."""
    from homing.model.clock import SystemClock
    from homing.store import Store, schema

    settings = load()
    make_home(settings)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    path = target or settings.home / f"homing-{stamp}.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    schema.backup(Store(settings.database_url, SystemClock()), path)
    path.chmod(0o600)
    if as_json:
        write_json({"file": str(path), "bytes": path.stat().st_size})
    else:
        typer.echo(
            f"{path} ({path.stat().st_size:,} bytes). To use it, stop Homing and put it in the database's place."
        )
