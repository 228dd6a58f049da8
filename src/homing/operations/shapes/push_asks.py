"""What may be asked about browsers that notifications are pushed to. No answer holds an endpoint or a key of one."""

from typing import Annotated

from pydantic import Field

from homing.model.push import MAX_ENDPOINT, MAX_KEY
from homing.operations.shapes.base import Answer, Ask, Listing, Name
from homing.operations.shapes.job_asks import Id

Key = Annotated[str, Field(min_length=1, max_length=MAX_KEY)]


class SubscriptionKeys(Ask):
    """The keys of a browser's subscription, in base64url."""

    p256dh: Key
    auth: Key


class AddPush(Ask):
    """A browser's subscription, as `PushSubscription.toJSON()` gives it."""

    endpoint: Annotated[str, Field(min_length=1, max_length=MAX_ENDPOINT)]
    keys: SubscriptionKeys
    name: Name | None = None
    public_key: Key | None = None
    """The server's key that the browser subscribed with; left out, it is the one that list_push gives now."""


class PushRef(Ask):
    push_id: Id


class PushShape(Answer):
    """A browser that gets your notifications."""

    id: str
    name: str
    created_at: str
    last_at: str | None
    """When its push service last took one."""


class PushListing(Listing[PushShape]):
    public_key: str
    """What a browser subscribes with: its `applicationServerKey`."""
