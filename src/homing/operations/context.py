"""The desk: one transaction, one caller. Every operation takes it first, and checks its rules here and nowhere else."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from homing.model.channel_info import ChannelInfo, KindInfo
from homing.model.clock import one_name
from homing.model.errors import Forbidden, NotFound
from homing.model.model_setting import ModelSetting
from homing.model.people import Caller
from homing.model.sessions import UNIFIED, Session
from homing.settings import Settings
from homing.store import LookAgain, Tx, people, sessions

if TYPE_CHECKING:
    from homing.operations.hands import Hands


@dataclass(frozen=True, kw_only=True)
class Instance:
    """What this Homing is: the same for everybody who asks."""

    version: str
    model: str
    model_offline: bool
    model_why: str
    settings: Settings
    why_unusable: Callable[[str], str | None] = lambda name: None
    """Says why a model of that name cannot be asked from here; None when it can."""
    calls_tools: Callable[[str], bool] = lambda name: True
    """Says whether a model of that name can call tools, as far as anyone knows."""
    has_price: Callable[[str], bool] = lambda name: True
    """Says whether the price list knows a model of that name."""
    channels: Callable[[Settings], Sequence[ChannelInfo]] = lambda settings: ()
    """Describes the channels that the settings name (`kept_channels.channels_now`)."""
    channel_kinds: Callable[[], Sequence[KindInfo]] = lambda: ()
    """Lists the kinds of channels that can be added here."""
    needs_key: Callable[[str], bool] = lambda name: False
    """Says whether a key is all that a model of that name lacks."""
    why_no_key: Callable[[ModelSetting], str | None] = lambda setting: None
    """Says why the key that an admin gave cannot be read here; None when it can, or none is needed."""
    push_key: Callable[[], str] = lambda: ""
    """Gives the public half of the key that pushes are signed with, made when first asked for."""
    hands: "Hands | None" = None
    """What this process can do outside the database."""


@dataclass(frozen=True, kw_only=True)
class Context:
    """One open transaction and the one who asks in it."""

    tx: Tx
    caller: Caller
    instance: Instance

    @property
    def settings(self) -> Settings:
        return self.instance.settings

    @property
    def now(self) -> datetime:
        return self.tx.now()

    def session(self, key: str) -> Session:
        """Find the caller's own session, or say that there is none. A shared lane is nobody's conversation."""
        session = sessions.find(self.tx, key, user_id=self.caller.user_id)
        if session is None or key.startswith(UNIFIED):
            raise NotFound(f"There is no session {key}. List yours with list_sessions.")
        return session

    def again(self, session: Session) -> Session:
        """Read a session once more now that it is locked: it may be gone, or its key may name a new session."""
        now = self.session(session.key)
        if now.id != session.id:
            raise LookAgain
        return now

    def zone(self, session: Session | None = None) -> str:
        """Rule 8: the session's zone, else the user's, else the setting's."""
        if session is not None and session.timezone:
            return one_name(session.timezone)
        user = people.get_user(self.tx, session.user_id if session is not None else self.caller.user_id)
        return one_name((user.timezone if user else None) or self.settings.timezone)

    def admin(self) -> None:
        if not self.caller.admin:
            raise Forbidden("Only an admin may do this.")
