"""Where what a model sees came from: a message, read from its row, and the result of a tool, by its name."""

from homing.agent.frames import FRAME_BEGINS, clean_name
from homing.model.agents import SCHEDULERS
from homing.model.files import attached
from homing.model.incoming import EDITS
from homing.model.messages import FROM_AGENT, FROM_NAME, Message, NewMessage

FETCH = "fetch_url"
SEARCH = "search_web"
# Marks a memory that came from outside text, wherever a model sees it.
UNCONFIRMED = "unconfirmed, from"

WEB = (FETCH, SEARCH)
# In a message's meta: somebody who is not the conversation's user wrote it.
GUEST = "guest"

# Tools whose results are our own words: what is framed in them still comes from elsewhere.
OURS = frozenset({*SCHEDULERS, "remember", "recall", "forget", "ask_question", "send_message", "nothing_to_report"})


def outside_result(tool: str, text: str) -> str | None:
    """Name in words what a tool's result brought from outside: what files, pages and servers say comes in frames."""
    if tool == "recall":
        return "unconfirmed memory" if UNCONFIRMED in text else None
    return f"the tool {tool}" if tool not in OURS and FRAME_BEGINS in text else None


AnyMessage = Message | NewMessage


def outside_source(message: AnyMessage) -> str | None:
    """Name in words where a message came from, if what it says is neither a person's nor our own."""
    if message.role == "user" and message.files:
        # A person sent it, but what is in it need not be theirs.
        return f"file {clean_name(attached(message.files)[0].name)}"
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
            return f"agent {agent_name(message)}"
        case "note" if is_approval(message) and isinstance(message.meta.get("outside"), str):
            return str(message.meta["outside"])
        case "chat" | "note" if is_guest(message):
            return f"guest {guest_name(message)}"
        case _:
            return None


def is_approval(message: AnyMessage) -> bool:
    """Say whether a message tells how an approval ended."""
    return message.kind == "note" and message.meta.get("source") == "system" and "approval_id" in message.meta


def is_edit(message: AnyMessage) -> bool:
    """Say whether a message tells how somebody changed what they had written."""
    return message.kind == "note" and message.meta.get("source") == "person" and EDITS in message.meta


def is_guest(message: AnyMessage) -> bool:
    return message.role == "user" and message.meta.get(GUEST) is True


def guest_name(message: AnyMessage) -> str:
    """Name a guest so that nobody takes them for the conversation's user, whatever they call themselves."""
    return clean_name(str(message.meta.get("sender_name") or message.meta.get("sender_id") or ""))


def is_hook(message: AnyMessage) -> bool:
    return message.meta.get("source") == "hook"


def is_event(message: AnyMessage) -> bool:
    return message.role == "user" and "cron_job_id" in message.meta


def agent_name(message: AnyMessage) -> str:
    return clean_name(str(message.meta.get(FROM_NAME) or message.meta.get(FROM_AGENT) or ""))


def hook_name(message: AnyMessage) -> str:
    return clean_name(str(message.meta.get("hook_name") or message.meta.get("hook_id") or ""))


def job_name(message: AnyMessage) -> str:
    return clean_name(str(message.meta.get("cron_job_name") or ""))
