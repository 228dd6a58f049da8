"""The first minute of somebody who just started Homing."""

import re

import pytest
from playwright.sync_api import expect

from e2e.page.conftest import OpenWindow
from e2e.page.house import House

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("page")]


def test_the_first_reminder_counts_down_and_arrives_by_itself(fresh_house: House, new_window: OpenWindow) -> None:
    window = new_window(fresh_house, signed_in=False)
    page = window.open(fresh_house.sign_in_link())
    expect(page.get_by_role("button", name="Offline mode: not an AI")).to_be_visible()
    expect(page.get_by_role("list", name="Things to try").get_by_role("button")).to_have_count(3)
    expect(page.get_by_label("Message", exact=True)).to_be_focused()
    assert "code=" not in page.url

    page.keyboard.type("remind me in 10 seconds to stretch")
    page.keyboard.press("Enter")
    log = page.get_by_role("log")
    card = log.locator("[data-card]")
    expect(card).to_contain_text(re.compile(r"in \d+ s"))
    first = card.get_by_role("listitem").first.inner_text()
    expect(card.get_by_role("listitem").first).not_to_have_text(first)
    expect(log.get_by_text("Reminder", exact=False).last).to_be_visible()
    expect(card).to_contain_text("Done. No time is left on its schedule.")
    expect(log.locator("[data-seq]").last).to_contain_text("stretch")

    [session] = fresh_house.get("/sessions")["items"]
    messages = fresh_house.get(f"/sessions/{session['key']}/messages")["items"]
    assert [message["kind"] for message in messages].count("reminder") == 1


def test_a_link_works_once_and_without_one_the_door_says_how_to_get_in(
    fresh_house: House, new_window: OpenWindow
) -> None:
    link = fresh_house.sign_in_link()
    first = new_window(fresh_house, signed_in=False).open(link)
    expect(first.get_by_label("Message", exact=True)).to_be_visible()
    second = new_window(fresh_house, signed_in=False).open(link)
    # What to type is set as code, in the sentence of the refusal too.
    expect(second.get_by_role("alert").locator("code")).to_have_text("homing open")
    second.get_by_label("Token").fill(fresh_house.token)
    second.get_by_role("button", name="Sign in").click()
    expect(second.get_by_role("list", name="Things to try")).to_be_visible()
