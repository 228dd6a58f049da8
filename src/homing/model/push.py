"""A browser that notifications are pushed to: what its subscription must be (RFC 8030, RFC 8291). Pure judgement; what
the endpoint's name resolves to is judged again for each attempt.
"""

import base64
import binascii
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from homing.model.addresses import names_loopback, read_address, refused_because
from homing.model.errors import Invalid
from homing.model.hours import is_within, read_hours

PUSH = "push"
MOST_DEVICES = 20
MAX_ENDPOINT = 2048
MAX_KEY = 128
SECRET_NAME = "VAPID"  # noqa: S105 - the name of a secret, not one
"""HOMING_SECRET_VAPID, or the file of that name in `secrets` of home."""

# The curve P-256 of the public key.
_P = 2**256 - 2**224 + 2**192 + 2**96 - 1
_B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B


@dataclass(frozen=True, kw_only=True)
class PushDevice:
    """A browser of a user. Endpoint and keys are secrets: anyone who has them can write to it."""

    id: str
    user_id: str
    name: str
    endpoint: str = field(repr=False)
    p256dh: str = field(repr=False)
    auth: str = field(repr=False)
    public_key: str
    """The server's key that the browser subscribed with; another one is refused by its push service."""
    created_at: datetime
    last_at: datetime | None

    @property
    def address(self) -> str:
        return f"{PUSH}:{self.id}"


def check_endpoint(url: str) -> str:
    """Return an endpoint as it can be kept, or say what is wrong with it without repeating it."""
    if not url.isascii() or any(not char.isprintable() or char in " \\" for char in url):
        raise _invalid("endpoint", "An endpoint is a URL in ASCII, without spaces and backslashes.")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port  # a port that is not a number shows itself only when asked for
    except ValueError:
        raise _invalid("endpoint", "This endpoint is not a URL.") from None
    if parts.scheme != "https" or not host:
        raise _invalid("endpoint", "An endpoint begins with https:// and names a host.")
    if parts.username is not None or parts.password is not None:
        raise _invalid("endpoint", "An endpoint has no user name and no password.")
    address = read_address(host)
    why = "this machine" if names_loopback(host) else None if address is None else refused_because(address)
    if why:
        raise _invalid("endpoint", f"Notifications are not pushed to {why}.")
    return url


def check_public_point(text: str) -> str:
    """Return a browser's public key, or say that it is not one: 65 bytes, a point of the curve P-256."""
    point = read_base64url(text)
    x, y = (int.from_bytes((point or b"")[begin : begin + 32]) for begin in (1, 33))
    on_curve = x < _P and y < _P and (y * y - (x * x * x - 3 * x + _B)) % _P == 0
    if point is None or len(point) != 65 or point[0] != 4 or not on_curve:
        raise _invalid("p256dh", "p256dh is not the public key of a subscription: an uncompressed point of P-256.")
    return text.rstrip("=")


def check_auth(text: str) -> str:
    """Return a subscription's secret, or say that it is not one: 16 bytes."""
    if len(read_base64url(text) or b"") != 16:
        raise _invalid("auth", "auth is not the secret of a subscription: 16 bytes in base64url.")
    return text.rstrip("=")


def read_base64url(text: str) -> bytes | None:
    """Read base64url with or without padding; None when it is something else."""
    bare = text.rstrip("=")
    if not bare.isascii() or not all(char.isalnum() or char in "-_" for char in bare):
        return None
    try:
        read = base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return None
    # Spelled in one way only: leftover bits would make two spellings of one key.
    return read if write_base64url(read) == bare else None


def write_base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def is_quiet(quiet_hours: str | None, now: datetime, tz: str) -> bool:
    """Say whether an instant is in somebody's quiet hours, on the clock of their zone."""
    return quiet_hours is not None and is_within(read_hours(quiet_hours), now.astimezone(ZoneInfo(tz)).time())


def _invalid(field: str, detail: str) -> Invalid:
    return Invalid(detail, field=field, code="out_of_range")
