"""Servers and clients that nobody here wrote, against ours."""

from support.crews import crew, ledger, nursery, stub

__all__ = ["crew", "ledger", "nursery", "stub"]
