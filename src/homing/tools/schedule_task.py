"""`schedule_task`: everything an agent may do with jobs, in one flat tool, and the replies it gets.

The MCP door offers the same function for a session that its caller names.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from homing.model.agents import SCHEDULERS
from homing.model.errors import MAX_FIELD_ERRORS, Refused
from homing.model.scripts import MOST_SECONDS
from homing.model.sessions import Session
from homing.operations.context import Context
from homing.operations.hands import Desk
from homing.operations.scripts import NOT_TRIED, TriedScript
from homing.store.steps import Done
from homing.tools.error_text import told
from homing.tools.job_actions import ACTIONS, SCRIPTED, Call, try_script_of
from homing.tools.reading import Asked, read
from homing.tools.tool import ToolFunction, ToolSpec

DESCRIPTION = (
    "Do something later, or again and again, in this conversation. Needed for every reminder, later check or regular "
    "task, and whenever you promise to come back: without it nothing happens. Then tell the user the time and zone "
    "from the reply."
)
PARAMETERS: Mapping[str, object] = {
    "type": "object",
    "required": ["action"],
    "properties": {
        "action": {
            "type": "string",
            "enum": ["add", "list", "get", "update", "remove", "enable", "disable", "run", "skip"],
            "description": "add: needs when and message. disable = pause. run = now. skip = leave out the next time. "
            "list: with a day or week as when, only what comes then. All but add and list need job_id.",
        },
        "job_id": {
            "type": "string",
            "description": "Id or name, from add or list. In a scheduled turn it may be left out: this job.",
        },
        "when": {
            "type": "string",
            "description": "'in 10 minutes', 'tomorrow at 9:30', '2026-11-20T18:00', 'every 2 hours', "
            "'every weekday at 8', or cron '0 9 * * 1-5'. The user's local time; do not convert.",
        },
        "message": {"type": "string", "description": "What to do then, as an instruction to yourself."},
        "name": {"type": "string", "description": "2 to 5 words"},
        "tz": {"type": "string", "description": "IANA zone, only if not the user's"},
        "until": {"type": "string", "description": "Stop repeating then"},
        "reminder": {"type": "boolean", "description": "Send message to the user word for word, no thinking"},
        "isolated": {"type": "boolean", "description": "Work apart, without this conversation, and report here"},
        "quiet": {"type": "boolean", "description": "Stay silent when there is no news"},
        "script": {
            "type": "string",
            "description": "Runs before each run, at no cost; its last line must be "
            '{"wakeAgent": true|false, "data": …, "state": …}. With false you are not woken. It is tried now.',
        },
        "script_language": {
            "type": "string",
            "enum": ["bash", "python"],
            "description": "bash (JSON on stdin), or python (variables job, state, …; fetch(url); no other modules)",
        },
    },
}


async def prepare_schedule_task(
    desk: Desk, arguments: Mapping[str, object], home: Callable[[Context], Session]
) -> ToolFunction:
    """Try the script of a call that writes one, before the transaction; give what the call does then."""
    tried = NOT_TRIED
    try:
        asked = read(arguments)
        if SCRIPTED.intersection(asked.fields):
            tried = await try_script_of(desk, asked, home)
    except Refused as refused:
        raise told(refused, arguments) from refused
    return partial(schedule_task, tried=tried)


def schedule_task(
    ctx: Context, session: Session, arguments: Mapping[str, object], tried: TriedScript = NOT_TRIED
) -> Done:
    """Do what a model asks about the jobs of a session; a refusal says how to ask rightly."""
    try:
        asked = read(arguments)
        done = ACTIONS[asked.action](Call(ctx=ctx, session=session, asked=asked, tried=tried))
    except Refused as refused:
        raise told(refused, arguments) from refused
    return replace(done, text="".join([done.text, *_left_out(asked)]))


def offer(name: str) -> ToolSpec:
    """Offer the tool under the name that an agent's prompts know; a model that calls it by another is understood."""
    others = tuple(other for other in SCHEDULERS if other != name)
    return ToolSpec(
        name=name,
        description=DESCRIPTION,
        parameters=PARAMETERS,
        function=schedule_task,
        aliases=others,
        prepare=prepare_schedule_task,
        seconds=MOST_SECONDS + 30,
    )


def _left_out(asked: Asked) -> list[str]:
    """Say what was not used, so that nobody believes it was."""
    given: list[str] = []
    if asked.ignored:
        given.append(f"\nIgnored: {_few(asked.ignored)}. A job always belongs to this conversation and answers here.")
    if asked.unused:
        given.append(f"\nNot used: {_few(asked.unused)}.")
    return given


def _few(names: tuple[str, ...]) -> str:
    shown = ", ".join(f"{name:.100}" for name in names[:MAX_FIELD_ERRORS])
    left = len(names) - MAX_FIELD_ERRORS
    return f"{shown} and {left} more" if left > 0 else shown
