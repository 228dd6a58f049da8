"""The channels of this Homing: list them with their state, try one, add, change and remove them (rule 58).

What is added is a row that names the file of its fields, so tokens are in no row. Engines follow the row at once.
"""

from homing.model.channel_info import MAIL, ChannelInfo, KeptChannel, KeptTrial
from homing.model.errors import ChannelFailed, Conflict, Invalid, NotFound
from homing.operations.context import Context
from homing.operations.hands import Desk
from homing.operations.kept_channels import channels_now
from homing.operations.shapes.base import Listing, Nothing, utc
from homing.operations.shapes.channel_asks import (
    AddChannel,
    ChannelKindShape,
    ChannelRef,
    ChannelShape,
    ChannelState,
    KindFieldShape,
    StrangersShape,
    TestChannel,
    TriedChannelShape,
    UpdateChannel,
)
from homing.operations.shapes.people_asks import Gone
from homing.operations.workers import works_apart
from homing.settings import CHANNEL, PLAIN_FIELDS, why_no_channel_name
from homing.store import listeners, maintenance, people
from homing.store.listeners import Listener


def list_channels(ctx: Context, ask: Nothing) -> Listing[ChannelShape]:
    """List the channels that are set up here, with their state, account and error."""
    known = channels_now(ctx)
    heard = listeners.get_many(ctx.tx, [channel.name for channel in known])
    return Listing(items=[_show(ctx, channel, heard.get(channel.name)) for channel in known])


async def test_channel(desk: Desk, ask: TestChannel) -> TriedChannelShape:
    """Sign in to a channel; with an address, also send a test message there. The answer has the platform's words."""
    known = await desk.read(lambda ctx: {channel.name for channel in channels_now(ctx)})
    if ask.name not in known:
        raise NotFound(f"There is no channel {ask.name}. List them with list_channels; an admin sets them up.")
    try:
        tried = await desk.hands.try_channel(ask.name, ask.address)
    except ChannelFailed as error:
        return TriedChannelShape(name=ask.name, ok=False, account=None, receipt=None, error=error.detail)
    receipt = dict(tried.receipt) if tried.receipt is not None else None
    return TriedChannelShape(name=ask.name, ok=True, account=tried.account, receipt=receipt, error=None)


def list_channel_kinds(ctx: Context, ask: Nothing) -> Listing[ChannelKindShape]:
    """List the kinds of channels that can be added here, and their fields (admins only)."""
    return Listing(
        items=[
            ChannelKindShape(
                kind=one.kind,
                fields=[
                    KindFieldShape(name=name, required=required, secret=name not in PLAIN_FIELDS)
                    for name, required in one.fields.items()
                ],
            )
            for one in ctx.instance.channel_kinds()
        ]
    )


async def prepare_add_channel(desk: Desk, ask: AddChannel) -> KeptTrial:
    """Sign in to the channel; only after that are its fields written."""
    await desk.read(lambda ctx: _check_new(ctx, ask))
    return await desk.hands.keep_channel(ask.name, ask.kind or ask.name, ask.fields, None)


def add_channel(ctx: Context, ask: AddChannel, tried: KeptTrial) -> ChannelShape:
    """Add a channel (admins only). Homing signs in to it first; then it works at once, without a restart."""
    _check_new(ctx, ask)
    return _keep(ctx, "add_channel", ask.name, ask.kind or ask.name, tried, before=None)


async def prepare_update_channel(desk: Desk, ask: UpdateChannel) -> tuple[KeptTrial, KeptChannel]:
    """Sign in with the new fields; only after that are they written."""
    kept = await desk.read(lambda ctx: _kept(ctx, ask.name))
    return await desk.hands.keep_channel(kept.name, kept.kind, ask.fields, kept.secret), kept


def update_channel(ctx: Context, ask: UpdateChannel, prepared: tuple[KeptTrial, KeptChannel]) -> ChannelShape:
    """Change a channel that was added, such as its token (admins only). It takes effect at once, without a restart."""
    tried, before = prepared
    _kept(ctx, ask.name)
    return _keep(ctx, "update_channel", before.name, before.kind, tried, before=before)


