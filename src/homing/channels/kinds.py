"""Kinds of channels: what a package offers under the entry point group `homing.channels`, and how one is made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from homing.channels import Channel

Make: TypeAlias = Callable[[str, Mapping[str, str]], Channel]
"""Gets the account's name and its fields, secrets resolved; raises ValueError for a field that cannot be used."""


@dataclass(frozen=True, kw_only=True)
class ChannelKind:
    """One kind of channel."""

    fields: Mapping[str, bool]
    """The fields that its settings have; True: needed."""
    make: Make
