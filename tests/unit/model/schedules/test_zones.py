"""Zones by name: the right spelling, or a refusal that helps."""

import pytest

from homing.model.errors import Invalid
from homing.model.schedules import check_zone


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("utc", "UTC"),
        ("America/New York", "America/New_York"),
    ],
)
def test_a_zone_is_given_in_its_iana_spelling(said: str, name: str):
    assert check_zone(said) == name


@pytest.mark.parametrize(
    ("said", "near"),
    [("Berlin", "Europe/Berlin"), ("new york", "America/New_York"), ("Asia/Shanghia", "Asia/Shanghai")],
)
def test_an_unknown_zone_is_answered_with_near_ones(said: str, near: str):
    with pytest.raises(Invalid, match=near) as caught:
        check_zone(said)
    assert caught.value.field_code == "unknown_timezone"


@pytest.mark.parametrize(
    "said", ["", "local", "Mars/Olympus", "../../etc/passwd", "UTC+2", "Factory", "x" * 10_000, "\x00"]
)
def test_nonsense_is_no_zone_and_never_utc(said: str):
    with pytest.raises(Invalid) as caught:
        check_zone(said)
    assert caught.value.field_code == "unknown_timezone"


@pytest.mark.parametrize("name", ["UTC", "Etc/UTC", "etc/utc", "Zulu", "UCT", "Etc/Universal"])
def test_utc_has_one_name(name: str) -> None:
    assert check_zone(name) == "UTC"
