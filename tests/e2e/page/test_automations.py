"""Making automations on the page, and ruling over them."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

from e2e.page.conftest import OpenWindow
from e2e.page.house import ZONE, House
from homing.testing import StubModelServer

pytestmark = pytest.mark.slow


def by_text(page: Page) -> None:
    page.get_by_label("When", exact=True).fill("every weekday at 8:15")


def by_once(page: Page) -> None:
    page.get_by_role("tab", name="Once").click()
    page.get_by_label("Date").fill("2030-05-06")
    page.get_by_label("Time", exact=True).fill("07:30")


def by_every(page: Page) -> None:
    page.get_by_role("tab", name="Every").click()
    page.get_by_role("spinbutton", name="Every").fill("45")
    page.get_by_label("Unit").select_option("minutes")


def by_days(page: Page) -> None:
    page.get_by_role("tab", name="Days").click()
    for day in ("Tue", "Thu"):
        page.get_by_role("button", name=day, exact=True).click()
    page.get_by_label("at", exact=True).fill("18:45")


def by_cron(page: Page) -> None:
    page.get_by_role("tab", name="Cron").click()
    page.get_by_label("Expression").fill("5 4 1 */3 *")


WAYS: dict[str, tuple[Callable[[Page], None], dict[str, Any]]] = {
    "text": (by_text, {"kind": "cron", "cron": "15 8 * * 1-5", "tz": ZONE}),
    "once": (by_once, {"kind": "at", "at": "2030-05-06T07:30:00+02:00", "tz": ZONE}),
    "every": (by_every, {"kind": "every", "every_ms": 45 * 60_000, "tz": ZONE}),
    "days": (by_days, {"kind": "cron", "cron": "45 18 * * 1,3,5", "tz": ZONE}),
    "cron": (by_cron, {"kind": "cron", "cron": "5 4 1 */3 *", "tz": ZONE}),
}


STAMP = re.compile(r"\w+ (\d+) \w+(?: \d{4})? ([\d:]+)")


@pytest.mark.parametrize("way", WAYS)
def test_what_the_preview_shows_is_what_is_stored(house: House, new_window: OpenWindow, way: str) -> None:
    fill, schedule = WAYS[way]
    key = house.session(f"web:by-{way}", f"Made by {way}")
    page = new_window(house).open(f"/automations/new?session={key}")
    fill(page)
    rows = page.get_by_role("table").get_by_role("row")
    expect(rows.nth(1)).to_contain_text(re.compile(r"\d\d:\d\d"))
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    words = page.locator("#when-says").inner_text()
    stamps = [row.get_by_role("cell").first.inner_text() for row in rows.all()[1:]]
    shown = [found.groups() for stamp in stamps if (found := STAMP.fullmatch(stamp))]
    assert len(shown) == (1 if way == "once" else 5)
    page.get_by_label("What should happen?").fill("Look at the prices")
    page.get_by_label("Name", exact=True).fill(f"check by {way}")
    page.get_by_role("button", name="Schedule", exact=True).click()

    expect(page.get_by_role("heading", name=f"check by {way}")).to_be_visible()
    [job] = house.get(f"/jobs?session_key={key}")["items"]
    assert {name: job["schedule"][name] for name in schedule} == schedule
    assert job["words"] == words
    assert [day_and_clock(at) for at in job["next"]] == shown[: len(job["next"])]
    assert job["payload"]["message"] == "Look at the prices"
    assert job["origin"]["door"] == "page"


def day_and_clock(at: str) -> tuple[str, str]:
    wall = datetime.fromisoformat(at).astimezone(ZoneInfo(ZONE))
    return str(wall.day), wall.strftime("%H:%M:%S" if wall.second else "%H:%M")


def test_every_two_hours_is_on_the_full_hour_or_from_now_on(house: House, new_window: OpenWindow) -> None:
    page = new_window(house).open("/automations/new")
    page.get_by_role("tab", name="Every").click()
    full = page.get_by_role("checkbox", name="On the full hour")
    expect(full).to_be_checked()
    first = page.get_by_role("table").get_by_role("row").nth(1).get_by_role("cell").first
    expect(page.locator("#when-says")).to_contain_text("Every 2 hours on the hour")
    expect(first).to_have_text(re.compile(r"\d\d:00$"))
    full.uncheck()
    # From this second on: seconds are shown, unless it is just a full minute.
    expect(page.locator("#when-says")).to_have_text(f"Every 2 hours ({ZONE})")
    page.get_by_label("Unit").select_option("minutes")
    expect(full).to_have_count(0)
    # What is said in words is shown by the box, too.
    page.get_by_label("When", exact=True).fill("every 3 hours")
    expect(page.locator("#when-says")).to_contain_text("Every 3 hours on the hour")
    expect(full).to_be_checked()


def test_a_new_automation_is_what_its_tabs_show_though_nobody_touched_them(
    house: House, new_window: OpenWindow
) -> None:
    key = house.session("web:untouched", "Untouched")
    page = new_window(house).open(f"/automations/new?session={key}")
    expect(page.locator("#when-says")).to_have_text(f"Weekdays at 08:00 {ZONE}")
    page.get_by_role("button", name="Schedule", exact=True).click()
    # What is missing is shown, and one stands in it.
    message = page.get_by_label("What should happen?")
    expect(message).to_be_focused()
    expect(message).to_be_in_viewport()
    message.fill("Count the days")
    page.get_by_role("button", name="Schedule", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Count the days")
    [job] = house.get(f"/jobs?session_key={key}")["items"]
    assert job["schedule"] == {"kind": "cron", "cron": "0 8 * * 1-5", "tz": ZONE}


def test_enter_right_after_the_last_letter_stores_what_was_written(house: House, new_window: OpenWindow) -> None:
    key = house.session("web:hurry", "Hurry")
    page = new_window(house).open(f"/automations/new?session={key}")
    page.get_by_label("What should happen?").fill("Hurry up")
    when = page.get_by_label("When", exact=True)
    when.fill("every sunday at 11")
    when.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Hurry up")
    [job] = house.get(f"/jobs?session_key={key}")["items"]
    assert job["words"] == f"Sundays at 11:00 {ZONE}"


def test_a_time_of_day_has_24_hours_and_is_read_as_people_write_it(house: House, new_window: OpenWindow) -> None:
    page = new_window(house).open("/automations/new")
    clock = page.get_by_label("at", exact=True)
    expect(clock).to_have_value("08:00")
    for written, read in {"7": "07:00", "19.45": "19:45", "0815": "08:15", "23:59": "23:59"}.items():
        clock.fill(written)
        expect(page.locator("#when-says")).to_have_text(f"Weekdays at {read} {ZONE}")
        clock.blur()
        expect(clock).to_have_value(read)
    for wrong in ("24:00", "8:60", "noon"):
        clock.fill(wrong)
        expect(clock).to_have_attribute("aria-invalid", "true")
        expect(page.get_by_role("alert")).to_contain_text("No time of day")
    # Words that are understood are shown in the fields, whatever stood there.
    page.get_by_label("When", exact=True).fill("every day at 6:30")
    expect(clock).to_have_value("06:30")
    expect(clock).to_have_attribute("aria-invalid", "false")


def test_a_wrong_expression_and_a_wrong_zone_are_told_apart(house: House, new_window: OpenWindow) -> None:
    page = new_window(house).open("/automations/new")
    page.get_by_label("When", exact=True).fill("every blue moon")
    expect(page.get_by_label("When", exact=True)).to_have_attribute("aria-invalid", "true")
    page.get_by_label("When", exact=True).fill("every day at 9")
    expect(page.get_by_label("When", exact=True)).to_have_attribute("aria-invalid", "false")
    page.get_by_label("Time zone").fill("Europe/Atlantis")
    expect(page.get_by_label("Time zone")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("When", exact=True)).to_have_attribute("aria-invalid", "false")
    page.get_by_role("button", name="Schedule", exact=True).click()
    expect(page.get_by_label("Time zone")).to_be_focused()
    expect(page.get_by_label("Time zone")).to_be_in_viewport()
    expect(page.get_by_label("When", exact=True)).to_have_attribute("aria-invalid", "false")
    page.get_by_label("Time zone").fill(ZONE)
    page.get_by_role("tab", name="Cron").click()
    page.get_by_label("Expression").fill("61 * * * *")
    # What was done by hand is refused where the hand was.
    expect(page.get_by_label("Expression")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("When", exact=True)).to_have_attribute("aria-invalid", "false")
    expect(page.locator("#tab-says")).to_contain_text("61")


def test_pause_resume_run_now_and_delete_each_say_so_and_can_be_taken_back(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:rule", "Rule")
    job = house.job(key, "every day at 9", "Count the sheep", name="sheep count")
    path = f"/jobs/{job['id']}"
    stub.when("Count the sheep", "Twelve sheep.")
    page = new_window(house).open(f"/automations?session={key}")
    news = page.get_by_role("status", name="News")

    page.get_by_role("button", name="Pause sheep count").click()
    expect(news).to_contain_text("Paused: sheep count")
    assert not house.get(path)["enabled"]
    news.get_by_role("button", name="Undo").last.click()
    expect(news).to_contain_text("Undone: sheep count")
    assert house.get(path)["enabled"]
    page.get_by_role("button", name="Pause sheep count").click()
    page.get_by_role("button", name="Resume sheep count").click()
    expect(news).to_contain_text("Resumed: sheep count")
    assert house.get(path)["next"] != []

    page.get_by_role("button", name="Actions for sheep count").click()
    page.get_by_role("menuitem", name="Run now").click()
    run = house.finished_run(job["id"])
    assert (run["state"], run["trigger"]) == ("ok", "manual")
    expect(page.get_by_role("listitem").filter(has_text="sheep count").get_by_role("link", name="OK")).to_be_visible()

    page.get_by_role("button", name="Actions for sheep count").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.get_by_role("link", name="sheep count")).to_have_count(0)
    news.get_by_text("Deleted: sheep count").locator("..").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="sheep count")).to_be_visible()
    assert house.get(path)["removed_at"] is None


def test_a_row_says_what_it_is_when_it_comes_next_and_how_it_last_went(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:row", "Rows")
    job = house.job(key, "every day at 9", "Count the geese", name="goose count")
    stub.when("Count the geese", "Nine geese.")
    house.post(f"/jobs/{job['id']}/run")
    run = house.finished_run(job["id"])
    page = new_window(house).open(f"/automations?session={key}")
    row = page.get_by_role("listitem").filter(has_text="goose count")
    expect(row.get_by_role("img", name="Active")).to_be_visible()
    expect(row).to_contain_text(f"Every day at 09:00 {ZONE}")
    expect(row).to_contain_text(re.compile(r"in (\d+ h )?\d+ (h|min|s)"))
    expect(row).to_contain_text(re.compile(r"\d+ (s|min) ago\s*OK, \d+"))
    expect(row.get_by_role("img", name="Last 1 run, none failed")).to_be_visible()
    # The absolute time is one look away.
    row.locator("time").first.hover()
    expect(page.get_by_role("tooltip")).to_contain_text(f"09:00:00 {ZONE}")
    row.get_by_role("link", name="OK").click()
    expect(page).to_have_url(re.compile(re.escape(run["id"]) + "|" + re.escape(run["id"].replace(":", "%3A"))))


def test_an_empty_list_says_how_to_begin_and_a_lost_one_how_to_go_on(
    fresh_house: House, new_window: OpenWindow
) -> None:
    window = new_window(fresh_house)
    page = window.open("/automations")
    expect(page.get_by_text("Nothing is scheduled yet")).to_be_visible()
    page.get_by_role("link", name="make an automation here").click()
    expect(page.get_by_role("heading", name="New automation")).to_be_visible()
    for path, words in {"/deliveries": "Nothing here", "/week": "Nothing ran, and nothing is planned"}.items():
        page.goto(fresh_house.url + path)
        expect(page.get_by_text(words)).to_be_visible()

    page.route("**/api/jobs?*", lambda route: route.abort())
    page.goto(f"{fresh_house.url}/automations")
    expect(page.get_by_role("alert")).to_contain_text("No answer from the server")
    page.unroute("**/api/jobs?*")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("Nothing is scheduled yet")).to_be_visible()


def test_a_failed_run_has_a_page_that_says_what_went_wrong(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:fails", "Fails")
    job = house.job(key, "every day at 9", "Ask the wrong door", name="wrong door")
    stub.fail(401, times=9, match="Ask the wrong door", message="This key opens nothing.")
    page = new_window(house).open(f"/automations/{job['id']}")
    page.get_by_role("button", name="Run now").click()
    run = house.finished_run(job["id"])
    assert run["state"] == "error"
    # The outcome is in the table as soon as it is on record, and its page is one click away.
    page.get_by_role("list", name="Runs").get_by_role("link", name="Failed").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Failed")
    wrong = page.get_by_role("region", name="What went wrong")
    expect(wrong).to_contain_text("This key opens nothing.")
    expect(page.get_by_role("region", name="Prompt as rendered")).to_contain_text("Ask the wrong door")
    expect(wrong.get_by_role("paragraph")).to_have_text("This key opens nothing. (401 from stub)")
    expect(page.get_by_role("region", name="What was said")).to_contain_text("Ask the wrong door")


def test_a_run_apart_shows_what_was_said_in_the_session_of_its_own(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:apart", "Apart")
    stub.when("Hello to the conversation", "Hello yourself.")
    stub.when("Count the owls", "Three owls.")
    house.post(f"/sessions/{key}/messages?wait=60", text="Hello to the conversation")
    job = house.job(key, "every day at 9", "Count the owls", name="owl count", session="isolated")
    house.post(f"/jobs/{job['id']}/run")
    run = house.finished_run(job["id"])
    page = new_window(house).open(f"/runs/{run['id']}")
    said = page.get_by_role("region", name="What was said")
    expect(said.get_by_text("Three owls.")).to_be_visible()
    expect(said.get_by_text("Hello")).to_have_count(0)
    said.get_by_role("link", name="Show the session of this run").click()
    expect(page.get_by_role("log").get_by_text("Three owls.")).to_be_visible()
