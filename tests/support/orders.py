"""What a test's worker process is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support.tripwires import Trip


@dataclass(frozen=True, kw_only=True)
class Order:
    """All that a worker needs to know."""

    settings: Mapping[str, str]
    """`HOMING_*`."""
    environment: Mapping[str, str]
    """Where models are."""
    folder: Path
    """Where the test tools leave their lines and find their gates."""
    log: Path
    trip: Trip | None = None
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    answers: int | None = None
    """The seed by which it answers approvals that wait, as a door does; None: it answers none."""
