"""Gates: each script that looked before a run has one end, and a no wakes nobody."""

from collections.abc import Iterator

from torture.checks.violation import Violation, broken
from torture.evidence import Evidence


def one_end(evidence: Evidence) -> Iterator[Violation]:
    """Every gate has ended and is nobody's; the run of one that failed is an error."""
    for gate in evidence["gate"]:
        run = evidence.runs.get(gate["run_id"])
        if gate["ended"] is None or gate["worker_id"] is not None or run is None:
            yield broken("gate_without_end", f"the script of {gate['run_id']} has not ended")
        elif gate["said"] is None and (run["state"], run["reason"]) != ("error", "script"):
            yield broken("gate_without_end", f"{run['id']} is {run['state']}, and its script did not work")


def no_wakes_nobody(evidence: Evidence) -> Iterator[Violation]:
    """A run whose script said no is left out: no turn, nothing in a lane."""
    laid_in = {inbound["run_id"] for inbound in evidence["inbound"]}
    opened = {turn["run_id"] for turn in evidence["turn"]}
    for gate in evidence["gate"]:
        run = evidence.runs.get(gate["run_id"])
        if run is None or gate["said"] is None or gate["said"]["wakeAgent"]:
            continue
        if run["id"] in opened or run["id"] in laid_in or (run["state"], run["reason"]) != ("skipped", "gate"):
            yield broken("gate_ignored", f"{run['id']} is {run['state']}, though its script said no")


CHECKS = (one_end, no_wakes_nobody)
