"""Real workers on both databases, a stub model on loopback, and the front desk to ask."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from homing.model.clock import SystemClock
from homing.store import tables as t
from support.crews import crew, ledger, nursery, stub
from support.ledger import Ledger
from support.worlds import World, make_instance

__all__ = ["crew", "ledger", "nursery", "stub"]

Ask = Callable[..., Any]


@pytest.fixture
def ask(ledger: Ledger) -> Ask:
    """Ask operations as the owner, in this process; the agent has its tools."""
    ledger.write(
        lambda tx: tx.run(
            sa.update(t.agent).values(tools=dict.fromkeys(("schedule_task", "remember", "recall"), "allow"))
        )
    )
    return World(store=ledger.store, clock=SystemClock(), instance=make_instance()).ask  # type: ignore[arg-type]
