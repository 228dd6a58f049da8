"""The phrases people write, at `homing cron preview`."""

from support.commands import Homing
from support.phrases import REFUSED, REFUSED_WHOLE, REPEATING


def test_the_command_line_reads_each_phrase_as_the_table_says(homing: Homing) -> None:
    seen = {phrase: homing("cron", "preview", phrase, "--json").object["words"] for phrase, _ in REPEATING}
    assert seen == dict(REPEATING)


def test_the_command_line_passes_on_the_hint_of_each_refusal(homing: Homing) -> None:
    for phrase, hint in (*REFUSED, *REFUSED_WHOLE):
        said = homing("cron", "preview", phrase, "--json")
        assert (said.code, hint in said.problem["detail"]) == (2, True), phrase
