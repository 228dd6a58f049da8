"""Real workers on both databases, a stub model on loopback, and the operations to ask."""

from e2e.jobs.conftest import ask
from support.crews import crew, ledger, nursery, stub

__all__ = ["ask", "crew", "ledger", "nursery", "stub"]
