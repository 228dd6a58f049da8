"""The operations by name for Python: over HTTP (`Client`), or in this process (`homing.client.local.LocalClient`).

Comes in: an operation's name and the fields of its request. Goes out: the answer's JSON, or a Problem that says what
to do. Promises: asking a server imports no database and no framework.
"""

from typing import TYPE_CHECKING

from homing.client.problems import Problem

if TYPE_CHECKING:
    from homing.client.remote import Client

__all__ = ["Client", "Problem"]


def __getattr__(name: str) -> object:
    """Import the HTTP library only for those who use it: every command imports this package for its Problem."""
    if name == "Client":
        from homing.client.remote import Client

        return Client
    raise AttributeError(name)
