"""The phrases people write, at `homing cron preview`."""

from contextlib import suppress
from datetime import UTC, datetime

from homing.model.errors import Invalid
from homing.model.schedules import At, check, read_when
from support.commands import Homing
from support.phrases import ONCE, REFUSED, REFUSED_WHOLE, REPEATING, B


def test_the_command_line_reads_each_phrase_as_the_table_says(homing: Homing) -> None:
    seen = {phrase: homing("cron", "preview", phrase, "--json").object["words"] for phrase, _ in REPEATING}
    assert seen == dict(REPEATING)


def test_the_command_line_reads_each_single_time_as_the_grammar_does(homing: Homing) -> None:
    for phrase, _ in ONCE:
        # Commands have the machine's own clock, so the answer lies between what was right before and after.
        before = _read_now(phrase)
        said = homing("cron", "preview", phrase, "--json")
        after = _read_now(phrase)
        if before is None and after is None:
            assert (said.code, "in the past" in said.problem["detail"]) == (2, True), phrase
        elif before is not None and after is not None:
            [at] = said.object["next"]
            assert before <= datetime.fromisoformat(at) <= after, phrase


def _read_now(phrase: str) -> datetime | None:
    """Give what a phrase means now; None if that has passed."""
    now = datetime.now(UTC)
    schedule = read_when(phrase, now=now, zone=B).schedule
    assert isinstance(schedule, At)
    with suppress(Invalid):
        check(schedule, now=now, min_interval_seconds=1)
        return schedule.at
    return None


def test_the_command_line_passes_on_the_hint_of_each_refusal(homing: Homing) -> None:
    for phrase, hint in (*REFUSED, *REFUSED_WHOLE):
        said = homing("cron", "preview", phrase, "--json")
        assert (said.code, hint in said.problem["detail"]) == (2, True), phrase
