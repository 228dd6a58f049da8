"""The inbox: what a person should look at."""

from homing.model.inbox import InboxKind
from homing.operations.shapes.base import Answer, Ask, Page, PageAsk
from homing.operations.shapes.job_asks import Id


class ListInbox(PageAsk):
    """List what arrived unread, what waits for an answer and what failed, newest first."""


class SeeInbox(Ask):
    """An item that the caller has looked at, by kind and id; without both, all that is there."""

    kind: InboxKind | None = None
    id: Id | None = None


class InboxCounts(Answer):
    """How many items there are: those that wait for an answer, and those not looked at yet.

    `unread` counts messages in all conversations.
    """

    waiting: int
    unseen: int
    unread: int


class InboxItemShape(Answer):
    """One thing to look at. `id` is an approval's, a question's, a failed run's or a dead delivery's.

    `unread` is one conversation: `id` is its key, `title` the newest words, `count` how many messages arrived there,
    and `seq` and `last_seq` the first and the last of them.
    """

    kind: InboxKind
    id: str
    session_key: str
    session_title: str | None
    title: str
    at: str
    seen: bool
    job_id: str | None
    count: int
    seq: int | None
    last_seq: int | None


class InboxPage(Page[InboxItemShape]):
    """One page of the inbox, and the numbers of the whole."""

    waiting: int
    unseen: int
    unread: int
