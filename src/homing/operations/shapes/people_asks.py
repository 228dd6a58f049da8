"""What may be asked about oneself: tokens, signing in, webhooks, memories; and about the house."""

from typing import Annotated, ClassVar

from pydantic import Field, SecretStr

from homing.model.people import Role
from homing.operations.shapes.base import Answer, Ask, Name, PageAsk, Short, Text
from homing.operations.shapes.job_asks import Id


class MeShape(Answer):
    user_id: str
    name: str
    role: Role
    timezone: str | None


class UpdateMe(Ask):
    """Change one's name or zone; null means the default."""

    read_only: ClassVar[frozenset[str]] = frozenset({"user_id", "role"})

    name: Name | None = None
    timezone: Short | None = None


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
    """An address that an agent may also write to; for another user, only by an admin."""

    # Other kinds of grants, which nothing here could use yet.
    read_only: ClassVar[frozenset[str]] = frozenset({"session_key", "host", "to_agent_id"})

    agent_id: Short | None = None
    address: Annotated[str, Field(min_length=3, max_length=500)]
    user: Annotated[str, Field(min_length=1, max_length=64)] | None = None


class GrantRef(Ask):
    grant_id: Id


class GrantShape(Answer):
    id: str
    user_id: str
    agent_id: str
    address: str
    created_at: str


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
    """Where an unconfirmed one came from, such as "hook deploy"."""
    confirmed: bool
    created_at: str


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
    scheduler: SchedulerShape
    jobs: JobCounts
    status_words: dict[str, str]
    """How each status of a job reads."""
    runs: RunCounts
    deliveries: DeliveryCounts
