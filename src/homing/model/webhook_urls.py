"""Where webhooks and mail may go. Pure judgement; what a name resolves to is judged again for each attempt."""

import base64
import re
import secrets
from urllib.parse import SplitResult, urlsplit

from homing.model.addresses import names_loopback, read_address, refused_because
from homing.model.errors import Invalid

MAX_URL = 2048
# Narrower than the law of mail, on purpose: no quote, bracket, comma or space that could grow into a second address.
_MAILBOX = re.compile(r"[^\s\x00-\x1f\x7f\"(),:;<>@\[\\\]]+@[\w-]+(\.[\w-]+)*")


def loopback_allowed(host: str, public_url: str | None) -> bool:
    """Say whether a server that listens here may send to loopback: anyone who can ask it can reach loopback anyway."""
    return public_url is None and names_loopback(host)


def is_mailbox(text: str) -> bool:
    """Say whether a text is exactly one mail address, and none that a mail program would decode into another."""
    return _MAILBOX.fullmatch(text) is not None and "=?" not in text


def check_mailbox(text: str, *, field: str) -> None:
    """Refuse what is not exactly one mail address."""
    if not is_mailbox(text):
        raise Invalid(
            f"{text:.80} is not a mail address; write email:anna@example.org.", field=field, code="out_of_range"
        )


def check_url(url: str, *, loopback: bool) -> str:
    """Return a webhook's URL as it can be kept, or say what is wrong with it."""
    url = url.strip()
    parts = _split(url)
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or not host:
        raise _invalid("A webhook's URL begins with http:// or https:// and names a host.")
    if parts.username is not None or parts.password is not None:
        raise _invalid("Leave user name and password out of the URL; requests are signed with the webhook's secret.")
    address = read_address(host)
    if names_loopback(host):
        why = None if loopback else "this machine"
    else:
        why = None if address is None else refused_because(address)
    if why:
        raise _invalid(f"Webhooks are not sent to {why} ({host}). Use an address that is reachable from outside.")
    return url


def new_signing_secret() -> str:
    """Make a secret as Standard Webhooks wants it: plain base64, which every library reads alike."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def _split(url: str) -> SplitResult:
    if len(url) > MAX_URL:
        raise Invalid(f"A webhook's URL has at most {MAX_URL} characters.", field="url", code="out_of_range")
    if any(not char.isprintable() or char.isspace() or char == "\\" for char in url):
        raise _invalid("A webhook's URL has no spaces, backslashes or control characters; write them as %20 and so on.")
    try:
        parts = urlsplit(url)
        _ = parts.port  # a port that is not a number shows itself only when asked for
    except ValueError as error:
        raise _invalid(f"This is not a URL: {error}. Write for example https://example.org/hook.") from error
    return parts


def _invalid(detail: str) -> Invalid:
    return Invalid(detail, field="url", code="wrong_type")
