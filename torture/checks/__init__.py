"""The promises, each proved or broken by name. In: evidence. Out: violations with the ids they are about.

Rows and logs alone decide; nothing here knows how Homing does it.
"""

from collections.abc import Callable, Iterator, Sequence

from torture.checks import (
    approvals,
    brakes,
    closings,
    deliveries,
    gates,
    instants,
    lanes,
    messages,
    rest,
    runs,
    steps,
    talk,
    walls,
)
from torture.checks.violation import Violation
from torture.evidence import Evidence

__all__ = ["CHECKS", "Violation", "check"]

CHECKS: Sequence[Callable[[Evidence], Iterator[Violation]]] = (
    *lanes.CHECKS, *messages.CHECKS, *instants.CHECKS, *runs.CHECKS, *gates.CHECKS, *closings.CHECKS, *steps.CHECKS,
    *approvals.CHECKS, *deliveries.CHECKS, *talk.CHECKS, *brakes.CHECKS, *walls.CHECKS, *rest.CHECKS,
)  # fmt: skip


def check(evidence: Evidence) -> list[Violation]:
    """Hold the evidence against every promise."""
    return [violation for one in CHECKS for violation in one(evidence)]
