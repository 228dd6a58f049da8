"""What may be asked about sessions, their messages and their addresses."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from homing.model.bounds import MAX_MESSAGE, MAX_NAME
from homing.model.files import MAX_FILES
from homing.operations.shapes.base import Answer, Ask, Count, Name, PageAsk, Short
from homing.operations.shapes.file import FileId
from homing.operations.shapes.job_asks import Id, Key

Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME)]
Address = Annotated[str, Field(min_length=3, max_length=500)]


class SessionRef(Ask):
    """One session."""

    session_key: Key


class AddSession(Ask):
    """Make a session; without a key it gets a new one."""

    key: Key | None = None
    title: Title | None = None
    agent_id: Short | None = None
    timezone: Short | None = None


class ListSessions(PageAsk):
    """List one's own sessions, newest activity first."""

    q: Short | None = None
    channel: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    pinned: bool | None = None
    archived: bool | None = None
    """If left out, archived ones are listed only when `q` is given."""


class BranchSession(SessionRef):
    """Continue from a message in a new session; with `text`, that message is replaced by it."""

    seq: Annotated[int, Field(ge=1)]
    text: Annotated[str, Field(min_length=1, max_length=MAX_MESSAGE)] | None = None


class ExportSession(SessionRef):
    """Read a whole session as a file."""

    format: Literal["markdown", "json"] = "markdown"


class UpdateSession(SessionRef):
    """Change a session: fields given change, null means the default."""

    read_only: ClassVar[frozenset[str]] = frozenset(
        "key user_id state turn lane lane_size home automations last_message unread read_seq branch_of"
        " created_at updated_at deleted_at".split()
    )

    title: Title | None = None
    timezone: Short | None = None
    agent_id: Short | None = None
    model: Short | None = None
    addresses: Annotated[list[Address], Field(max_length=20)] | None = None
    pinned: bool | None = None
    archived: bool | None = None
    revision: Count | None = None


class MarkRead(SessionRef):
    """Say that one has read a session up to a message."""

    seq: Count


class DeleteSession(SessionRef):
    """Delete a session; its automations only when that is said."""

    delete_automations: bool = False


class BlockingJob(Answer):
    """An automation that prevents a deletion."""

    id: str
    name: str
    enabled: bool


class DeletedShape(Answer):
    """How a deletion ended."""

    deleted: bool
    blocked_by_automations: bool
    automations: list[BlockingJob]
    removed: list[BlockingJob] = Field(default_factory=list[BlockingJob], exclude_if=lambda found: not found)
    """Old automations, never bound to a person's chat, that went with the session unasked."""


class SendMessage(SessionRef):
    """Say something in a session, which is made if it is missing."""

    text: Annotated[str, Field(max_length=MAX_MESSAGE)] = ""
    """May be left out if there are files."""
    files: Annotated[list[FileId], Field(max_length=MAX_FILES)] = Field(default_factory=list[str])
    """Ids that add_file gave, in the order in which they are shown."""
    mode: Literal["inject", "queue"] = "inject"
    sender_id: Short | None = None
    wait: Annotated[int, Field(ge=1, le=120)] | None = Field(
        default=None, description="Seconds to wait for the answer, which then comes along"
    )


class SentShape(Answer):
    """What becomes of a message."""

    inbound_id: str
    session_key: str
    will: Literal["start", "inject", "queue"]


class ListMessages(PageAsk, SessionRef):
    """Read a session: the newest page, oldest first; `after` a seq goes forward, `before` one goes back."""

    after: Count | None = None
    before: Count | None = None


class CancelTurn(SessionRef):
    """Stop the answer in progress, or that of one turn."""

    turn_id: Id | None = None


class CancelledShape(Answer):
    cancelled: bool
    turn_id: str | None


class TestAddress(SessionRef):
    """Send a test message to one address."""

    address: Address


class AddHook(SessionRef):
    """Open a door for others' programs into a session."""

    name: Name | None = None


class RemoveHook(SessionRef):
    """Close such a door."""

    hook_id: Id


class HookShape(Answer):
    id: str
    name: str | None
    created_at: str
    paused_until: str | None
    """While a brake keeps it closed (rule 35)."""


class NewHookShape(HookShape):
    """The URL is shown only once."""

    url: str


class CallHook(Ask):
    """What another program says, as text; the HTTP door opens {"text": …} and keeps any other JSON as it came."""

    token: Annotated[str, Field(min_length=1, max_length=256)]
    body: str | None = None
    external_id: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    depth: Annotated[int, Field(ge=0)] = 0
    """How many turns, each caused by the one before, led to this call: what `homing-depth` says, else 0."""


class CalledShape(Answer):
    inbound_id: str
    repeats: Literal["same", "other"] | None = Field(default=None, exclude=True)
    """For the door: the key was known, and came with the same words or with others."""


class ListDeliveries(PageAsk):
    """List deliveries, newest first."""

    state: Literal["pending", "sent", "dead"] | None = None
    session_key: Key | None = None
    outside: bool = False
    """Leave out deliveries to the page, the command line and the API, which show the message itself."""


class DeliveryRef(Ask):
    """One delivery."""

    delivery_id: Id
