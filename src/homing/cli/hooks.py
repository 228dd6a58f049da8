"""`hooks add`, `list`, `remove`: doors for other programs into a session."""

from typing import Annotated, Any

import typer

from homing.cli.asking import AsJson, asking
from homing.cli.naming import find_one, session_key
from homing.cli.problems import Problem, refused
from homing.cli.server import Json, pages, part

OfSession = Annotated[str | None, typer.Option("-s", "--session", help="A key or a title; else cli:main.")]


def add(
    session: Annotated[str | None, typer.Argument(metavar="SESSION", help="A key or a title; else cli:main.")] = None,
    name: Annotated[str | None, typer.Option("-n", "--name", help="What it is for.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a hook; its address is shown once."""
    with asking(as_json) as desk:
        hook = desk.server.ask("POST", _path(session_key(desk, session)), {} if name is None else {"name": name})
        desk.screen.show(hook, lambda: f"{hook['url']}\nKeep it: it is shown only now ({hook['id']}).")


def list_hooks(
    session: Annotated[str | None, typer.Argument(metavar="SESSION", help="A key or a title; else cli:main.")] = None,
    as_json: AsJson = False,
) -> None:
    """List a session's hooks."""
    with asking(as_json) as desk:
        key = session_key(desk, session)

        def drawn(found: list[Json]) -> Any:
            return _table(found, key)

        desk.screen.show_all(pages(desk.server, _path(key), {}), drawn)


def remove(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids or unique beginnings of them.")],
    session: OfSession = None,
    as_json: AsJson = False,
) -> None:
    """Close hooks."""
    with asking(as_json) as desk:
        key = session_key(desk, session)
        path = _path(key)
        known = list(pages(desk.server, path, {}))
        for said in ids:
            hook = _find(known, said, key)
            desk.server.ask("DELETE", f"{path}/{part(hook['id'])}")
            desk.screen.show(hook, lambda h=hook: f"Closed {h['id']}.")


def _path(key: str) -> str:
    return f"/api/sessions/{part(key)}/hooks"


def _find(known: list[Json], said: str, key: str) -> Json:
    try:
        return find_one(known, said, "hook", "hook")
    except Problem as problem:
        if problem.code != "not_found":
            raise
        hint = "For a hook of another session, name it: homing hooks remove ID --session SESSION"
        raise refused(f"There is no hook {said} in {key}.", code="not_found", hint=hint) from None


def _table(hooks: list[Json], key: str) -> Any:
    from rich.text import Text

    from homing.cli import draw
    from homing.cli.look import away, instant, now

    if not hooks:
        return Text(f"No hooks in {key}. Make one: homing hooks add {key}")
    rows = [
        (
            hook["id"], hook["name"] or "", key, away(instant(hook["created_at"]), now()),
            away(instant(hook["paused_until"]), now()) if hook["paused_until"] else "",
        )
        for hook in hooks
    ]  # fmt: skip
    return draw.Listing(headings=("id", "name", "session", "since", "paused"), rows=rows, gives=("name",))
