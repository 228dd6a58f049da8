"""`db upgrade`, `db backup` and `db restore`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from homing.cli.connection import AsJson
from homing.cli.home import engine_lock, make_home, sqlite_file
from homing.cli.output import write_json
from homing.cli.problems import refused
from homing.settings import load


def upgrade(as_json: AsJson = False) -> None:
    """Upgrade the database to this version's schema; `homing up` does this too."""
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
    target: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The file to write; default: dated, in home.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a consistent copy of the database to a file, also while Homing runs."""
    from homing.model.clock import SystemClock
    from homing.store import Store, files

    if target is not None and not target.parent.is_dir():
        raise refused(f"The folder {target.parent} does not exist. Make it first, or name another file.")
    settings = load()
    make_home(settings)
    path = target or settings.home / f"homing-{_stamp()}.db"
    files.backup(Store(settings.database_url, SystemClock()), path)
    if as_json:
        write_json({"file": str(path), "bytes": path.stat().st_size})
    else:
        typer.echo(
            f"{path} ({path.stat().st_size:,} bytes). To go back to it, stop Homing and run: homing db restore {path}"
        )


def restore(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `homing db backup` made.")],
    as_json: AsJson = False,
) -> None:
    """Replace the database with a backup; Homing must be stopped. The previous content is kept."""
    from homing.store import files

    if source.is_dir():
        raise refused(f"{source} is a folder. Name the file in it that `homing db backup` made.")
    settings = load()
    database = sqlite_file(settings)
    if database is None:
        raise refused("This database is PostgreSQL: use pg_restore, or psql for a plain dump.", code="wrong_state")
    make_home(settings)
    with engine_lock(database, settings.home):
        restored = files.restore(source, database, _unused(database, f"{_stamp()}-before-restore"))
    if as_json:
        told = str(restored.kept) if restored.kept else None
        write_json({"file": str(source), "database": str(database), "schema": restored.version, "kept": told})
        return
    typer.echo(f"{database} is as it was in {source} (schema {restored.version}).")
    if restored.kept is not None:
        typer.echo(f"What was there before is kept in {restored.kept}.")


def _unused(database: Path, words: str) -> Path:
    """Name a file beside the database that does not exist yet: an existing one may be the backup to restore."""
    names = (f"{database.stem}-{words}{number}.db" for number in ("", *(f"-{n}" for n in range(2, 100))))
    return next(path for name in names if not (path := database.with_name(name)).exists())


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
