"""Which job, agent or session somebody means, by id or name; and the session that needs no name."""

import sys

import typer

from homing.cli.connection import Connection
from homing.cli.output import note
from homing.cli.problems import Problem, refused
from homing.client.base import BaseClient
from homing.model.contract import Json
from homing.model.naming import fitting, is_slip, longest_word

OWNER = "default"
DEFAULT_SESSION = "cli:main"
_SHOWN = 12
_JOB = "job_"


def find_job(server: BaseClient, given: str, *, removed: bool = False) -> Json:
    """Find a job by id (or a run's), by a beginning of it, or by its name or words of it; several are listed.

    With `removed` also among those that were removed.
    """
    wanted = given.partition(":")[0].strip()
    if not wanted:
        raise _nothing("automation")
    found = _exactly(server, wanted)
    if found is not None:
        return found
    fits = _fitting_jobs(server, wanted, [{}, {"removed": True}] if removed else [{}])
    # Homing's own come after everybody's.
    fits = fits or _fitting_jobs(server, wanted, [{"system": True}])
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise refused(_choose(given, [f"{job['id']}  {job['name']}{_gone(job)}" for job in fits]), code="ambiguous")
    raise refused(f"There is no automation {given}.", code="not_found", hint="`homing cron list` shows yours.")


def find_agent(server: BaseClient, given: str) -> Json:
    """Find an agent by id, by a beginning of it, or by its name or words of it; several are listed."""
    if not given.strip():
        raise _nothing("agent")
    fits = fitting(given, server.pages("list_agents"), lambda agent: (agent["id"], agent["name"]))
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise refused(_choose(given, [f"{agent['id']}  {agent['name']}" for agent in fits]), code="ambiguous")
    raise refused(f"There is no agent {given}.", code="not_found", hint="`homing agents list` shows them.")


def find_one(things: list[Json], given: str, noun: str, prefix: str) -> Json:
    """Find one of a short list by its id or a unique beginning of it."""
    if not given:
        raise _nothing(noun)
    fits = [thing for thing in things if thing["id"] == given] or [
        thing for thing in things if thing["id"].startswith(given) or thing["id"].startswith(f"{prefix}_{given}")
    ]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise refused(_choose(given, [thing["id"] for thing in fits]), code="ambiguous")
    raise refused(f"There is no {noun} {given}.", code="not_found", hint=_known([thing["id"] for thing in things]))


def session_key(connection: Connection, given: str | None) -> str:
    """Tell the key of the session meant: a key, a title, `cli:NAME`; unnamed, the one of this person."""
    if given is None:
        return default_session(connection)
    if ":" in given:
        return given
    near = list(connection.server.pages("list_sessions", q=longest_word(given), limit=200))
    own = f"cli:{given}"
    titled = [one for one in near if (one["title"] or "").casefold() == given.casefold()]
    if not titled and any(one["key"] == own for one in near):
        return own
    fits = titled or fitting(given, [one for one in near if one["title"]], lambda one: (one["key"], one["title"]))
    if len(fits) > 1:
        candidates = [f"{one['key']}  {one['title']}" for one in fits]
        raise refused(_choose(given, candidates), code="ambiguous", hint=f"A new conversation of that name is {own}.")
    return fits[0]["key"] if fits else own


def session_to_write_to(connection: Connection, given: str | None) -> str:
    """Tell the key of the session meant, which a message may begin.

    One that looks like a slip of the keyboard: a person at a terminal is asked first; a script, which may count on a
    new one, is told.
    """
    key = session_key(connection, given)
    if given is None or _exists(connection.server, key):
        return key
    near = _nearest(connection.server, given, key)
    if near is None:
        if not connection.screen.as_json:
            note(f"New conversation: {key}")
        return key
    if connection.screen.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        note(f"There is no conversation {key}, so a new one begins. Did you mean {near}?")
    elif not typer.confirm(
        f"There is no conversation {key}. Did you mean {near}? Begin a new one all the same?", err=True
    ):
        raise refused("Nothing was sent, and no conversation was begun.", code="asked")
    return key


def default_session(connection: Connection) -> str:
    """Tell the session of commands that name none; each further user has one of their own."""
    if connection.settings.session != DEFAULT_SESSION:
        return connection.settings.session
    user_id = connection.server.ask("get_me")["user_id"]
    return DEFAULT_SESSION if user_id == OWNER else f"cli:{user_id}"


def _exists(server: BaseClient, key: str) -> bool:
    try:
        server.ask("get_session", session_key=key)
    except Problem as problem:
        if problem.code != "not_found":
            raise
        return False
    return True


def _nearest(server: BaseClient, given: str, key: str) -> str | None:
    """Name an existing session that somebody who wrote this may have meant: of the same channel, or by its title."""
    channel, _, name = key.partition(":")
    for one in server.pages("list_sessions", limit=200):
        other, _, other_name = one["key"].partition(":")
        if other == channel and is_slip(name, other_name):
            return one["key"]
        if ":" not in given and one["title"] and is_slip(given, one["title"]):
            return f"{one['key']} ({one['title']})"
    return None


def _exactly(server: BaseClient, job_id: str) -> Json | None:
    try:
        return server.ask("get_job", job_id=job_id, recent=10)
    except Problem as problem:
        if problem.code in ("not_found", "invalid"):
            return None
        raise


def _fitting_jobs(server: BaseClient, wanted: str, among: list[Json]) -> list[Json]:
    near = {
        job["id"]: job
        for q in dict.fromkeys((wanted, longest_word(wanted), f"{_JOB}{wanted}"))
        for these in among
        for job in server.pages("list_jobs", q=q, limit=200, **these)
    }
    return fitting(wanted, near.values(), lambda job: (job["id"], job["name"]), prefix=_JOB)


def _gone(job: Json) -> str:
    return "  (removed)" if job["removed_at"] else ""


def _nothing(noun: str) -> Problem:
    """Refuse the beginning of everything: it comes from a variable that nobody set, and could remove the only one."""
    return refused(f"Say which {noun}: its id is empty.")


def _known(ids: list[str]) -> str:
    if not ids:
        return "There are none."
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return f"There {'is' if len(ids) == 1 else 'are'}: {', '.join(ids[:_SHOWN])}{more}."


def _choose(given: str, candidates: list[str]) -> str:
    shown = "\n".join(f"  {candidate}" for candidate in candidates[:_SHOWN])
    more = f"\n  and {len(candidates) - _SHOWN} more" if len(candidates) > _SHOWN else ""
    return f"{given} fits {len(candidates)}; say more of the one you mean:\n{shown}{more}"
