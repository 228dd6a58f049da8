"""Names for the shell to complete: automations, conversations, agents. Without a server there are none.

A name is given as its words joined by hyphens, from the word on that was begun: shells take that as one word, and
commands as words of a name.
"""

import re
from collections.abc import Callable

from homing.model.contract import Json

_MOST = 200
_WORD = re.compile(r"\w+")
# zsh evaluates what it is given, and Typer does not quote all of it (a backslash): nothing else reaches a shell.
_NOT_PLAIN = re.compile(r"[^\w .,@+/-]")
_NOT_ABOUT = re.compile(r"[^\w .,:@+/-]+")

Completions = list[tuple[str, str]]


def jobs(incomplete: str) -> Completions:
    """Complete an automation; one that bears another's name, by its id."""
    return _complete("list_jobs", incomplete, _jobs)


def sessions(incomplete: str) -> Completions:
    """Complete a conversation: `main` for cli:main, else by its title. Bash parts words at a colon."""
    return _complete("list_sessions", incomplete, _sessions)


def agents(incomplete: str) -> Completions:
    """Complete an agent by its id."""
    return _complete("list_agents", incomplete, lambda found: [(agent["id"], agent["name"]) for agent in found])


def _jobs(found: list[Json]) -> Completions:
    slugs = [_slug(job["name"]) for job in found]
    return [
        (slug if slug and slugs.count(slug) == 1 else job["id"], job["words"])
        for slug, job in zip(slugs, found, strict=True)
    ]


def _sessions(found: list[Json]) -> Completions:
    slugs = [_slug(one["title"] or "") for one in found]
    return [
        (one["key"].removeprefix("cli:") if one["key"].startswith("cli:") else slug, one["title"] or one["key"])
        for slug, one in zip(slugs, found, strict=True)
        if one["key"].startswith("cli:") or (slug and slugs.count(slug) == 1)
    ]


def _complete(operation: str, incomplete: str, named: Callable[[list[Json]], Completions]) -> Completions:
    try:
        found = _ask(operation)
    except Exception:  # noqa: BLE001 - whatever is wrong, a completion must not write into the line being typed
        return []
    completed = [(_from(name, incomplete.casefold()), about) for name, about in named(found)]
    return [
        (name, _NOT_ABOUT.sub(" ", about).strip()) for name, about in completed if name and not _NOT_PLAIN.search(name)
    ]


def _ask(operation: str) -> list[Json]:
    from homing.client.home import known_token, server_url
    from homing.client.remote import Client
    from homing.settings import load

    settings = load()
    url = server_url(settings)
    if url is None:
        return []
    with Client(url, known_token(settings)) as server:
        return list(server.pages(operation, limit=_MOST))


def _from(name: str, wanted: str) -> str:
    """Give a name from the word on that begins as wanted; Typer takes only what begins so."""
    if name.casefold().startswith(wanted):
        return name
    words = _words(name)
    return next(("-".join(words[n:]) for n, word in enumerate(words) if word.startswith(wanted)), "")


def _slug(name: str) -> str:
    return "-".join(_words(name))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
