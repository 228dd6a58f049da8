"""Who speaks: how each message of a conversation is shown to a model (rule 34).

A person's words stay bare, with the sender's name in front where several people write. Everything else is framed as
data of its source. It is decided from the message's row each time history is read, so rows of any age are shown alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from homing.agent.frames import TRIGGERED, clean_name, frame, indented, one_line
from homing.agent.sources import (
    AnyMessage,
    agent_name,
    guest_name,
    hook_name,
    is_approval,
    is_edit,
    is_event,
    is_guest,
    is_hook,
    job_name,
    outside_source,
)
from homing.model.files import AttachedFile, attached, size_words
from homing.model.messages import ANSWERS, SENT_TO
from homing.model.people import User
from homing.model.sessions import Session

# Of all notes of a turn together, in its prompt and in later history; about as much as one message may have.
MOST_NOTE_BYTES = 16 * 1024


@dataclass(frozen=True, kw_only=True)
class Participants:
    """The people of a session, as far as a model must tell them apart."""

    several: bool
    user_id: str
    user_name: str

    def name(self, sender_id: str) -> str:
        return clean_name(self.user_name if sender_id == self.user_id else sender_id)

    def asked_by(self, sender_id: object) -> str | None:
        """Name who asked for an automation, unless it goes without saying."""
        if not isinstance(sender_id, str) or (sender_id == self.user_id and not self.several):
            return None
        return self.name(sender_id)


def participants_of(session: Session, user: User | None) -> Participants:
    """Say who writes in a session. The user's row is needed only where several people do."""
    return Participants(
        several=has_names(session),
        user_id=session.user_id,
        user_name=user.name if user is not None else session.user_id,
    )


def has_names(session: Session) -> bool:
    """Rule 34: say whether each message is shown with its sender's name."""
    return session.several or session.named


def words(text: str, sender_id: object, participants: Participants) -> str:
    """Show what a person said."""
    if not participants.several or not isinstance(sender_id, str):
        return text
    # Indented, so that no line inside a message can pass for another person's.
    return f"{participants.name(sender_id)}: {indented(text)}"


def shown(message: AnyMessage, participants: Participants) -> tuple[Literal["user", "assistant"], str]:
    """Say in which role a model sees a message, and as what text."""
    match message.kind:
        case "chat" if message.role == "user":
            # Frames first: behind a person's words one could be theirs.
            return "user", "\n\n".join(filter(None, [*files_shown(message), _said(message, participants)]))
        case "scheduled" if message.role == "user":
            return "user", _triggered(message, participants)
        case "chat" | "scheduled":
            return message.role, "\n".join(
                filter(None, [message.text, *map(_sent, attached(message.files)), _to(message)])
            )
        case "report":
            return "user", frame("report.message", message.text, name=job_name(message))
        case "reminder":
            return "user", frame("reminder.message", message.text, name=job_name(message))
        case "status":
            return "user", frame("status.line", message.text, name=job_name(message))
        case "note" if is_hook(message):
            return "user", frame("hook.message", message.text, name=hook_name(message))
        case "note" if is_event(message):
            return "user", frame("event.message", message.text, name=job_name(message))
        case "note" if is_edit(message) and is_guest(message):
            return "user", frame("edit.guest", message.text, name=guest_name(message))
        case "note" if is_edit(message):
            return "user", frame("edit.user", message.text)
        case "note" if is_approval(message):
            ended = "approval.result" if outside_source(message) else "approval.ended"
            return "user", frame(ended, message.text, name=str(message.meta.get("approval_tool") or ""))
        case "question" | "approval":
            return "user", frame("card.message", message.text)
        case "note" if message.meta.get("source") == "agent":
            kind = "agent.answer" if ANSWERS in message.meta else "agent.message"
            told = frame(kind, message.text, name=agent_name(message))
            return "user", "\n\n".join([*files_shown(message), told])
        case "note":
            return "user", frame("note.message", message.text)


def files_shown(message: AnyMessage) -> list[str]:
    """Name each file of a message to a model; those that it can see are shown beside (`agent/seen_files.py`)."""
    return [
        frame(
            "file.attached",
            f"{file.id}: {file.media_type}, {size_words(file.bytes)}.",
            name=file.name,
        )
        for file in attached(message.files)
    ]


def _sent(file: AttachedFile) -> str:
    """Name a file that an agent sent: its own words, and no frame that would show it to the model again."""
    return f"(I sent the file {file.name}, {file.id}, {size_words(file.bytes)}.)"


def _to(message: AnyMessage) -> str | None:
    """Say of what an agent sent elsewhere where it went."""
    address = message.meta.get(SENT_TO)
    return f"(I sent this to {one_line(address)}.)" if isinstance(address, str) else None


def _said(message: AnyMessage, participants: Participants) -> str:
    """Show a person's message. Of an answer, the question and its options are the agent's words: they are framed, since
    words of a person unlock URLs (rule 41).
    """
    asked = message.meta.get("question_title")
    if not isinstance(asked, str):
        return _spoken(message.text, message, participants)
    chosen = message.meta.get("question_option")
    if not isinstance(chosen, int):
        return f"{_spoken(message.text, message, participants)}\n\n{frame('question.answered', asked)}"
    question = frame("question.answered", f"{asked}\n{chosen}. {message.text}")
    return f"{_spoken(str(chosen), message, participants)}\n\n{question}"


def _spoken(text: str, message: AnyMessage, participants: Participants) -> str:
    if is_guest(message):
        return f"{guest_name(message)} (guest): {indented(text)}"
    return words(text, message.meta.get("sender_id"), participants)


def notes_shown(notes: Sequence[AnyMessage], participants: Participants) -> list[str]:
    """Show the notes that a turn includes: the newest that fit, and how many more there are."""
    fitting: list[str] = []
    left = MOST_NOTE_BYTES
    for note in reversed(notes):
        _, text = shown(note, participants)
        left -= len(text.encode())
        if left < 0 and fitting:
            more = len(notes) - len(fitting)
            fitting.append(frame("note.message", f"And {more} more notes, see the conversation."))
            break
        fitting.append(text)
    return fitting[::-1]


def _triggered(message: AnyMessage, participants: Participants) -> str:
    """Rule 25's opening, with names that are safe in a prompt."""
    raw = str(message.meta.get("cron_job_name") or "")
    task = message.text.removeprefix(TRIGGERED + raw)
    sender = participants.asked_by(message.meta.get("sender_id"))
    asked = f" (asked for by {sender})" if sender else ""
    return f"{TRIGGERED}{job_name(message)}{asked}{task}"
