"""The first hour by keyboard alone: a message, a question, a reminder, a conversation, a search, a setting."""

import pytest
from playwright.sync_api import Locator, Page, expect

from e2e.page.conftest import OpenWindow
from e2e.page.house import House, wait_until
from homing.testing import StubModelServer, tool_call

pytestmark = pytest.mark.slow

MOST_STOPS = 40


def tab_to(page: Page, wanted: Locator, key: str = "Tab") -> None:
    """Go from stop to stop until it has the focus."""
    expect(wanted).to_be_visible()
    for _ in range(MOST_STOPS):
        if wanted.evaluate("(one) => one === document.activeElement"):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{MOST_STOPS} times {key} did not lead to {wanted}.")


def go(page: Page, name: str) -> None:
    """Go anywhere by Ctrl-K."""
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Search everything")).to_be_focused()
    page.keyboard.type(name)
    expect(page.get_by_role("option").filter(has_text=name).first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_keyboard_alone_does_the_first_hour(house: House, stub: StubModelServer, new_window: OpenWindow) -> None:
    house.session("web:orchard", "Orchard notes")
    house.post("/sessions/web:orchard/messages?wait=60", text="The quinces are ripe in October")
    wait_until(lambda: house.get("/search?q=quinces")["items"], "the message in the index")
    question = tool_call("ask_question", {"title": "Which colour?", "options": ["Blue", "Green"]})
    stub.when("paint the fence", question, "I asked you.")

    # A message, and the agent's question, from the composer back to its first button.
    page = new_window(house).open("/chat")
    box = page.get_by_label("Message", exact=True)
    expect(box).to_be_focused()
    page.keyboard.type("Please paint the fence.")
    page.keyboard.press("Enter")
    card = page.get_by_role("log").get_by_role("region", name="Which colour?")
    expect(page.get_by_role("log").get_by_text("I asked you.")).to_be_visible()
    tab_to(page, card.get_by_role("button", name="Blue"), "Shift+Tab")
    page.keyboard.press("Enter")
    expect(card).to_contain_text("Answered: Blue")

    # A reminder.
    go(page, "New automation")
    expect(page.get_by_label("When", exact=True)).to_be_focused()
    page.keyboard.type("tomorrow at 9:30")
    expect(page.locator("#when-says")).to_contain_text("09:30")
    tab_to(page, page.get_by_label("What should happen?"))
    page.keyboard.type("Call the painter")
    tab_to(page, page.get_by_role("button", name="Schedule", exact=True))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Call the painter", level=1)).to_be_visible()
    assert [job["name"] for job in house.get("/jobs?q=painter")["items"]] == ["Call the painter"]

    # A conversation by its name, and a message in it by its words.
    go(page, "Orchard notes")
    expect(page.get_by_role("heading", name="Orchard notes")).to_be_visible()
    go(page, "quinces")
    expect(page.locator("[data-seq].bg-accent-tint")).to_contain_text("The quinces are ripe")

    # A setting, and back to the composer.
    go(page, "Settings")
    expect(page.get_by_role("heading", name="Settings", level=1)).to_be_focused()
    light = page.get_by_role("radio", name="Light")
    tab_to(page, page.get_by_role("radio", name="System"))
    page.keyboard.press("ArrowDown")
    expect(light).to_be_checked()
    go(page, "Orchard notes")
    expect(box).to_be_focused()
