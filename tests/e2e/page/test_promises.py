"""An answer that promises to come back, while nothing was scheduled, says so; one click schedules it."""

import pytest
from playwright.sync_api import Page, expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House
from homing.testing import StubModelServer

pytestmark = pytest.mark.slow

MARK = "Nothing was scheduled for this."


def marked(page: Page) -> None:
    expect(page.get_by_role("log").get_by_text(MARK)).to_be_visible()


def test_an_unkept_promise_is_scheduled_with_one_click_and_every_window_knows(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:parcel", "Parcel")
    stub.when("parcel there", "Not yet. I'll check again tomorrow at nine.")
    house.post(f"/sessions/{key}/messages?wait=60", text="Is the parcel there?")
    assert "homing cron add 'tomorrow at nine' 'Check again'" in house.command("sessions", "get", key)
    mine = new_window(house).open(f"/chat/{key}")
    phone = new_window(house, size=(360, 740), theme="dark", touch=True).open(f"/chat/{key}")
    for page in (mine, phone):
        marked(page)
        assert violations(page) == []
    mine.get_by_role("button", name="Schedule it").press("Enter")
    sheet = mine.get_by_role("dialog", name="Schedule it")
    expect(sheet.get_by_label("When")).to_have_value("tomorrow at nine")
    expect(sheet).to_contain_text("at 09:00 Europe/Berlin")
    expect(sheet.get_by_label("What the agent should do")).to_have_value("Check again")
    assert violations(mine) == []
    # A time that cannot be read is refused before it is saved.
    sheet.get_by_label("When").fill("when pigs fly")
    expect(sheet.get_by_label("When")).to_have_attribute("aria-invalid", "true")
    expect(sheet.get_by_role("button", name="Schedule", exact=True)).to_be_disabled()
    sheet.get_by_label("When").fill("tomorrow at 10")
    expect(sheet).to_contain_text("at 10:00 Europe/Berlin")
    sheet.get_by_role("button", name="Schedule", exact=True).click()
    expect(sheet).to_have_count(0)
    for page in (mine, phone):
        expect(page.get_by_role("log").get_by_text("Scheduled since.")).to_be_visible()
    [job] = house.get(f"/jobs?session_key={key}")["items"]
    assert (job["payload"]["kind"], job["payload"]["message"]) == ("agent_turn", "Check again")
    mine.get_by_role("status", name="News").get_by_role("button", name="Undo").click()
    for page in (mine, phone):
        marked(page)
