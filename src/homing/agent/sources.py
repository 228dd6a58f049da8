"""Where what a model sees came from: a message, read from its row, and the result of a tool, by its name."""

from homing.agent.frames import FRAME_BEGINS, clean_name
from homing.model.agents import SCHEDULERS
from homing.model.messages import Message, NewMessage

FETCH = "fetch_url"
SEARCH = "search_web"
# Marks a memory that came from outside text, wherever a model sees it.
UNCONFIRMED = "unconfirmed, from"

WEB = (FETCH, SEARCH)

# Tools whose results are our own words: what is framed in them still comes from elsewhere.
OURS = frozenset({*SCHEDULERS, "remember", "recall", "forget", "nothing_to_report"})


def outside_result(tool: str, text: str) -> str | None:
    """Name in words what a tool's result brought from outside: what files, pages and servers say comes in frames."""
    if tool == "recall":
        return "unconfirmed memory" if UNCONFIRMED in text else None
    return f"the tool {tool}" if tool not in OURS and FRAME_BEGINS in text else None


AnyMessage = Message | NewMessage


def outside_source(message: AnyMessage) -> str | None:
    """Name in words where a message came from, if what it says is neither a person's nor our own."""
    match message.kind:
        case "note" if is_hook(message):
            return f"hook {hook_name(message)}"
        case "note" if is_event(message):
            return f"event {job_name(message)}"
        case "report":
            return f"report {job_name(message)}"
        case "scheduled":
            return f"job {job_name(message)}"
        case "note" if message.meta.get("source") == "agent":
            return "agent"
        case _:
            return None


def is_hook(message: AnyMessage) -> bool:
    return message.meta.get("source") == "hook"


def is_event(message: AnyMessage) -> bool:
    return message.role == "user" and "cron_job_id" in message.meta


def hook_name(message: AnyMessage) -> str:
    return clean_name(str(message.meta.get("hook_name") or message.meta.get("hook_id") or ""))


def job_name(message: AnyMessage) -> str:
    return clean_name(str(message.meta.get("cron_job_name") or ""))
