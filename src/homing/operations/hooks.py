"""Doors for others' programs into a session. What they bring is always queued, and marked as theirs."""

from datetime import datetime
from typing import Literal

from homing.model.bounds import MAX_MESSAGE
from homing.model.brakes import (
    DEEPEST,
    DEPTH_HEADER,
    FROM_HOOK_WITHIN,
    LOOP,
    MOST_FROM_HOOK,
    MOST_HOOK_NOTES,
    PAUSED_FOR,
    disabled_words,
)
from homing.model.errors import Invalid, NotFound, SlowDown
from homing.model.ids import new_secret
from homing.model.sessions import Session
from homing.operations.brakes import caused_too_many
from homing.operations.context import Context
from homing.operations.notes import give_note
from homing.operations.shapes.base import Listing, utc
from homing.operations.shapes.people_asks import Gone
from homing.operations.shapes.session_asks import (
    AddHook,
    CalledShape,
    CallHook,
    HookShape,
    NewHookShape,
    RemoveHook,
    SessionRef,
)
from homing.store import inbounds, lanes, people, sessions
from homing.store.inbounds import NewInbound
from homing.store.lanes import Cause
from homing.store.people import Hook


def list_hooks(ctx: Context, ask: SessionRef) -> Listing[HookShape]:
    """List a session's hooks."""
    session = ctx.session(ask.session_key)
    return Listing(items=[_shown(hook, ctx.now) for hook in people.list_hooks(ctx.tx, session.id)])


def add_hook(ctx: Context, ask: AddHook) -> NewHookShape:
    """Make a hook; its URL is secret and is shown only once."""
    session = ctx.session(ask.session_key)
    secret = new_secret()
    hook = people.add_hook(ctx.tx, session_id=session.id, name=ask.name, secret=secret)
    base = ctx.settings.public_url or f"http://{ctx.settings.host}:{ctx.settings.port}"
    return NewHookShape(**_shown(hook, ctx.now).plain(), url=f"{base}/api/hooks/{secret}")


def remove_hook(ctx: Context, ask: RemoveHook) -> Gone:
    """Remove a hook."""
    session = ctx.session(ask.session_key)
    if not people.remove_hook(ctx.tx, session.id, ask.hook_id):
        raise NotFound(f"There is no hook {ask.hook_id}. List them with list_hooks.")
    return Gone(id=ask.hook_id)


def call_hook(ctx: Context, ask: CallHook) -> CalledShape:
    """Accept a message from another program, once for each id it gives. The URL is the proof."""
    hook = people.find_hook(ctx.tx, ask.token)
    session = sessions.get(ctx.tx, hook.session_id) if hook else None
    if hook is None or session is None or session.deleted_at is not None:
        raise NotFound("There is no such hook.")
    lane_id = lanes.enter(ctx.tx, session, unified=ctx.settings.unified_session)
    # Read again under the lock: the session may be gone, the hook closed or paused.
    hook = people.find_hook(ctx.tx, ask.token)
    if hook is None or sessions.get(ctx.tx, session.id).deleted_at is not None:
        raise NotFound("There is no such hook.")
    external_id = f"{hook.id}:{ask.external_id}" if ask.external_id else None
    known = inbounds.find_external(ctx.tx, session.id, external_id) if external_id else None
    if known is not None:
        return CalledShape(inbound_id=known.id, repeats="same" if known.text == _text(ask.body) else "other")
    line = _line(ctx, ask, hook, session, lane_id)
    [inbound_id] = inbounds.take_in(
        ctx.tx,
        [
            NewInbound(
                session_id=session.id,
                lane_id=lane_id,
                user_id=session.user_id,
                source="hook",
                text=_text(ask.body),
                line=line,
                address=session.key,
                external_id=external_id,
                hook_id=hook.id,
                depth=ask.depth,
                meta={"hook_id": hook.id, "hook_name": hook.name},
            )
        ],
    )
    return CalledShape(inbound_id=inbound_id)


def _line(ctx: Context, ask: CallHook, hook: Hook, session: Session, lane_id: int) -> Literal["machines", "note"]:
    """Rule 35: say whether a call wakes the locked lane or waits there as a note; refuse one of a loop."""
    tx, now = ctx.tx, ctx.now
    if ask.depth > DEEPEST:
        raise Invalid(
            f"{ask.depth} turns, each caused by the one before, led to this call, and at most {DEEPEST} may: this is"
            " a loop. Let your webhook point somewhere else than back to this hook.",
            field=DEPTH_HEADER,
            code="out_of_range",
        )
    if hook.paused_until is not None and hook.paused_until > now:
        raise SlowDown(
            f"This hook is paused until {utc(hook.paused_until)}, because its calls kept causing further turns."
            " Call it again then.",
            retry_after=(hook.paused_until - now).total_seconds(),
        )
    cause = Cause(kind="hook", id=hook.id)
    if ask.depth and caused_too_many(tx, cause, session_id=session.id, lane_id=lane_id):
        _pause(ctx, hook, session, lane_id)
        return "note"
    if inbounds.from_hook(tx, hook.id, now - FROM_HOOK_WITHIN) < MOST_FROM_HOOK:
        return "machines"
    if inbounds.hook_notes(tx, lane_id, hook.id) >= MOST_HOOK_NOTES:
        raise SlowDown(
            f"{MOST_HOOK_NOTES} calls of this hook wait to be seen. Call it again in a minute.",
            retry_after=FROM_HOOK_WITHIN.total_seconds(),
        )
    return "note"


def _pause(ctx: Context, hook: Hook, session: Session, lane_id: int) -> None:
    until = ctx.now + PAUSED_FOR
    people.pause_hook(ctx.tx, hook.id, until)
    named = f'the hook "{hook.name}"' if hook.name else "a hook of this conversation"
    give_note(
        ctx.tx,
        home=session,
        lane_id=lane_id,
        text=f"I paused {named} for an hour. {disabled_words(LOOP)}",
    )


def _text(body: str | None) -> str:
    text = (body or "").strip() or "(The hook was called without a text.)"
    if len(text) <= MAX_MESSAGE:
        return text
    return f"{text[:MAX_MESSAGE]}\n[cut: {len(text) - MAX_MESSAGE:,} characters more]"


def _shown(hook: Hook, now: datetime) -> HookShape:
    paused = hook.paused_until if hook.paused_until is not None and hook.paused_until > now else None
    return HookShape.of(hook, paused_until=utc(paused))
