"""Settings: what cannot be taken back asks first, what can be taken back offers it."""

import pytest
from playwright.sync_api import expect

from e2e.page.conftest import OpenWindow
from e2e.page.house import House

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("page")]


def test_a_token_is_revoked_at_the_second_press_only(house: House, new_window: OpenWindow) -> None:
    page = new_window(house).open("/settings")
    tokens = page.get_by_role("region", name="Tokens")
    before = len(house.get("/tokens")["items"])
    page.get_by_role("button", name="Make a token").click()
    expect(tokens.get_by_role("status")).to_contain_text("It is shown only now")
    [made] = [token["id"] for token in house.get("/tokens")["items"]][before:] or [""]
    revoke = tokens.get_by_role("button", name=f"Revoke {made}")
    revoke.click()
    expect(revoke).to_have_text("Revoke for good?")
    # Looking away takes the question back.
    page.keyboard.press("Tab")
    expect(revoke).to_have_text("Revoke")
    assert len(house.get("/tokens")["items"]) == before + 1
    revoke.click()
    revoke.click()
    expect(revoke).to_have_count(0)
    assert len(house.get("/tokens")["items"]) == before


def test_what_was_forgotten_can_be_remembered_again(house: House, new_window: OpenWindow) -> None:
    house.post("/memories", text="Likes apples better than pears")
    page = new_window(house).open("/settings")
    memory = page.get_by_role("region", name="Memory")
    memory.get_by_role("button", name="Forget: Likes apples better than pears").click()
    expect(memory.get_by_text("Nothing is remembered yet.")).to_be_visible()
    assert house.get("/memories")["items"] == []
    page.get_by_role("status", name="News").get_by_role("button", name="Undo").click()
    expect(memory.get_by_text("Likes apples better than pears")).to_be_visible()


def test_a_dialog_begins_at_its_first_field_and_not_at_its_end(house: House, new_window: OpenWindow) -> None:
    key = house.session("web:name", "Nameless")
    page = new_window(house).open(f"/chat/{key}")
    page.get_by_role("button", name="Conversation menu").click()
    page.get_by_role("menuitem", name="Name and time zone").click()
    name = page.get_by_role("dialog").get_by_label("Name", exact=True)
    expect(name).to_be_focused()
    name.fill("Named")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Named")).to_be_visible()
