"""Doors for others' programs into a session. What they bring is always queued, and marked as theirs."""

from homing.model.errors import NotFound
from homing.model.ids import new_secret
from homing.operations.desk import Desk, lane_of
from homing.operations.shapes.base import MAX_MESSAGE, Listing, utc
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
from homing.store import inbounds, people, sessions
from homing.store.inbounds import NewInbound
from homing.store.people import Hook


def list_hooks(desk: Desk, ask: SessionRef) -> Listing[HookShape]:
    """List a session's hooks."""
    session = desk.session(ask.session_key)
    return Listing(items=[_shown(hook) for hook in people.list_hooks(desk.tx, session.id)])


def add_hook(desk: Desk, ask: AddHook) -> NewHookShape:
    """Make a hook; its address is its secret and is shown this once."""
    session = desk.session(ask.session_key)
    secret = new_secret()
    hook = people.add_hook(desk.tx, session_id=session.id, name=ask.name, secret=secret)
    base = desk.settings.public_url or f"http://{desk.settings.host}:{desk.settings.port}"
    return NewHookShape(**_shown(hook).plain(), url=f"{base}/api/hooks/{secret}")


def remove_hook(desk: Desk, ask: RemoveHook) -> Gone:
    """Close a hook."""
    session = desk.session(ask.session_key)
    if not people.remove_hook(desk.tx, session.id, ask.hook_id):
        raise NotFound(f"There is no hook {ask.hook_id}. List them with list_hooks.")
    return Gone(id=ask.hook_id)


def call_hook(desk: Desk, ask: CallHook) -> CalledShape:
    """Take in what another program says, once for each id it gives. The token alone says who may."""
    hook = people.find_hook(desk.tx, ask.token)
    session = sessions.get(desk.tx, hook.session_id) if hook else None
    if hook is None or session is None or session.deleted_at is not None:
        raise NotFound("There is no such hook.")
    lane_id = lane_of(desk.tx, session, unified=desk.settings.unified_session)
    sessions.lock(desk.tx, [session.id, lane_id])
    if sessions.get(desk.tx, session.id).deleted_at is not None:
        raise NotFound("There is no such hook.")
    external_id = f"{hook.id}:{ask.external_id}" if ask.external_id else None
    known = inbounds.find_external(desk.tx, session.id, external_id) if external_id else None
    if known is not None:
        return CalledShape(inbound_id=known.id, repeats="same" if known.text == _text(ask.body) else "other")
    [inbound_id] = inbounds.enqueue(
        desk.tx,
        [
            NewInbound(
                session_id=session.id,
                lane_id=lane_id,
                user_id=session.user_id,
                source="hook",
                text=_text(ask.body),
                line="machines",
                address=session.key,
                external_id=external_id,
                meta={"hook_id": hook.id, "hook_name": hook.name},
            )
        ],
    )
    sessions.mark(desk.tx, {session.id: 0})
    return CalledShape(inbound_id=inbound_id)


def _text(body: str | None) -> str:
    text = (body or "").strip() or "(The hook was called without a text.)"
    if len(text) <= MAX_MESSAGE:
        return text
    return f"{text[:MAX_MESSAGE]}\n[cut: {len(text) - MAX_MESSAGE:,} characters more]"


def _shown(hook: Hook) -> HookShape:
    return HookShape(id=hook.id, name=hook.name, created_at=str(utc(hook.created_at)))
