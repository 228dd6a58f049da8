"""Scripts that look before a run (rule 50): what may be written, and one try before anything is kept."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from homing.model.agents import MAIN, Agent
from homing.model.errors import Conflict, HostNotAllowed, Invalid, NotFound
from homing.model.job_fields import FIELDS
from homing.model.jobs import Job
from homing.model.scripts import MAX_SCRIPT, MAX_STATE, Fault, Said, Script, ScriptEnd, given_to_script, read_end
from homing.operations.context import Context
from homing.operations.hands import Desk
from homing.operations.shapes.base import clean_text, cleaned, utc
from homing.operations.shapes.job_asks import JobAsk
from homing.operations.shapes.script_asks import SaidShape, TriedScriptShape, TryScript
from homing.sandbox.hosts import check_hosts
from homing.store import agents

_ROWS = [row for row in FIELDS if row.name in ("script", "script_language", "script_hosts", "script_seconds")]
_TRIED = {"id": None, "name": "a try", "message": "", "session_key": None}
CHANGED_MEANWHILE = "It was changed while its script was tried. Look at it again, then repeat the change."


@dataclass(frozen=True, kw_only=True)
class TriedScript:
    """The script that was tried before a job is written; None if there was none to try."""

    script: Script | None = None


NOT_TRIED = TriedScript()


async def try_script(desk: Desk, ask: TryScript) -> TriedScriptShape:
    """Run a script once, as its automation would. Nothing of it is kept."""
    script = Script(
        text=ask.script,
        language=ask.script_language or "bash",
        hosts=tuple(ask.script_hosts or ()),
        seconds=ask.script_seconds or 30,
    )
    given = await desk.read(lambda ctx: _given(ctx, script, agent_id=ask.agent_id or MAIN, state=ask.state))
    end = await desk.hands.try_script(script, given)
    return tried_shape(end, read_end(end, script.seconds))


def tried_shape(end: ScriptEnd, said: Said | Fault) -> TriedScriptShape:
    """Show how a script ended that was tried."""
    return TriedScriptShape(
        ended=end.ended,
        code=end.code,
        out=clean_text(end.out),
        err=clean_text(end.err),
        result=SaidShape.model_validate(cleaned(said.line)) if isinstance(said, Said) else None,
        fault=said.sentence if isinstance(said, Fault) else None,
    )


def about_job(job: Job) -> dict[str, Any]:
    """Say of a job what its script may know."""
    return {
        "id": job.id,
        "name": job.name,
        "message": job.payload.message,
        "session_key": job.session_key,
        "timezone": job.timing.schedule.tz,
    }


def last_run(job: Job) -> dict[str, Any] | None:
    """Say of a job's last run what its script may know."""
    if job.last_run_at is None:
        return None
    return {"id": job.last_run_id, "state": job.last_status, "at": utc(job.last_run_at), "error": job.last_error}


def names_a_script(ask: JobAsk) -> bool:
    """Say whether a request is about a script at all: others cost nothing here."""
    return any(ask.gave(row.name) for row in _ROWS)


def script_after(ask: JobAsk, before: Job | None) -> Script | None:
    """Give the script that a job has once a request is done."""
    columns = {
        row.column: row.stored(getattr(ask, row.name)) if before is None or ask.gave(row.name) else row.of(before)
        for row in _ROWS
    }
    return script_in(columns)


def script_in(columns: Mapping[str, Any]) -> Script | None:
    """Read a job's script from its columns."""
    if columns["script"] is None:
        return None
    return Script(
        text=columns["script"],
        language=cast(Literal["bash", "python"], columns["script_language"]),
        hosts=tuple(columns["script_hosts"] or ()),
        seconds=columns["script_seconds"],
    )


async def try_before(desk: Desk, script: Script | None, before: Job | None, *, agent_id: str) -> TriedScript:
    """Run a script once that is about to be written; refuse one that does not work."""
    if script is None or (before is not None and before.gate is not None and _same(script, before.gate)):
        return TriedScript(script=script)
    given = await desk.read(lambda ctx: _given(ctx, script, agent_id=agent_id, state=None))
    return await _try(desk, script, given, field="script")


async def try_of_agent(desk: Desk, script: Script, *, field: str) -> TriedScript:
    """Run a script once that is about to become an agent's own; refuse one that does not work."""
    _check_text(script, field=field)
    return await _try(desk, script, await desk.read(lambda ctx: _tried_with(ctx, None)), field=field)


