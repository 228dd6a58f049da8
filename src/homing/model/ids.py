"""Ids that carry their noun: a prefix and ten random base32 characters, short enough for people and models."""

import os
import re
import secrets

_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
# Two at a time: a turn and what belongs to it take half a dozen ids.
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
_MADE = re.compile(r"[a-z2-7]{10}")
_PROPOSED = re.compile(r"[A-Za-z0-9_-]{1,64}")


def new_id(noun: str) -> str:
    """Make an id such as `job_k3v9x2mq7a`."""
    bits = int.from_bytes(os.urandom(7))
    return noun + "_" + "".join([_PAIRS[bits >> shift & 1023] for shift in (0, 10, 20, 30, 40)])


def is_new_id(text: str, noun: str) -> bool:
    """Say whether `new_id` may have made it of this noun."""
    return _MADE.fullmatch(text.removeprefix(f"{noun}_")) is not None and text.startswith(f"{noun}_")


def is_id(text: str) -> bool:
    """Say whether a proposed id can be taken: it becomes part of run ids and file names."""
    return _PROPOSED.fullmatch(text) is not None


def new_secret(prefix: str = "") -> str:
    """Make a token nobody can guess."""
    return prefix + secrets.token_urlsafe(32)
