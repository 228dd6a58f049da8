"""Continue from an earlier message in a new session. History is never rewritten."""

from homing.model.bounds import MAX_NAME
from homing.model.errors import Conflict, Invalid
from homing.model.files import attached
from homing.model.ids import new_id
from homing.model.messages import Message
from homing.model.sessions import Session
from homing.operations.context import Context
from homing.operations.messages import say
from homing.operations.shapes.session import SessionShape
from homing.operations.shapes.session_asks import BranchSession, SendMessage
from homing.operations.views import show_session
from homing.store import kept_files, lanes, messages, sessions
from homing.store.sessions import NewSession

_BRANCH = " (branch)"


def branch_session(ctx: Context, ask: BranchSession) -> SessionShape:
    """Branch a session at a message; with `text`, it is sent instead of that message."""
    tx = ctx.tx
    source = ctx.session(ask.session_key)
    # The lane of what is said is locked together with the source: a new session is nobody else's to lock.
    lane_id = lanes.lane_of(tx, source, unified=ctx.settings.unified_session)
    sessions.lock(tx, {source.id, lane_id})
    source = ctx.again(source)
    chosen = messages.get(tx, source.id, ask.seq)
    if chosen is None:
        told = f"has {source.seq} messages" if source.seq else "has no messages yet"
        raise Invalid(f"There is no message {ask.seq}: {source.key} {told}.", field="seq", code="out_of_range")
    if ask.text is not None:
        _check_words(chosen, ask.text)
    until = ask.seq if ask.text is None else ask.seq - 1
    branch = _make(ctx, source, until)
    sessions.copy_messages(tx, source, branch, until)
    kept_files.copy_references(tx, branch.id, source_id=source.id, until=until)
    branch = ctx.session(branch.key)
    if ask.text is not None:
        _say_instead(ctx, branch, chosen, ask.text)
    return show_session(ctx, ctx.session(branch.key))


def _check_words(chosen: Message, text: str) -> None:
    theirs = chosen.role == "user" and chosen.kind == "chat"
    if not theirs or "guest" in chosen.meta or "sender_name" in chosen.meta:
        raise Conflict(
            f"Message {chosen.seq} is not yours, so it cannot be edited. Leave text out to branch from it.",
            code="wrong_state",
        )
    if not text.strip():
        raise Invalid("text is empty; write the new message.", field="text", code="missing")


def _make(ctx: Context, source: Session, until: int) -> Session:
    title = f"{source.title[: MAX_NAME - len(_BRANCH)]}{_BRANCH}" if source.title else None
    if source.title and source.title.endswith(_BRANCH):
        title = source.title
    new = NewSession(
        key=new_id("web").replace("_", ":", 1),
        user_id=source.user_id,
        agent_id=source.agent_id,
        model=source.model,
        title=title,
        timezone=source.timezone,
        sender_id=source.sender_id,
        named=source.named,
        # What guests said comes along, so it is still a shared place: its memories are its own (rule 60).
        several=source.several,
        branch_of=source.id,
        branch_seq=until,
    )
    made = sessions.add_new(ctx.tx, new)
    assert made is not None
    return made


def _say_instead(ctx: Context, branch: Session, chosen: Message, text: str) -> None:
    lane_id = lanes.enter(ctx.tx, branch, unified=ctx.settings.unified_session)
    files = [file.id for file in attached(chosen.files)]
    usable = kept_files.lock_usable(ctx.tx, files, user_id=branch.user_id) if files else {}
    words = SendMessage(session_key=branch.key, text=text, files=[file_id for file_id in files if file_id in usable])
    say(ctx, branch, lane_id, words, ctx.caller.user_id)
