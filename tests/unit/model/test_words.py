"""Every state, status and trigger has words."""

from typing import get_args

from homing.model.jobs import Status
from homing.model.runs import RunState, Trigger
from homing.model.words import JOB_STATUSES, RUN_STATES, TRIGGERS, reason_words


def test_every_state_status_and_trigger_has_words() -> None:
    assert set(JOB_STATUSES) == set(get_args(Status))
    assert set(RUN_STATES) == set(get_args(RunState))
    assert set(TRIGGERS) == set(get_args(Trigger))


def test_a_reason_that_is_not_in_the_list_is_shown_as_it_is() -> None:
    assert reason_words("out_of_paper") == "out of paper"
    assert reason_words(None) is None
