"""The page of one automation: the last answer first, its runs at a glance, and a test that leaves nothing behind."""

import re

import pytest
from playwright.sync_api import Page, expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House
from homing.testing import StubModelServer, tool_call

pytestmark = pytest.mark.slow


def run(house: House, job_id: str) -> None:
    house.post(f"/jobs/{job_id}/run")
    house.finished_run(job_id)


def test_the_last_answer_comes_first_with_what_changed(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:prices", "Prices")
    job = house.job(key, "every day at 9", "Look at the apples", name="apple watch")
    stub.when("Look at the apples", "Apples cost **2.29** in the market.", times=1)
    stub.when("Look at the apples", "Apples cost **2.49** in the market.")
    run(house, job["id"])
    run(house, job["id"])
    page = new_window(house).open(f"/automations/{job['id']}")
    last = page.get_by_role("region", name="Last answer")
    expect(last.get_by_text("Apples cost 2.49 in the market.").first).to_be_visible()
    expect(last.locator("ins")).to_have_text("added: **2.49**")
    expect(last.locator("del")).to_have_text("removed: **2.29**")
    headings = page.get_by_role("main").get_by_role("heading", level=2)
    expect(headings.first).to_have_text("Last answer")
    # What it said stands in the row of each run.
    rows = page.get_by_role("list", name="Runs").get_by_role("listitem")
    expect(rows.nth(0)).to_contain_text("2.49")
    expect(rows.nth(1)).to_contain_text("2.29")
    run(house, job["id"])
    expect(last.get_by_text("No change since the previous answer.")).to_be_visible()


def test_the_strip_says_outcome_and_duration_of_each_run_and_works_by_keyboard(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:strip", "Strip")
    job = house.job(key, "every day at 9", "Ask at the gate", name="gate keeper")
    stub.when("Ask at the gate", "Open.", times=1)
    run(house, job["id"])
    stub.fail(401, times=9, match="Ask at the gate", message="This key opens nothing.")
    run(house, job["id"])
    page = new_window(house).open(f"/automations/{job['id']}")
    strip = page.get_by_role("list", name="At a glance, oldest first").get_by_role("link")
    expect(strip).to_have_count(2)
    expect(strip.nth(0)).to_have_accessible_name(re.compile(r"Europe/Berlin: OK, took \d"))
    expect(strip.nth(1)).to_have_accessible_name(re.compile(r"Europe/Berlin: Failed"))
    expect(page.get_by_text(re.compile("Last 2 runs, 1 failed"))).to_be_visible()
    expect(page.get_by_role("list", name="Runs").get_by_role("listitem").first).to_contain_text(
        "This key opens nothing."
    )
    strip.nth(1).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Failed")


def test_the_settings_are_folded_below(house: House, new_window: OpenWindow) -> None:
    key = house.session("web:folded", "Folded")
    job = house.job(key, "every day at 9", "Look", name="folded one")
    page = new_window(house).open(f"/automations/{job['id']}")
    expect(page.get_by_text("It has not run yet.", exact=True)).to_be_visible()
    when = page.get_by_role("heading", name="When", exact=True)
    expect(when).to_be_hidden()
    settings = page.locator("summary").filter(has_text="Settings")
    settings.focus()
    page.keyboard.press("Enter")
    expect(when).to_be_visible()
    expect(page.get_by_text("The newest missed time runs once")).to_be_visible()


def test_a_test_shows_the_answer_and_what_would_have_been_called(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:try", "Try")
    job = house.job(key, "every day at 9", "Water the plants", name="plants", may_schedule=True)
    call = {"action": "add", "when": "in 5 minutes", "message": "look again"}
    stub.when("Water the plants", tool_call("schedule_task", call), "They are **watered**.")
    page = new_window(house).open(f"/automations/{job['id']}")
    button = page.get_by_role("button", name="Test", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    result = page.get_by_role("region", name="Test")
    expect(result.get_by_text("They are watered.")).to_be_visible()
    expect(result.get_by_role("heading", name="Test", exact=True)).to_be_focused()
    expect(result.get_by_label("Arguments of schedule_task")).to_contain_text('"message": "look again"')
    expect(page.get_by_text("It has not run yet.", exact=True)).to_be_visible()
    assert house.get(f"/sessions/{key}/messages")["items"] == []
    assert [one["id"] for one in house.get(f"/jobs?session_key={key}")["items"]] == [job["id"]]
    assert violations(page) == []
    result.get_by_role("link", name="All steps").click()
    expect(page.get_by_role("region", name="Steps")).to_contain_text("schedule_task")


def test_a_test_that_fails_says_why_and_a_reminder_needs_no_model(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:try-fail", "Try and fail")
    job = house.job(key, "every day at 9", "Open the vault", name="vault")
    stub.fail(401, times=9, match="Open the vault", message="This key opens nothing.")
    window = new_window(house)
    page = window.open(f"/automations/{job['id']}")
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.get_by_role("region", name="Test").get_by_role("alert")).to_contain_text("This key opens nothing.")
    assert house.get(f"/jobs/{job['id']}")["status"] == "active"
    page.get_by_role("button", name="Close the test").click()
    expect(page.get_by_role("region", name="Test")).to_have_count(0)
    payload = {"kind": "reminder", "message": "Time to stretch."}
    reminder = house.post("/jobs", session_key=key, when="every day at 9", payload=payload, name="stretch")
    page = window.open(f"/automations/{reminder['id']}")
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.get_by_role("region", name="Test")).to_contain_text("It would say:")
    expect(page.get_by_role("region", name="Test")).to_contain_text("Time to stretch.")


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_every_width_without_faults(
    house: House, stub: StubModelServer, new_window: OpenWindow, width: int, scheme: str
) -> None:
    key = house.session(f"web:fit-{width}-{scheme}", "Fits")
    job = house.job(key, "every day at 9", "Count the boats", name="a rather long name for an automation of boats")
    stub.when("Count the boats", "Twelve boats, and one that is far away.")
    run(house, job["id"])
    page = new_window(house, size=(width, 800), theme=scheme).open(f"/automations/{job['id']}")
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.get_by_role("region", name="Test")).to_contain_text("far away")
    check_fits(page)


def check_fits(page: Page) -> None:
    assert violations(page) == []
    assert page.evaluate("document.scrollingElement.scrollWidth <= window.innerWidth")
