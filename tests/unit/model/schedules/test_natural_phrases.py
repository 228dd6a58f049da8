"""What people were seen to write: none guessed, most of it understood, the rest refused with a fitting next step."""

import re
from datetime import UTC, datetime, time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from homing.model.errors import Invalid
from homing.model.hours import NamedHours
from homing.model.schedules import At, Every, next_after, read_when, words
from homing.model.schedules.suggestions import EXAMPLES
from support.phrases import ONCE, REFUSED, REFUSED_WHOLE, REPEATING, SUNDAY

BERLIN = ZoneInfo("Europe/Berlin")
NOW = SUNDAY.astimezone(UTC)
PAGE = Path(__file__).parents[4] / "docs/howto/phrases.md"


def read(text: str, **given: NamedHours):
    return read_when(text, now=NOW, zone="Europe/Berlin", **given)


@pytest.mark.parametrize(("phrase", "expected"), REPEATING)
def test_a_rhythm_that_people_write_means_what_its_words_say(phrase: str, expected: str):
    assert words(read(phrase).schedule) == expected


@pytest.mark.parametrize(("phrase", "expected"), ONCE)
def test_a_time_that_people_write_is_one_instant(phrase: str, expected: str):
    assert read(phrase).schedule == At(at=datetime.fromisoformat(expected).replace(tzinfo=BERLIN), tz="Europe/Berlin")


@pytest.mark.parametrize(("phrase", "hint"), [*REFUSED, *REFUSED_WHOLE])
def test_what_cannot_be_taken_is_refused_with_a_fitting_next_step(phrase: str, hint: str):
    with pytest.raises(Invalid) as refused:
        read(phrase)
    assert hint in refused.value.detail


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_of_a_refusal_can_be_read(example: str):
    assert read(example.replace("2026-11-20", "2040-11-20"))


@pytest.mark.parametrize("phrase", ["in a tonigh", "half to 8", "quarter for nine", "wekday"])
def test_a_correction_is_only_offered_when_it_can_be_read(phrase: str):
    with pytest.raises(Invalid) as refused:
        read(phrase)
    assert "Did you mean" not in refused.value.detail


@pytest.mark.parametrize(
    ("phrase", "near"),
    [
        ("every 2 weeks on blursday at 8", "'every 2 weeks on monday at 8'"),
        ("first monday of the moon at 9", "'first monday of the month at 9'"),
        ("tomorrow mornin", "'tomorrow morning'"),
        ("every hour between nine and never", "'every hour between 9 and 17'"),
    ],
)
def test_the_examples_are_those_nearest_to_what_was_written(phrase: str, near: str):
    with pytest.raises(Invalid) as refused:
        read(phrase)
    assert near in refused.value.detail


def test_every_n_hours_is_on_the_full_hour_and_says_how_to_count_from_now():
    reading = read("every 2 hours")
    assert next_after(reading.schedule, NOW) == datetime(2026, 11, 15, 22, tzinfo=BERLIN)
    assert reading.warnings == ["It runs on the full hour. To count from this minute on, say 'every 2h'."]
    assert read("every 2h").schedule == Every(every_ms=7_200_000, anchor=NOW, tz="Europe/Berlin")
    assert read("every 2 hours starting tomorrow at 9:30").warnings == []


def test_named_hours_are_those_of_the_house():
    hours = NamedHours(morning=time(6, 30), night=time(22))
    assert words(read("every morning", hours=hours).schedule) == "Every day at 06:30 Europe/Berlin"
    assert words(read("tonight", hours=hours).schedule) == "Once on Sun 15 Nov 2026 at 22:00 Europe/Berlin"
    assert words(read("every morning at 9", hours=hours).schedule) == "Every day at 09:00 Europe/Berlin"


KNOWN = [phrase for phrase, _ in (*REPEATING, *ONCE) if not re.match(r"\d", phrase)]
UNKNOWN = ("blue", "please", "roughly", "Kevin", "not", "maybe", "x", "17th-ish", "and/or", "before", "unless", "half")


@settings(max_examples=500, deadline=None, database=None)
@given(st.sampled_from(KNOWN), st.sampled_from(UNKNOWN), st.integers(0, 12))
def test_an_unknown_word_anywhere_in_a_phrase_is_never_ignored(phrase: str, word: str, place: int):
    # "every half hour" is a phrase of its own.
    assume(word != "half" or "hour" not in phrase)
    parts = phrase.split()
    parts.insert(min(place, len(parts)), word)
    with pytest.raises(Invalid):
        read(" ".join(parts))


def test_the_page_about_phrases_says_what_the_grammar_does():
    rows = re.findall(r"^\| `([^`|]+)` \| (.+?) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(rows) > 40
    assert [(phrase, said) for phrase, said in rows if said not in shown(phrase)] == []


def shown(phrase: str) -> str:
    try:
        return words(read(phrase).schedule)
    except Invalid as refused:
        return refused.detail
