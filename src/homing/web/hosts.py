"""Under which names we answer, and whose pages may ask: against DNS rebinding and forged requests."""

import ipaddress
from contextlib import suppress
from urllib.parse import urlsplit

from starlette.requests import Request

from homing.model.errors import Forbidden, Invalid, Malformed
from homing.settings import Settings

MIN_TOKEN = 24
_FORWARDED = ("forwarded", "x-forwarded-", "x-real-ip", "via")
"""How the names of headers begin that proxies add."""


def check_host(host: str | None, settings: Settings) -> None:
    """Refuse a name that is not ours. A number cannot be rebound, so every number is."""
    if not host:
        raise Malformed("The Host header is missing.")
    name = _name_of(host)
    ours = {"localhost", settings.host.lower(), _name_of(urlsplit(settings.public_url or "").netloc)}
    if name in ours or name.endswith(".localhost") or _as_number(name) is not None:
        return
    raise Forbidden(f"This server does not go by the name {name[:100]!r}. Set HOMING_PUBLIC_URL to the address it has.")


def check_origin(request: Request, settings: Settings) -> None:
    """Refuse a change that another site's page asked this browser for. Programs send no Origin."""
    origin = request.headers.get("origin")
    if origin is None:
        return
    try:
        asking = urlsplit(origin).netloc.lower()
    except ValueError:
        # Not an address at all, such as http://[
        asking = ""
    ours = {request.headers.get("host", "").lower(), urlsplit(settings.public_url or "").netloc.lower()}
    if not asking or asking not in ours:
        raise Forbidden(f"Pages of {origin[:100]!r} may not ask this server. Open Homing itself, or send a token.")


def is_local(request: Request, settings: Settings) -> bool:
    """Say whether a request comes from this machine and not through a proxy on it.

    A proxy may add no header and pass on a loopback name, as nginx does by default: where a public address is set, a
    proxy is there, and nothing is local.
    """
    if request.client is None or settings.public_url or any(name.startswith(_FORWARDED) for name in request.headers):
        return False
    return is_loopback(request.client.host) and is_loopback(_name_of(request.headers.get("host", "")))


def is_loopback(host: str) -> bool:
    """Say whether a host is this machine alone."""
    number = _as_number(host)
    return host == "localhost" or (number is not None and number.is_loopback)


def check_exposure(settings: Settings) -> None:
    """Refuse to listen beyond this machine while there is no token to ask for, or one that can be guessed."""
    if is_loopback(settings.host):
        return
    token = settings.token
    with suppress(OSError):
        token = token or settings.token_file.read_text("utf-8").strip()
    if token and len(token) < MIN_TOKEN:
        where = "HOMING_TOKEN" if settings.token else str(settings.token_file)
        raise Invalid(
            f"HOMING_HOST is {settings.host}, which others can reach, and the token in {where} has only {len(token)}"
            f" characters: use at least {MIN_TOKEN} random ones, for example from `openssl rand -hex 24`.",
            field="HOMING_TOKEN",
            code="out_of_range",
        )
    if token:
        return
    raise Invalid(
        f"HOMING_HOST is {settings.host}, which others can reach, and there is no token yet: set HOMING_TOKEN to a long"
        " random text, or start once on 127.0.0.1.",
        field="HOMING_HOST",
    )


def _name_of(host: str) -> str:
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.rpartition(":")[0] if name.count(":") == 1 else name


def _as_number(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
