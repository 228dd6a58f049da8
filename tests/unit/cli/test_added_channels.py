"""Every kind of channel is added, tested and removed by command, and doctor names its fault with what to do next."""

from collections.abc import Iterator, Mapping

import pytest

from support.commands import Homing
from support.platforms import Platform, open_platforms

KINDS = ("telegram", "email", "slack", "discord", "matrix", "apprise")
# Apprise's own, on import.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")


@pytest.fixture
def platforms() -> Iterator[dict[str, Platform]]:
    with open_platforms() as platforms:
        yield platforms


def lines(fields: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in fields.items())


def doctor(homing: Homing) -> dict[str, dict[str, str]]:
    return {one["what"]: one for one in homing("doctor", "--json").objects}


@pytest.mark.parametrize("kind", KINDS)
def test_a_channel_is_added_tested_and_removed_by_command_and_doctor_names_its_fault(
    kind: str, platforms: dict[str, Platform], homing: Homing
) -> None:
    platform = platforms[kind]
    assert kind in [one["kind"] for one in homing("channels", "kinds", "--json").objects]
    wrong = {**platform.fields, platform.wrong[0]: platform.wrong[1]}
    refused = homing("channels", "add", kind, "--json", stdin=lines(wrong))
    assert refused.code == 2
    assert platform.refusal in refused.problem["detail"]
    added = homing("channels", "add", kind, stdin=lines(platform.fields))
    assert (added.code, f"{kind} works" in added.out) == (0, True)
    tried = homing("channels", "test", kind, "--json").object
    assert (tried["ok"], tried["account"]) == (True, platform.account)
    assert doctor(homing)[f"Channel {kind}"]["state"] == "ok"
    platform.revoke()
    finding = doctor(homing)[f"Channel {kind}"]
    # Apprise signs in nowhere: only a message shows whether its service takes one.
    if kind != "apprise":
        assert (finding["state"], platform.revoked in finding["said"]) == ("wrong", True)
        assert f"homing channels update {kind}" in finding["fix"]
    assert homing("channels", "remove", kind).code == 0
    assert "Add one: homing channels add telegram" in homing("channels", "list").out
    gone = homing("channels", "remove", kind)
    assert (gone.code, f"There is no channel {kind}" in gone.err) == (2, True)
