"""The page of usage: what was spent by day, automation and model, and the budget of an automation."""

import pytest
from playwright.sync_api import expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House
from homing.testing import StubModelServer

pytestmark = pytest.mark.slow


def test_usage_shows_days_and_sums_and_fits_a_phone(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    stub.otherwise("Fine.")
    key = house.session("web:used", "Used")
    house.post(f"/sessions/{key}/messages?wait=60", text="hello")
    page = new_window(house).open("/settings")
    page.get_by_role("link", name="What your model calls used and cost").click()
    expect(page.get_by_role("heading", name="Usage")).to_be_visible()
    expect(page.get_by_role("img", name="per day")).to_be_visible()
    sums = page.get_by_role("region", name="Sums")
    expect(sums.get_by_role("row", name="Conversations")).to_contain_text("price unknown")
    page.get_by_role("button", name="Models").click()
    expect(sums.get_by_role("row")).to_have_count(2)
    assert violations(page) == []
    dark = new_window(house, theme="dark", size=(360, 740)).open("/usage")
    expect(dark.get_by_role("region", name="Sums")).to_be_visible()
    assert violations(dark) == []
    assert dark.evaluate("document.documentElement.scrollWidth") <= 360
    # A name breaks between words only.
    name = dark.get_by_role("cell", name="Conversations", exact=True)
    lines = "(cell) => { const all = new Range(); all.selectNodeContents(cell); return all.getClientRects().length; }"
    assert name.evaluate(lines) == 1


def test_a_budget_is_set_in_the_form_and_a_model_without_a_price_is_refused_there(
    house: House, new_window: OpenWindow
) -> None:
    key = house.session("web:budget", "Budget")
    job = house.post("/jobs", session_key=key, when="every 2h", message="look", max_cost_usd_per_day=0)
    page = new_window(house).open(f"/automations/{job['id']}/edit")
    page.get_by_text("More", exact=True).last.click()
    budget = page.get_by_label("Budget per day (US dollars)")
    expect(budget).to_have_value("0")
    budget.fill("0.5")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("is not known, so max_cost_usd_per_day cannot limit what it spends")).to_be_visible()
    budget.fill("")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="look")).to_be_visible()
    assert house.get(f"/jobs/{job['id']}")["max_cost_usd_per_day"] is None