def remove_channel(ctx: Context, ask: ChannelRef) -> Gone:
    """Remove a channel that was added (admins only). If it is added again, people linked there are still linked."""
    kept = _kept(ctx, ask.name)
    maintenance.drop_channel(ctx.tx, kept.name)
    _audit(ctx, "remove_channel", kept.name, kept.kind)
    return Gone(id=kept.name)


def _keep(
    ctx: Context, action: str, name: str, kind: str, tried: KeptTrial, *, before: KeptChannel | None
) -> ChannelShape:
    user = people.get_user(ctx.tx, ctx.caller.user_id)
    by = (user.name if user else None) or ctx.caller.user_id
    kept = KeptChannel(name=name, kind=kind, secret=tried.secret, set_by=by, set_at=ctx.now.isoformat())
    if not maintenance.keep_channel(ctx.tx, kept, before=before):
        raise Conflict(f"Somebody else added or changed {name} in the meantime. Read it again, then repeat the change.")
    # The last error was about the old fields.
    listeners.forget_error(ctx.tx, name, account=tried.account)
    _audit(ctx, action, name, kind)
    info = next(one for one in channels_now(ctx) if one.name == name)
    return _show(ctx, info, listeners.get(ctx.tx, name))


def _audit(ctx: Context, action: str, name: str, kind: str) -> None:
    people.audit(ctx.tx, user_id=ctx.caller.user_id, action=action, object_id=name, detail={"kind": kind})


def _check_new(ctx: Context, ask: AddChannel) -> None:
    _check_home(ctx, ask.name)
    kind = ask.kind or ask.name
    known = [one.kind for one in ctx.instance.channel_kinds()]
    if kind not in known:
        raise Invalid(f"There is no kind {kind:.64}. Choose one of {', '.join(known)}.", field="kind")
    if (why := why_no_channel_name(ask.name, kind)) is not None:
        raise Invalid(why, field="name")
    if ask.name in ctx.settings.channel_names:
        raise _in_settings(ask.name)
    if any(one.name == ask.name for one in maintenance.kept_channels(ctx.tx)):
        raise Conflict(f"There is a channel {ask.name} already. Change it (update_channel), or choose another name.")


def _kept(ctx: Context, name: str) -> KeptChannel:
    _check_home(ctx, name)
    if name in ctx.settings.channel_names:
        raise _in_settings(name)
    for one in maintenance.kept_channels(ctx.tx):
        if one.name == name:
            return one
    if any(one.name == name for one in channels_now(ctx)):
        raise Conflict(f"{name} comes from HOMING_SMTP_URL: change it there, then start Homing again.")
    raise NotFound(f"There is no channel {name:.64}. List them with list_channels.")


def _in_settings(name: str) -> Conflict:
    return Conflict(
        f"{name} comes from the server's own settings. Change [channels.{name}] in homing.toml or"
        f" {CHANNEL}{name.upper()}_… there, then start Homing again."
    )


def _check_home(ctx: Context, name: str) -> None:
    if works_apart(ctx.tx, ctx.settings.home):
        raise Conflict(
            "An engine of this Homing runs with another home, so it could not read a token that is kept here. Set"
            f" {CHANNEL}{name.upper()}_… where `homing work` runs, and start it again."
        )


def _show(ctx: Context, channel: ChannelInfo, listener: Listener | None) -> ChannelShape:
    error = channel.error or (listener.error if listener else None)
    strangers = StrangersShape(
        count=listener.strangers if listener else 0,
        last_at=str(utc(listener.stranger_at)) if listener and listener.stranger_at else None,
    )
    return ChannelShape(
        name=channel.name,
        kind=channel.kind,
        state=_state(ctx, channel, listener, error),
        account=listener.account if listener else None,
        error=error,
        strangers=strangers,
        capabilities=dict(channel.capabilities) if channel.capabilities is not None else None,
        linking="mail" if channel.kind == MAIL else "code" if channel.listens else None,
        added=channel.kept,
    )


def _state(ctx: Context, channel: ChannelInfo, listener: Listener | None, error: str | None) -> ChannelState:
    if error is not None:
        return "failing"
    if not channel.listens:
        return "sending"
    return "off" if listener is None or listener.is_free(ctx.now) else "listening"
