"""Ids that carry their noun: a prefix and ten random base32 characters, short enough for people and models."""

import re
import secrets

_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_PROPOSED = re.compile(r"[A-Za-z0-9_-]{1,64}")


def new_id(noun: str) -> str:
    """Make an id such as `job_k3v9x2mq7a`."""
    bits = secrets.randbits(50)
    return f"{noun}_" + "".join(_ALPHABET[bits >> shift & 31] for shift in range(0, 50, 5))


def is_id(text: str) -> bool:
    """Say whether a proposed id can be taken: it becomes part of run ids and file names."""
    return _PROPOSED.fullmatch(text) is not None


def new_secret(prefix: str = "") -> str:
    """Make a token nobody can guess."""
    return prefix + secrets.token_urlsafe(32)
