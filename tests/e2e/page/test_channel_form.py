"""Settings → Channels: every kind is added, refused in the platform's words, tested, changed and removed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House, wait_until
from support.platforms import Platform, open_platforms

pytestmark = pytest.mark.slow

KINDS = ("telegram", "email", "slack", "discord", "matrix", "apprise")
LABELS = {
    "token": "Token",
    "app_token": "App token",
    "bot_token": "Bot token",
    "base_url": "Base URL",
    "imap_url": "IMAP URL",
    "smtp_url": "SMTP URL",
    "from": "From",
    "url": "URL",
}


@pytest.fixture
def platforms() -> Iterator[dict[str, Platform]]:
    with open_platforms() as platforms:
        yield platforms


@pytest.fixture
def home(tmp_path: Path) -> Iterator[House]:
    with House(tmp_path) as house:
        yield house


def fill(form: Locator, kind: str, fields: dict[str, str]) -> None:
    form.get_by_label("Kind").select_option(kind)
    for name, value in fields.items():
        label = form.locator("label", has_text=LABELS[name])
        form.locator(f"#{label.first.get_attribute('for')}".replace(":", "\\:")).fill(value)


def channels_of(page: Page) -> Locator:
    return page.get_by_role("region", name="Channels")


def news(page: Page) -> Locator:
    return page.get_by_role("status", name="News")


@pytest.mark.parametrize("size", [(1280, 900), (360, 800)], ids=["desk", "phone"])
def test_every_kind_of_channel_is_added_tested_and_removed_on_the_page(
    size: tuple[int, int], platforms: dict[str, Platform], home: House, new_window: OpenWindow
) -> None:
    page = new_window(home, size=size).open("/settings")
    channels = channels_of(page)
    expect(channels).to_contain_text("No channels yet")
    for kind in KINDS:
        platform = platforms[kind]
        channels.get_by_role("button", name="Add a channel").click()
        form = channels.locator("form")
        fill(form, kind, {**platform.fields, platform.wrong[0]: platform.wrong[1]})
        form.get_by_role("button", name="Test and add").click()
        expect(form.get_by_role("alert")).to_contain_text(platform.refusal)
        assert kind not in [one["name"] for one in home.get("/channels")["items"]]
        fill(form, kind, dict(platform.fields))
        if kind == "email":
            assert violations(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        form.get_by_role("button", name="Test and add").click()
        row = channels.get_by_role("listitem").filter(has_text=kind)
        expect(row).to_be_visible()
        expect(form).to_have_count(0)
        row.get_by_role("button", name="Test").click()
        expect(news(page)).to_contain_text(f"{kind} works as {platform.account}")
        for secret in (value for name, value in platform.fields.items() if name not in ("from", "base_url")):
            assert secret not in page.content()
    assert violations(page) == []
    assert [one["name"] for one in home.get("/channels")["items"]] == sorted(KINDS)
    for kind in KINDS:
        channels.get_by_role("button", name=f"Remove {kind}").click()
        channels.get_by_role("button", name=f"Remove? Remove {kind}").click()
        expect(channels.get_by_role("listitem").filter(has_text=kind)).to_have_count(0)
    assert home.get("/channels")["items"] == []


def test_a_refused_token_is_replaced_on_the_page_without_a_restart(
    platforms: dict[str, Platform], home: House, new_window: OpenWindow
) -> None:
    telegram = platforms["telegram"]
    home.post("/channels", name="telegram", fields=dict(telegram.fields))
    telegram.revoke()
    page = new_window(home).open("/settings")
    row = channels_of(page).get_by_role("listitem")
    row.get_by_role("button", name="Test").click()
    expect(news(page)).to_contain_text("Telegram does not accept the token")
    row.get_by_role("button", name="Change telegram").click()
    form = row.locator("form")
    form.get_by_label("Token").fill("4664:another")
    form.get_by_role("button", name="Test and save").click()
    expect(news(page)).to_contain_text("telegram works as @homing_bot")
    wait_until(lambda: home.get("/channels")["items"][0]["state"] == "listening", "the new token is used")
    assert violations(page) == []


def test_an_own_mail_address_is_linked_with_the_form_of_an_account_of_any_name(
    platforms: dict[str, Platform], home: House, new_window: OpenWindow
) -> None:
    home.post("/channels", name="work", kind="email", fields=dict(platforms["email"].fields))
    page = new_window(home).open("/settings")
    contacts = page.get_by_role("region", name="Contacts")
    # Mail is linked by a code that is sent to the address, whatever the account is called; a chat by one from there.
    expect(contacts.get_by_role("button", name="Link a chat")).to_have_count(0)
    contacts.get_by_label("Your mail address").fill("anna@example.org")
    contacts.get_by_role("button", name="Send me a code").click()
    expect(contacts).to_contain_text("Enter the code that was sent to anna@example.org")
    code = wait_until(platforms["email"].code, "the mail with the code")
    contacts.get_by_label("Enter the code").fill(code)
    assert violations(page) == []
    contacts.get_by_role("button", name="Link this address").click()
    expect(news(page)).to_contain_text("anna@example.org is linked to you")
    assert [one["address"] for one in home.get("/contacts")["items"]] == ["work:anna@example.org"]
