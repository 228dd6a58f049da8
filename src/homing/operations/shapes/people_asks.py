"""What may be asked about oneself: tokens, signing in, webhooks, memories; and about the house."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, SecretStr

from homing.model.bounds import MAX_SHORT
from homing.model.people import Role, is_place
from homing.operations.shapes.base import Answer, Ask, Name, PageAsk, Short, Text, utc
from homing.operations.shapes.job_asks import Id, Key


class MeShape(Answer):
    user_id: str
    name: str
    role: Role
    timezone: str | None
    quiet_hours: str | None
    """Such as 22:00-07:00, on the clock of one's zone: nothing is pushed then."""
    home: str | None
    """The key of the session for what belongs to no conversation; null before there is any."""
    approve: bool
    """Whether this caller may answer approvals: a page or token that was given the right."""


class UpdateMe(Ask):
    """Change one's name, zone, quiet hours or home; null means the default."""

    read_only: ClassVar[frozenset[str]] = frozenset({"user_id", "role", "approve"})

    name: Name | None = None
    timezone: Short | None = None
    quiet_hours: Short | None = None
    home: Key | None = None


UserId = Annotated[str, Field(min_length=1, max_length=64)]


class ListTokens(Ask):
    """List one's own tokens, or as an admin another user's."""

    user: UserId | None = None


class UserShape(Answer):
    user_id: str
    name: str
    role: Role
    timezone: str | None
    created_at: str
    tokens: int
    last_used_at: str | None


class CreateToken(Ask):
    """Make a token; for another user, or with the role admin, only by an admin."""

    user: UserId | None = None
    role: Role | None = None
    expires: Short | None = None
    name: Name | None = None
    approve: bool = False


class TokenRef(Ask):
    token_id: Id


class TokenShape(Answer):
    id: str
    user_id: str
    role: Role
    created_at: str
    expires_at: str | None
    name: str | None
    approve: bool
    owner: bool
    """The owner's token of a home."""
    made_from: str | None
    """The token that it ends with."""
    last_used_at: str | None


class NewTokenShape(Answer):
    """The token is shown only once."""

    id: str
    token: str
    user_id: str
    role: Role
    expires_at: str | None
    name: str | None
    approve: bool


class SignIn(Ask):
    """A one-time code, or a token."""

    code: Annotated[str, Field(max_length=256)] | None = None
    token: Annotated[str, Field(max_length=256)] | None = None


class SignedInShape(Answer):
    """Who is signed in now. The cookie's secret is for the door, never for the body.

    The key is for the page alone: it keeps it in its origin's storage and sends it as the header Homing-Key.
    """

    user_id: str
    role: Role
    expires_at: str
    key: str
    cookie: SecretStr = Field(exclude=True)


class SignOut(Ask):
    """The cookie that is given up, with the page's key."""

    cookie: Annotated[str, Field(max_length=256)]
    key: Annotated[str, Field(max_length=256)]


class SignedOutShape(Answer):
    signed_out: bool = True


class AddWebhook(Ask):
    """A URL of one's own to which messages are POSTed, signed."""

    url: Annotated[str, Field(min_length=1, max_length=2048)]


class WebhookRef(Ask):
    webhook_id: Id


class WebhookShape(Answer):
    id: str
    address: str
    url: str
    created_at: str


class NewWebhookShape(WebhookShape):
    """The secret is shown only once."""

    secret: str


class ListGrants(Ask):
    """Whose grants; another user's take an admin."""

    user: Annotated[str, Field(min_length=1, max_length=64)] | None = None


class AddGrant(Ask):
    """An address, another agent or another conversation that an agent may also write to, for another user only by an
    admin; or a host that it may reach."""

    agent_id: Short | None = None
    address: Annotated[str, Field(min_length=3, max_length=500)] | None = None
    session_key: Key | None = None
    to_agent_id: Short | None = None
    host: Annotated[str, Field(min_length=1, max_length=MAX_SHORT)] | None = None
    user: Annotated[str, Field(min_length=1, max_length=64)] | None = None


class GrantRef(Ask):
    grant_id: Id


class GrantShape(Answer):
    """An address, agent or conversation that an agent may also write to, or a host that it may also reach: all but one
    of them are null."""

    id: str
    user_id: str
    agent_id: str
    address: str | None
    session_key: str | None
    to_agent_id: str | None
    host: str | None
    paused_until: str | None
    """A loop brake stopped it until then."""
    created_at: str

    @classmethod
    def of(cls, thing: Any, *, now: datetime, **more: Any) -> Self:
        address = thing.address if is_place(thing.address) else None
        paused = utc(thing.paused_until) if thing.paused_until is not None and thing.paused_until > now else None
        return super().of(thing, **{"address": address, "paused_until": paused, **more})


class NewGrantShape(GrantShape):
    """Also says what is still missing before a message can arrive there."""

    warnings: list[str]


class ListMemories(PageAsk):
    """List one's memories, newest first, or those that fit a text best."""

    q: Annotated[str, Field(max_length=1000)] | None = None


class AddMemory(Ask):
    text: Text


class MemoryRef(Ask):
    memory_id: Id


class MemoryShape(Answer):
    id: str
    text: str
    session_key: str | None
    source: str | None
    """Where an unconfirmed one came from, such as "hook deploy"; or what the memory upkeep made it from."""
    confirmed: bool
    created_at: str


class DreamRef(Ask):
    """One time of memory upkeep, by the id on its line."""

    id: Id


class UndoneShape(Answer):
    """The memory upkeep that was undone: how many memories are back, and how many it had added."""

    id: str
    restored: int
    removed: int


class Gone(Answer):
    """What was removed."""

    id: str
    removed: bool = True


class ModelShape(Answer):
    name: str
    offline: bool
    why: str


class SchedulerShape(Answer):
    enabled: bool
    workers: int
    beat_at: str | None
    next_wake_at: str | None


class JobCounts(Answer):
    active: int
    paused: int
    attention: int
    done: int


class RunCounts(Answer):
    queued: int
    running: int


class DeliveryCounts(Answer):
    pending: int
    dead: int


class StatusShape(Answer):
    """How this Homing is, and the caller's own numbers."""

    version: str
    server_time: str
    timezone: str
    model: ModelShape
    database: str
    channels: list[str]
    """Where messages can be delivered with this server's settings."""
    scheduler: SchedulerShape
    jobs: JobCounts
    status_words: dict[str, str]
    """How each status of a job reads."""
    runs: RunCounts
    deliveries: DeliveryCounts
