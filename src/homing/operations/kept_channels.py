"""The channels of this Homing as they are now: those that its settings name, and those that admins added.

Settings are read once, when a process starts; an added channel is a row, and takes effect when it is committed.
"""

from collections.abc import Sequence
from dataclasses import replace

from homing.model.channel_info import ChannelInfo
from homing.operations.context import Context
from homing.settings import ChannelSettings, Settings
from homing.store import Tx, maintenance


def with_kept(tx: Tx, settings: Settings) -> Settings:
    """Add the channels that were added on the page or by command. If both have the same name, the settings win."""
    named = settings.channel_names
    kept = [
        ChannelSettings(name=one.name, kind=one.kind, fields={}, secret=one.secret)
        for one in maintenance.kept_channels(tx)
        if one.name not in named
    ]
    return replace(settings, channels=(*settings.channels, *kept)) if kept else settings


def channels_now(ctx: Context) -> Sequence[ChannelInfo]:
    """Describe the channels that there are now."""
    return ctx.instance.channels(with_kept(ctx.tx, ctx.settings))
