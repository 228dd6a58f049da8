"""One's own browsers that get notifications (rules 58, 61)."""

from homing.model.errors import Conflict, NotFound, Unauthenticated
from homing.model.push import MOST_DEVICES, PUSH, PushDevice, check_auth, check_endpoint, check_public_point
from homing.operations.context import Context
from homing.operations.shapes.base import Nothing
from homing.operations.shapes.people_asks import Gone
from homing.operations.shapes.push_asks import AddPush, PushListing, PushRef, PushShape
from homing.store import Tx, deliveries, people, push, sessions


def list_push(ctx: Context, ask: Nothing) -> PushListing:
    """List your browsers that get notifications, with the key that another one subscribes with."""
    found = push.of_user(ctx.tx, ctx.caller.user_id)
    return PushListing(items=[PushShape.of(device) for device in found], public_key=ctx.instance.push_key())


def add_push(ctx: Context, ask: AddPush) -> PushShape:
    """Push notifications to a browser of yours. Adding it again changes its name and keys.

    One that another user has added comes to you if you give the same keys: only that browser knows them.
    """
    endpoint = check_endpoint(ask.endpoint)
    p256dh, auth = check_public_point(ask.keys.p256dh), check_auth(ask.keys.auth)
    public_key = ctx.instance.push_key()
    if ask.public_key is not None and ask.public_key.rstrip("=") != public_key:
        raise Conflict(
            "This browser subscribed with another key than this server has now. Turn notifications off and on again;"
            " if several servers share this database, set HOMING_SECRET_VAPID to the same value on each."
        )
    user_id, name = ctx.caller.user_id, ask.name or "Browser"
    token_id = _proof(ctx)
    push.lock_user(ctx.tx, user_id)
    known = push.at_endpoint(ctx.tx, endpoint)
    if known is not None and known.user_id == user_id:
        keys = {"p256dh": p256dh, "auth": auth, "public_key": public_key}
        return _show(ctx, push.change(ctx.tx, known.id, name=name, token_id=token_id, **keys))
    if known is not None and (known.p256dh, known.auth) != (p256dh, auth):
        raise Conflict("This subscription belongs to another browser. Turn notifications off and on again.")
    if len(push.of_user(ctx.tx, user_id)) >= MOST_DEVICES:
        raise Conflict(f"You have {MOST_DEVICES} browsers already. Remove one with remove_push.")
    if known is not None:
        # What was on its way to its former user is settled by the courier, who finds it gone.
        push.remove(ctx.tx, known.id)
        ctx.tx.ring(f"user:{known.user_id}")
    device = push.add(
        ctx.tx,
        user_id=user_id,
        name=name,
        endpoint=endpoint,
        p256dh=p256dh,
        auth=auth,
        public_key=public_key,
        token_id=token_id,
    )
    return _show(ctx, device)


def _proof(ctx: Context) -> str | None:
    """Name the token whose revocation removes this browser: the caller's, or the one that their sign-in was made from.
    It is locked, so that a revocation waits for the browser, or the browser is refused.
    """
    proof = people.get_token(ctx.tx, ctx.caller.token_id) if ctx.caller.token_id is not None else None
    token_id = proof.id if proof is not None and proof.kind == "token" else proof.made_from if proof else None
    if ctx.caller.token_id is not None and (
        proof is None or (token_id is not None and people.hold_token(ctx.tx, token_id) is None)
    ):
        raise Unauthenticated("This sign-in has ended. Sign in again.")
    return token_id


def _show(ctx: Context, device: PushDevice) -> PushShape:
    ctx.tx.ring(f"user:{ctx.caller.user_id}")
    return PushShape.of(device)


def remove_push(ctx: Context, ask: PushRef) -> Gone:
    """Push nothing more to a browser; what was on its way there is given up."""
    device = push.get(ctx.tx, ask.push_id)
    if device is None or device.user_id != ctx.caller.user_id:
        raise NotFound(f"There is no browser {ask.push_id}. List yours with list_push.")
    owing = deliveries.sessions_owing(ctx.tx, device.address)
    sessions.lock(ctx.tx, owing)
    push.remove(ctx.tx, device.id)
    # What is posted meanwhile is settled by the courier, who finds it gone.
    revisions = sessions.bump_rev(ctx.tx, dict.fromkeys(owing, 0))
    deliveries.settle_all(ctx.tx, device.address, revisions, why="removed")
    ctx.tx.ring(f"user:{ctx.caller.user_id}")
    return Gone(id=device.id)


def is_own_browser(tx: Tx, user_id: str, address: str) -> bool:
    """Say whether an address is one of a user's browsers."""
    channel, _, place = address.partition(":")
    device = push.get(tx, place) if channel == PUSH else None
    return device is not None and device.user_id == user_id
