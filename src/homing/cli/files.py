"""`homing files`: list those of a conversation, keep a file, and get one back."""

import secrets
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from homing.cli.connection import AsJson, Connection, connected
from homing.cli.lookup import session_key
from homing.cli.problems import refused
from homing.cli.resources import Limit, SessionArgument
from homing.cli.visible import visible
from homing.model.contract import Json
from homing.model.files import safe_name, size_words

Paths = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files on this machine, at most 25 MB each.")]
Into = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="Where to write it; - prints it. Else its own name, in this folder."),
]
_PAGE = 200


def add(paths: Paths, as_json: AsJson = False) -> None:
    """Keep files, to be sent with a message. What no message refers to is removed after a day."""
    with connected(as_json) as connection:
        for path in paths:
            file = connection.server.add_file(path)
            connection.screen.show(file, lambda file=file: told(file))


def told(file: Json) -> str:
    """Say what is known of a file in a line."""
    return f"{file['id']}  {visible(file['name'])}  ({file['media_type']}, {size_words(file['bytes'])})"


def list_files(session: SessionArgument = None, limit: Limit = 20, as_json: AsJson = False) -> None:
    """List the files of a conversation's messages, newest first."""
    with connected(as_json) as connection:
        key = session_key(connection, session)
        found = _files_of(connection, key, limit)
        none = f"No files in {visible(key)} yet."
        connection.screen.show({"items": found}, lambda: "\n".join(map(told, found)) or none)


def _files_of(connection: Connection, key: str, limit: int | None) -> list[Json]:
    found: dict[str, Json] = {}
    before: int | None = None
    while limit is None or len(found) < limit:
        asked = {"before": before} if before is not None else {}
        page = connection.server.ask("list_messages", session_key=key, limit=_PAGE, **asked)["items"]
        for message in reversed(page):
            found |= {file["id"]: file for file in reversed(message["files"]) if file["id"] not in found}
        if len(page) < _PAGE:
            break
        before = page[0]["seq"]
    return list(found.values())[:limit]


def get(
    file_id: Annotated[str, typer.Argument(metavar="ID", help="The id of a file.")],
    output: Into = None,
) -> None:
    """Get a file back. An existing file is never replaced."""
    with connected(as_json=False) as connection:
        save(connection, output, safe_name(file_id), partial(connection.server.get_file, file_id))


def save(connection: Connection, output: Path | None, word: str, fetch: Callable[[BinaryIO], str]) -> None:
    """Write what `fetch` gives to `output`, or to a file with the name that it returns; `-` prints it."""
    if output is not None and str(output) == "-":
        fetch(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    folder = output.parent if output is not None else Path()
    # Its own name, so that two commands for one file do not take each other's bytes away.
    half = Path(f".{word}.{secrets.token_hex(4)}.partial")
    try:
        with (folder / half).open("xb") as file:
            name = fetch(file)
        target = output if output is not None else Path(safe_name(name))
        # A link fails where something is already, and nothing is ever half written under the name.
        target.hardlink_to(folder / half)
    except FileExistsError:
        raise refused(f"{output or 'A file of this name'} exists already. Name another one with -o.") from None
    except OSError as error:
        raise refused(f"It cannot be written: {error.strerror}.") from error
    finally:
        (folder / half).unlink(missing_ok=True)
    connection.screen.show({"path": str(target)}, lambda: f"Wrote {visible(str(target))}.")
