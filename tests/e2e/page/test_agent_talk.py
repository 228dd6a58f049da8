"""Agents that write to each other, on the page: allowed and taken back in Settings, and shown with who wrote."""

import pytest
from playwright.sync_api import expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House
from homing.testing import StubModelServer, tool_call

pytestmark = pytest.mark.slow


def test_a_person_lets_one_agent_ask_another_and_sees_who_wrote_what(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    house.post("/agents", id="botany", name="Botany")
    page = new_window(house).open("/settings")
    talk = page.get_by_role("region", name="Agents that write to each other")
    talk.get_by_label("Agent that writes").select_option("main")
    talk.get_by_label("Agent that is asked").select_option("botany")
    talk.get_by_role("button", name="Allow").click()
    expect(talk.get_by_text("may write to Botany")).to_be_visible()
    assert violations(page) == []

    key = house.session("web:meadow", "Meadow")
    ask = tool_call("send_message", {"to": "botany", "text": "What <b>blooms</b> in May?"})
    stub.when("ask about the meadow", ask, "I asked Botany.")
    stub.when("Your answer goes back to it", "Cowslips do.")
    stub.when("answered a message that you sent it", "Cowslips bloom in May.")
    house.post(f"/sessions/{key}/messages?wait=60", text="Please ask about the meadow.")
    page = new_window(house).open(f"/chat/{key}")
    log = page.get_by_role("log")
    expect(log.get_by_text("Answer from the agent “Botany”")).to_be_visible(timeout=60_000)
    expect(log.get_by_text("Cowslips bloom in May.")).to_be_visible(timeout=60_000)
    log.get_by_role("link", name="Show its conversation").click()
    # What an agent wrote is text.
    expect(page.get_by_role("log").get_by_text("What <b>blooms</b> in May?")).to_be_visible()
    expect(page.get_by_role("log").get_by_text("From the agent “")).to_be_visible()
    assert violations(page) == []

    page = new_window(house).open("/settings")
    talk = page.get_by_role("region", name="Agents that write to each other")
    remove = talk.get_by_role("button", name="may write to Botany")
    remove.click()
    remove.click()
    expect(talk.get_by_text("may write to Botany")).to_have_count(0)
    assert [one for one in house.get("/grants")["items"] if one["to_agent_id"]] == []
    house.ask("DELETE", "/sessions/agent:botany")
    house.ask("DELETE", "/agents/botany")