async def _try(desk: Desk, script: Script, given: dict[str, Any], *, field: str) -> TriedScript:
    end: ScriptEnd = await desk.hands.try_script(script, given)
    said = read_end(end, script.seconds)
    if isinstance(said, Fault):
        raise Invalid(f"The test run of the script failed. {said.sentence}", field=field, code="script_failed")
    return TriedScript(script=script)


def check_tried(ctx: Context, columns: Mapping[str, Any], before: Job | None, tried: TriedScript, agent: str) -> None:
    """Refuse to write a script that was not tried, or that may not be written."""
    script = script_in(columns)
    known = before.gate if before is not None else None
    hosts = tuple(columns["script_hosts"] or ())
    if script is None and hosts and hosts != tuple((before.script_hosts if before is not None else None) or ()):
        raise Invalid(
            "script_hosts are what a script may reach, and this automation has no script. Give it one, or leave them"
            " out. What its agent may reach is set with `homing agents update`.",
            field="script_hosts",
            code="out_of_range",
        )
    if script is None or (known is not None and _same(script, known)):
        return
    check_script(ctx, script, agent_id=agent)
    if tried.script is None or not _same(script, tried.script):
        raise Conflict(CHANGED_MEANWHILE)


def check_script(ctx: Context, script: Script, *, agent_id: str) -> None:
    """Refuse a script that is too large, or that names hosts which its writer may not open."""
    _check_text(script, field="script")
    try:
        check_hosts(script.hosts)
    except Invalid as refused:
        raise Invalid(refused.detail, field="script_hosts", code="out_of_range") from None
    agent = agents.get(ctx.tx, agent_id)
    if agent is None:
        raise NotFound(f"There is no agent {agent_id}. List them with list_agents.")
    if not script.hosts or (ctx.caller.turn is None and ctx.caller.admin):
        return
    for host in script.hosts:
        _check_host(ctx, host, agent)


def _check_text(script: Script, *, field: str) -> None:
    if len(script.text.encode()) > MAX_SCRIPT:
        raise Invalid(f"A script has at most {MAX_SCRIPT >> 10} kB.", field=field, code="out_of_range")
    if not script.text.strip():
        raise Invalid("The script is empty. Leave it out, or set it to null.", field=field, code="missing")


def _check_host(ctx: Context, host: str, agent: Agent) -> None:
    """An agent names hosts of its own list. A person may name public ones: only an entry with a port leads inwards."""
    if _covered(host, agent.all_hosts):
        return
    if ctx.caller.turn is not None:
        raise HostNotAllowed(
            f"{host:.100} is not among this agent's hosts: ask an admin to add it"
            f" (`homing agents update {agent.id} --host {host:.100}`), or leave it out.",
            field="script_hosts",
            code="host_not_allowed",
        )
    if ":" in host:
        raise HostNotAllowed(
            f"{host:.100} names a port, which may lead into a private network: an admin has to add it to the hosts of"
            f" the agent {agent.id}.",
            field="script_hosts",
            code="host_not_allowed",
        )


def _covered(host: str, entries: Sequence[str]) -> bool:
    host = host.strip().lower()
    known = [entry.strip().lower() for entry in entries]
    endings = tuple(entry[1:] for entry in known if entry.startswith("*.") and ":" not in entry)
    return host in known or (":" not in host and host.endswith(endings) and bool(endings))


def _given(ctx: Context, script: Script, *, agent_id: str, state: Any) -> dict[str, Any]:
    check_script(ctx, script, agent_id=agent_id)
    if len(json.dumps(state).encode()) > MAX_STATE:
        raise Invalid(f"The state is larger than {MAX_STATE >> 10} kB.", field="state", code="out_of_range")
    return _tried_with(ctx, state)


def _tried_with(ctx: Context, state: Any) -> dict[str, Any]:
    return given_to_script(
        job={**_TRIED, "timezone": ctx.zone()},
        scheduled_for=str(utc(ctx.now)),
        state=state,
    )


def _same(one: Script, other: Script) -> bool:
    """Two scripts do the same; how long they may take is another matter."""
    return (one.text, one.language, one.hosts) == (other.text, other.language, other.hosts)
