"""Looks at what lies outside: the model, and the channels."""

import asyncio
import os
import socket
from urllib.parse import urlsplit

from homing.agent.choice import choose
from homing.agent.models import Models
from homing.cli.doctor.findings import Finding, noted, ok, wrong
from homing.model.errors import Error
from homing.settings import Settings

_SECONDS = 5.0


def look_at_model(settings: Settings) -> Finding:
    """A model that cannot be made answers nobody. It is made, not called: a call costs money."""
    choice = choose(settings.model, os.environ)
    if choice.offline:
        return noted("Model", f"offline. {choice.why}")
    try:
        asyncio.run(_make(choice.name))
    except Error as error:
        return wrong("Model", f"{choice.name}: {error}", "Set its key, or HOMING_MODEL to a model you have.")
    return ok("Model", f"{choice.name}. {choice.why}")


async def _make(name: str) -> None:
    models = Models()
    await models.get(name)
    await models.close()


def look_at_channels(settings: Settings) -> list[Finding]:
    """The terminal, the page and webhooks need nothing; mail needs its server."""
    found = [ok("Channels", "web, cli, api, webhook")]
    if settings.smtp_url is None:
        return [*found, noted("Mail", "not set up", "To send mail, set HOMING_SMTP_URL, such as smtps://user:…@host")]
    at = urlsplit(settings.smtp_url)
    port = at.port or (465 if at.scheme == "smtps" else 587)
    try:
        socket.create_connection((at.hostname or "", port), timeout=_SECONDS).close()
    except OSError as error:
        said = f"{at.hostname}:{port} does not answer ({error.strerror or error})."
        return [*found, wrong("Mail", said, "Check HOMING_SMTP_URL, and that this machine may reach it.")]
    return [*found, ok("Mail", f"{at.hostname}:{port} answers")]
