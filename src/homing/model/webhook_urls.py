"""Where webhooks and mail may go. Pure judgement; names are resolved elsewhere, and each address is judged here again.

Homing sends from inside somebody's network: without this, whoever may add a webhook could reach what only that network
may.
"""

import base64
import re
import secrets
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from homing.model.errors import Invalid

MAX_URL = 2048
# Narrower than the law of mail, on purpose: no quote, bracket, comma or space that could grow into a second address.
_MAILBOX = re.compile(r"[^\s\x00-\x1f\x7f\"(),:;<>@\[\\\]]+@[\w-]+(\.[\w-]+)*")

_Address = IPv4Address | IPv6Address
_NAT64 = ip_network("64:ff9b::/96")
# Public by its number, and yet the inside of a cloud: the host that tells each machine of Azure its secrets.
_METADATA = ip_address("168.63.129.16")
# Special though a Python may take them for public; 2001::/23 and 2002::/16 are tunnels, whose other end nobody knows.
_SPECIAL = [ip_network(text) for text in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2002::/16", "3fff::/20")]
_PUBLIC_6 = ip_network("2000::/3")


def loopback_allowed(host: str, public_url: str | None) -> bool:
    """Say whether a server that listens here may send to loopback: whoever can ask it can reach loopback anyway."""
    return public_url is None and names_loopback(host)


def names_loopback(host: str) -> bool:
    """Say whether a host names this machine in so many words. A name that merely resolves to it does not."""
    address = _read_address(host)
    return host.rstrip(".").lower() == "localhost" if address is None else address.is_loopback


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
    address = _read_address(host)
    if names_loopback(host):
        why = None if loopback else "this machine"
    else:
        why = None if address is None else refused_because(address)
    if why:
        raise _invalid(f"Webhooks are not sent to {why} ({host}). Use an address that is reachable from outside.")
    return url


def refused_because(address: _Address) -> str | None:
    """Say why nothing is sent to an address, loopback included; None when it is an ordinary public one."""
    address = _meant(address)
    if address.is_loopback:
        return "this machine"
    if address.is_multicast:
        return "a group of machines"
    if address.is_link_local or address == _METADATA:
        return "a machine's own surroundings"
    public = address.is_global and (address.version == 4 or address in _PUBLIC_6)
    if not public or address.is_reserved or any(address in network for network in _SPECIAL):
        return "a private network"
    return None


def new_signing_secret() -> str:
    """Make a secret as Standard Webhooks wants it: plain base64, which every library reads alike."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def _meant(address: _Address) -> _Address:
    """Give the IPv4 address that an IPv6 one only wraps."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address


def _split(url: str) -> SplitResult:
    if len(url) > MAX_URL:
        raise Invalid(f"A webhook's URL has at most {MAX_URL} characters.", field="url", code="out_of_range")
    if any(not char.isprintable() or char.isspace() or char == "\\" for char in url):
        raise _invalid("A webhook's URL has no spaces, backslashes or control characters; write them as %20 and so on.")
    try:
        parts = urlsplit(url)
        _ = parts.port  # a port that is no number shows itself only when asked for
    except ValueError as error:
        raise _invalid(f"This is no URL: {error}. Write for example https://example.org/hook.") from error
    return parts


def _read_address(host: str) -> _Address | None:
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        return None


def _invalid(detail: str) -> Invalid:
    return Invalid(detail, field="url", code="wrong_type")
