"""A channel as operations know it: its name, its kind and what it can do; not the channel itself."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

MAIL = "email"
"""The kind of mail accounts, and the name of the one that needs no other. Its addresses are proved by a code."""
FIELDS_FILE = "channel"
"""Begins the names of the files that hold the fields of channels, in `secrets` of home."""


@dataclass(frozen=True, kw_only=True)
class ChannelInfo:
    """One account that the settings name."""

    name: str
    kind: str
    listens: bool = False
    capabilities: Mapping[str, object] | None = None
    error: str | None = None
    """Why it cannot be used at all."""
    kept: bool = False
    """An admin added it on the page or by command, and can change it there; else the server's settings name it."""


@dataclass(frozen=True, kw_only=True)
class KindInfo:
    """A kind of channel that can be added here."""

    kind: str
    fields: Mapping[str, bool]
    """The fields of its settings; True: needed."""


@dataclass(frozen=True, kw_only=True)
class KeptChannel:
    """A channel that an admin added on the page or by command: a row that names the file of its fields."""

    name: str
    kind: str
    secret: str
    set_by: str
    set_at: str

    def dumped(self) -> str:
        return json.dumps(asdict(self))


def load_kept(text: str) -> KeptChannel:
    """Read what `dumped` wrote."""
    return KeptChannel(**json.loads(text))


@dataclass(frozen=True, kw_only=True)
class KeptTrial:
    """A channel that was signed in to, and the file that its fields were written to."""

    account: str
    secret: str


@dataclass(frozen=True, kw_only=True)
class ChannelTrial:
    """What one try has shown."""

    account: str
    receipt: Mapping[str, object] | None = None
