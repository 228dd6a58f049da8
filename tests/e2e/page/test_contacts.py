"""Settings → Contacts: a chat is linked by a code from the page, talks through Telegram, and is removed."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House, wait_until
from homing.testing import TelegramStub

pytestmark = pytest.mark.slow


def test_a_chat_is_linked_from_the_page_and_answered_there_until_it_is_removed(
    tmp_path: Path, new_window: OpenWindow
) -> None:
    with TelegramStub() as telegram:
        house = House(tmp_path)
        house.home.mkdir()
        settings = f'[channels.telegram]\ntoken = "{telegram.token}"\nbase_url = "{telegram.url}"\n'
        (house.home / "homing.toml").write_text(settings, "utf-8")
        with house:
            telegram.wait_for(lambda stub: stub.polling, seconds=60)
            telegram.write("let me in", chat=666, sender=666)
            page = new_window(house).open("/settings")
            contacts = page.get_by_role("region", name="Contacts")
            expect(contacts).to_contain_text("Nobody can talk to your agents")
            contacts.get_by_role("button", name="Link a chat").click()
            expect(contacts).to_contain_text("to @homing_bot within ten minutes")
            said = contacts.locator("code").inner_text()
            assert contacts.get_by_role("link").get_attribute("href") == (
                f"https://t.me/homing_bot?start={said.removeprefix('link ')}"
            )
            picture = contacts.get_by_role("img", name="QR code of this link")
            expect(picture).to_be_visible()
            wait_until(lambda: picture.evaluate("img => img.complete && img.naturalWidth > 0"), "the QR code is drawn")
            assert violations(page) == []
            telegram.write(said)
            [contact] = wait_until(lambda: house.get("/contacts")["items"], "the chat is linked")
            telegram.write("remind me in 2 hours to stretch")
            wait_until(
                lambda: [m for m in house.get("/sessions/telegram:7/messages")["items"] if m["role"] == "assistant"][
                    1:
                ],
                "it is answered",
            )
            telegram.wait_for(lambda stub: len([c for c in stub.calls if "send" in str(c[0])]) >= 2)
            assert json.loads(house.command("contacts", "list", "--json"))["address"] == "telegram:7"
            page = new_window(house).open("/settings")
            contacts = page.get_by_role("region", name="Contacts")
            contacts.get_by_role("button", name=f"Remove {contact['name']}").click()
            contacts.get_by_role("button", name=f"Remove? Remove {contact['name']}").click()
            wait_until(lambda: not house.get("/contacts")["items"], "the contact is gone")
