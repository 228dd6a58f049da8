"""Settings: what cannot be taken back asks first, what can be taken back offers it."""

import re
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import PATIENCE, House, wait_until
from homing.testing import StubModelServer, tool_call

pytestmark = pytest.mark.slow


def test_a_token_is_revoked_at_the_second_press_only(house: House, new_window: OpenWindow) -> None:
    page = new_window(house).open("/settings")
    tokens = page.get_by_role("region", name="Tokens")
    before = len(house.get("/tokens")["items"])
    page.get_by_role("button", name="Make a token", exact=True).click()
    expect(tokens.get_by_role("status")).to_contain_text("It is shown only now")
    [made] = [token["id"] for token in house.get("/tokens")["items"]][before:] or [""]
    revoke = tokens.get_by_role("button", name=f"Revoke {made}")
    revoke.click()
    expect(revoke).to_have_text("Revoke it and all made with it?")
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
    page.get_by_role("menuitem", name="Name, time zone and model").click()
    name = page.get_by_role("dialog").get_by_label("Name", exact=True)
    expect(name).to_be_focused()
    name.fill("Named")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Named")).to_be_visible()


def test_a_token_has_a_name_a_last_day_and_tells_its_use(house: House, new_window: OpenWindow) -> None:
    page = new_window(house).open("/settings")
    tokens = page.get_by_role("region", name="Tokens")
    tokens.get_by_label("Name").fill("backup script")
    tokens.get_by_label("Last day").fill("2099-12-31")
    tokens.get_by_role("button", name="Make a token").click()
    expect(tokens.get_by_role("status")).to_contain_text("The new token “backup script”")
    row = tokens.get_by_role("listitem").filter(has_text="backup script")
    expect(row).to_contain_text("user")
    expect(row).to_contain_text("not used yet")
    expect(row).to_contain_text(re.compile(r"ends \w+ (31 Dec|1 Jan) (2099|2100) [\d:]+ Europe/Berlin"))
    owner = tokens.get_by_role("listitem").filter(has=page.get_by_text("owner", exact=True))
    expect(owner).to_contain_text(re.compile(r"last used .*Europe/Berlin"))
    revoke = tokens.get_by_role("button", name="Revoke backup script")
    revoke.click()
    expect(revoke).to_have_text("Revoke it and all made with it?")
    revoke.click()
    expect(row).to_have_count(0)


def test_what_a_hook_made_the_agent_remember_is_marked_until_a_person_keeps_it(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:outside", "Outside")
    stub.when("servers moved", tool_call("remember", {"text": "The servers are in **Oslo**"}), "Noted.")
    url = house.post(f"/sessions/{key}/hooks", name="deploy")["url"]
    request = Request(url.replace(":4664", f":{house.port}"), data=b"The servers moved", method="POST")
    with urlopen(request, timeout=PATIENCE) as response:
        assert response.status == 202
    wait_until(lambda: [one for one in house.get("/memories")["items"] if not one["confirmed"]], "the memory")
    page = new_window(house).open("/settings")
    memory = page.get_by_role("region", name="Memory")
    row = memory.get_by_role("listitem").filter(has_text="The servers are in **Oslo**")
    expect(row).to_contain_text("from hook deploy, not confirmed")
    # Forgetting it has no way back, so it asks first.
    row.get_by_role("button", name="Forget").click()
    expect(row.get_by_role("button", name="Forget")).to_have_text("Sure?")
    row.get_by_role("button", name="Keep").click()
    expect(row).not_to_contain_text("not confirmed")
    expect(row.get_by_role("button", name="Keep")).to_have_count(0)
    [kept] = [one for one in house.get("/memories")["items"] if "Oslo" in one["text"]]
    assert kept["confirmed"]


def test_an_admin_gives_a_conversation_a_mail_address_by_the_page_alone(house: House, new_window: OpenWindow) -> None:
    key = house.session("web:post", "Post")
    page = new_window(house).open("/settings")
    addresses = page.get_by_role("region", name="Addresses", exact=True)
    addresses.get_by_label("E-mail address", exact=True).fill("you@example.org")
    addresses.get_by_role("button", name="Add e-mail", exact=True).click()
    expect(addresses.get_by_text("set HOMING_SMTP_URL")).to_be_visible()
    addresses.get_by_label("Add an address to Post").select_option("email:you@example.org")
    test = addresses.get_by_role("button", name="Send test to email:you@example.org")
    expect(test).to_be_visible()
    assert house.get(f"/sessions/{key}")["addresses"] == [key, "email:you@example.org"]
    assert violations(page) == []
    mail = addresses.get_by_role("region", name="E-mail addresses")
    remove = mail.get_by_role("button", name="Remove email:you@example.org")
    remove.click()
    remove.click()
    expect(test).to_have_count(0)
    assert house.get(f"/sessions/{key}")["addresses"] == [key]
    assert house.get("/grants")["items"] == []


def test_who_is_no_admin_reads_why_a_mail_address_is_refused(house: House, new_window: OpenWindow) -> None:
    token = house.post("/tokens", role="user")["token"]
    page = new_window(house, signed_in=False).open("/settings")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("E-mail address", exact=True).fill("you@example.org")
    page.get_by_role("button", name="Add e-mail", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Only an admin may grant a mail address")


def test_a_new_automation_says_when_nothing_will_fire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_window: OpenWindow
) -> None:
    monkeypatch.setenv("HOMING_SCHEDULER_ENABLED", "false")
    with House(tmp_path) as idle:
        page = new_window(idle).open("/automations/new")
        page.get_by_label("When", exact=True).fill("every weekday at 8")
        page.get_by_label("What should happen?").fill("Look at the prices")
        page.get_by_role("button", name="Schedule", exact=True).click()
        news = page.get_by_role("status", name="News")
        expect(news).to_contain_text("Scheduled:")
        expect(news).to_contain_text("The scheduler is switched off")
