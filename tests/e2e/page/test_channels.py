"""Settings → Channels: a channel that does not work says why in the platform's words, and works once it is mended."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House
from homing.testing import TelegramStub

pytestmark = pytest.mark.slow


def test_a_channel_shows_its_state_account_and_error_and_needs_no_restart_once_mended(
    tmp_path: Path, new_window: OpenWindow
) -> None:
    with TelegramStub() as telegram:
        house = House(tmp_path)
        house.home.mkdir()
        settings = f'[channels.telegram]\ntoken = "4664:revoked"\nbase_url = "{telegram.url}"\n'
        (house.home / "homing.toml").write_text(settings, "utf-8")
        with house:
            page = new_window(house).open("/settings")
            channels = page.get_by_role("region", name="Channels")
            telegram.wait_for(lambda stub: bool(stub.calls))
            channels.get_by_role("button", name="Test").click()
            expect(channels).to_contain_text("Telegram does not accept the token of telegram: Unauthorized")
            assert "4664:revoked" not in page.content()
            telegram.token = "4664:revoked"
            telegram.wait_for(lambda stub: stub.polling, seconds=60)
            channels.get_by_role("button", name="Test").click()
            expect(page.get_by_role("status", name="News")).to_contain_text("telegram works as @homing_bot")
            expect(channels).to_contain_text("@homing_bot")
            expect(channels).to_contain_text("listening")
            assert violations(page) == []
