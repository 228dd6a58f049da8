"""The list of automations: many at once, and failures by their cause."""

import pytest
from playwright.sync_api import expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House, wait_until
from homing.testing import StubModelServer

pytestmark = pytest.mark.slow


def test_many_are_paused_resumed_and_deleted_at_once_and_brought_back(house: House, new_window: OpenWindow) -> None:
    key = house.session("web:bulk", "Bulk")
    ids = [house.job(key, "every day at 9", f"Look at {n}", name=f"bulk {n}")["id"] for n in range(3)]
    page = new_window(house).open(f"/automations?session={key}")
    news = page.get_by_role("status", name="News")
    bar = page.get_by_role("toolbar", name="Selected automations")
    expect(bar).to_have_count(0)
    # By keyboard, as by mouse.
    page.get_by_role("checkbox", name="Select bulk 0").focus()
    page.keyboard.press("Space")
    expect(bar).to_contain_text("1 selected")
    bar.get_by_role("button", name="Select all 3").click()
    expect(bar).to_contain_text("3 selected")
    bar.get_by_role("button", name="Pause").click()
    expect(news).to_contain_text("Paused: 3 automations")
    assert [house.get(f"/jobs/{one}")["enabled"] for one in ids] == [False] * 3
    news.get_by_role("button", name="Undo").last.click()
    expect(news).to_contain_text("Undone: 3 automations")
    assert [house.get(f"/jobs/{one}")["enabled"] for one in ids] == [True] * 3

    for n in (0, 2):
        page.get_by_role("checkbox", name=f"Select bulk {n}").check()
    expect(bar.get_by_role("button", name="Resume")).to_be_disabled()
    bar.get_by_role("button", name="Delete 2 automations").click()
    assert len(house.get(f"/jobs?session_key={key}")["items"]) == 3
    bar.get_by_role("button", name="Really delete 2 automations?").click()
    expect(news).to_contain_text("Deleted: 2 automations")
    expect(page.get_by_role("link", name="bulk 0", exact=True)).to_have_count(0)
    expect(page.get_by_role("link", name="bulk 1", exact=True)).to_be_visible()
    news.get_by_text("Deleted: 2 automations").locator("..").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="bulk 2", exact=True)).to_be_visible()
    assert len(house.get(f"/jobs?session_key={key}")["items"]) == 3


def test_failures_of_one_cause_have_one_remedy(house: House, stub: StubModelServer, new_window: OpenWindow) -> None:
    key = house.session("web:causes", "Causes")
    ids = [house.job(key, "every day at 9", f"Ask the bank {n}", name=f"bank {n}")["id"] for n in range(3)]
    stub.fail(401, times=3, match="Ask the bank", message="Incorrect API key provided.")
    for one in ids:
        house.post(f"/jobs/{one}/run")
        assert house.finished_run(one)["state"] == "error"
    page = new_window(house).open(f"/automations?session={key}")
    causes = page.get_by_role("region", name="Failures by cause")
    expect(causes.get_by_role("listitem")).to_have_count(1)
    expect(causes).to_contain_text("3 automations:")
    expect(causes).to_contain_text("refused the key")
    assert violations(page) == []
    stub.when("Ask the bank", "The bank says hello.")
    causes.get_by_role("button", name="Retry all").click()
    expect(page.get_by_role("status", name="News")).to_contain_text("Running again: 3 automations")
    wait_until(
        lambda: all(house.get(f"/jobs/{one}")["status"] == "active" for one in ids), "the end of the second runs"
    )
    expect(causes).to_have_count(0)


def test_the_key_is_mended_from_there(house: House, stub: StubModelServer, new_window: OpenWindow) -> None:
    key = house.session("web:mend", "Mend")
    for n in range(2):
        job = house.job(key, "every day at 9", f"Ask the clerk {n}", name=f"clerk {n}")
        stub.fail(401, times=1, match="Ask the clerk", message="Incorrect API key provided.")
        house.post(f"/jobs/{job['id']}/run")
        house.finished_run(job["id"])
    page = new_window(house, size=(360, 740)).open(f"/automations?session={key}")
    causes = page.get_by_role("region", name="Failures by cause")
    expect(causes).to_contain_text("2 automations:")
    page.get_by_role("checkbox", name="Select clerk 0").check()
    assert page.evaluate("document.scrollingElement.scrollWidth <= window.innerWidth")
    assert violations(page) == []
    causes.get_by_role("link", name="Fix key").click()
    expect(page.get_by_role("heading", name="Settings")).to_be_visible()
