"""Trials: one pass of an automation that changes nothing (ADR 0074). What names them, and what their rows say."""

from collections.abc import Mapping

from homing.model.runs import ISOLATED

TRIAL = "trial"
"""In the meta of an inbound: that its turn is a trial, and what it tries instead of the job's own words."""
NOT_CALLED = (
    "Not called: this is a test of the automation, and this tool may change something. Go on as if it had worked."
)
"""What a model is told of a call that was only noted."""

TRIAL_KEY = f"{ISOLATED}try_"
"""Begins the keys of the sessions in which trials work."""
MOST_TRIALS = 5
"""Of one job at once."""


def trial_key(name: str) -> str:
    """Name the session in which a trial works; like that of an isolated run it is pruned with time."""
    return f"{TRIAL_KEY}{name}"


def is_trial(meta: Mapping[str, object]) -> bool:
    """Tell by an inbound's meta whether its turn is a trial."""
    return TRIAL in meta


def trial_turn_id(inbound_id: str) -> str:
    """Name the turn that a trial's inbound becomes, before it is opened."""
    return f"turn_{inbound_id.partition('_')[2]}"


def trial_inbound_id(turn_id: str) -> str:
    """Name the inbound of a trial's turn."""
    return f"in_{turn_id.partition('_')[2]}"
