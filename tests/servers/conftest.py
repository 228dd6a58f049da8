"""Servers and clients that nobody here wrote, against ours."""

from support.crews import stub

__all__ = ["stub"]
