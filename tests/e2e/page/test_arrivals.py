"""What comes home is felt: on any page, in every window, and after the page was closed."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House, wait_until

pytestmark = pytest.mark.slow


def remind(house: House, name: str, text: str) -> str:
    """Let a reminder arrive in a conversation of that name, which is made if it is missing; gives its key."""
    key = f"web:{name}"
    if not any(session["key"] == key for session in house.get("/sessions?limit=200")["items"]):
        house.session(key, name.title())
    payload = {"kind": "reminder", "message": text}
    job = house.post("/jobs", session_key=key, when="every day at 8:00", name=text.partition(" ")[0], payload=payload)
    house.post(f"/jobs/{job['id']}/run")
    house.finished_run(job["id"])
    return key


def unread(house: House, key: str) -> int:
    return house.get(f"/sessions/{key}")["unread"]


def arrival(page: Page) -> Locator:
    return page.get_by_role("status", name="Arrivals").get_by_role("region")


def test_an_arrival_is_shown_on_any_page_and_done_in_one_window_is_done_in_all(
    house: House, new_window: OpenWindow
) -> None:
    mine = new_window(house).open("/week")
    other = new_window(house, theme="dark").open("/automations")
    for page in (mine, other):
        expect(page.get_by_role("heading", level=1)).to_be_visible()
    key = remind(house, "desk", "Stretch your *back*, please.")
    for page in (mine, other):
        expect(arrival(page)).to_contain_text("Stretch your back, please.")
        expect(arrival(page)).to_contain_text("in Desk")
        expect(page).to_have_title(re.compile(r"\(1\) "))
        expect(page.locator('link[rel="icon"]')).to_have_attribute("href", "/mark-unread.svg")
        expect(page.get_by_role("link", name="Desk").filter(has_text="1 unread")).to_be_visible()
        assert violations(page) == []
    # Several fold into one card, and the inbox has them all.
    remind(house, "garden", "Water the plants.")
    expect(arrival(mine)).to_contain_text("Water the plants.")
    expect(arrival(mine).get_by_role("link", name="and 1 more")).to_be_visible()
    arrival(mine).get_by_role("button", name="Done").press("Enter")
    expect(arrival(mine)).to_contain_text("Stretch your back")
    arrival(mine).get_by_role("button", name="Done").click()
    for page in (mine, other):
        expect(arrival(page)).to_have_count(0)
        expect(page).not_to_have_title(re.compile(r"\("))
        expect(page.locator('link[rel="icon"]')).to_have_attribute("href", "/mark.svg")
        expect(page.get_by_text("1 unread")).to_have_count(0)
    assert unread(house, key) == 0


def test_snooze_makes_a_reminder_with_an_undo_and_reply_opens_the_conversation(
    house: House, new_window: OpenWindow
) -> None:
    page = new_window(house).open("/agents")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    key = remind(house, "kitchen", "Check the oven.")
    arrival(page).get_by_role("button", name="Snooze 10 min").click()
    news = page.get_by_role("status", name="News")
    expect(news).to_contain_text("Reminder set: Once on")
    expect(arrival(page)).to_have_count(0)

    def again() -> list[Any]:
        return [job for job in house.get(f"/jobs?session_key={key}")["items"] if job["schedule"]["kind"] == "at"]

    [made] = again()
    assert (made["payload"]["kind"], made["payload"]["message"], made["name"]) == (
        "reminder",
        "Check the oven.",
        "Check",
    )
    wait_until(lambda: unread(house, key) == 0, "the mark")
    news.get_by_role("button", name="Undo").click()
    expect(news).to_contain_text("Undone: Check")
    assert again() == []

    remind(house, "kitchen", "Take out the cake.")
    arrival(page).get_by_role("button", name="Reply").click()
    expect(page).to_have_url(re.compile(r"/chat/web:kitchen$"))
    expect(page.get_by_label("Message", exact=True)).to_be_focused()
    wait_until(lambda: unread(house, key) == 0, "what is on screen to be read")
    # What arrives in the conversation on screen is read there.
    remind(house, "kitchen", "Wash up.")
    expect(page.get_by_role("log").get_by_text("Wash up.").last).to_be_visible()
    wait_until(lambda: unread(house, key) == 0, "what is on screen to be read")
    expect(arrival(page)).to_have_count(0)


def test_on_a_phone_the_card_leaves_the_composer_free(house: House, new_window: OpenWindow) -> None:
    house.session("web:phone", "Phone")
    page = new_window(house, size=(360, 740), touch=True).open("/chat/web:phone")
    composer = page.get_by_label("Message", exact=True)
    expect(composer).to_be_visible()
    remind(house, "cellar", "Look at the boiler, the meter and the door of the cellar, in this order. " * 4)
    expect(arrival(page).get_by_role("button", name="Tomorrow")).to_be_visible()
    card, field = arrival(page).bounding_box(), composer.bounding_box()
    assert card
    assert field
    assert card["y"] + card["height"] < field["y"]
    assert card["x"] >= 0
    assert card["x"] + card["width"] <= 360
    assert violations(page) == []
    arrival(page).get_by_role("button", name="Tomorrow").click()
    expect(page.get_by_role("status", name="News")).to_contain_text("09:00")
    toast = page.get_by_role("status", name="News").bounding_box()
    assert toast
    assert toast["y"] + toast["height"] <= field["y"]


def test_the_inbox_tells_what_arrived_while_the_page_was_closed(house: House, new_window: OpenWindow) -> None:
    key = remind(house, "attic", "Close the window.")
    remind(house, "attic", "Feed the owl.")
    remind(house, "porch", "Bring in the milk.")
    page = new_window(house).open("/inbox")
    new = page.get_by_role("list", name="New in your conversations")
    expect(new.get_by_role("listitem").filter(has_text="Feed the owl.")).to_contain_text("and 1 more")
    assert "Feed the owl." in house.command("inbox")
    assert violations(page) == []
    new.get_by_role("button", name="Mark as read: Bring in the milk.").click()
    expect(new).not_to_contain_text("Bring in the milk.")
    new.get_by_role("link", name="Feed the owl.").click()
    log = page.get_by_role("log")
    expect(log.get_by_text("Close the window.").last).to_be_visible()
    # The cards of the automations may leave no room for the second reminder: what is not in sight stays unread.
    log.get_by_text("Feed the owl.").last.scroll_into_view_if_needed()
    wait_until(lambda: unread(house, key) == 0, "what is on screen to be read")
    page.goto(f"{house.url}/inbox")
    expect(page.get_by_text("Nothing needs you")).to_be_visible()
