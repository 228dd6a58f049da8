"""Real processes, real databases, a stub model on loopback."""

from support.crews import crew, ledger, nursery, stub

__all__ = ["crew", "ledger", "nursery", "stub"]
