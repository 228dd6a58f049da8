"""The first minute of somebody who just started Homing."""

import re

import pytest
from playwright.sync_api import Request, Route, expect

from e2e.page.conftest import OpenWindow
from e2e.page.house import House, wait_until

pytestmark = pytest.mark.slow


def test_the_first_reminder_counts_down_and_arrives_by_itself(fresh_house: House, new_window: OpenWindow) -> None:
    window = new_window(fresh_house, signed_in=False)
    page = window.open(fresh_house.sign_in_link())
    expect(page.get_by_role("button", name="Offline mode: not an AI")).to_be_visible()
    expect(page.get_by_role("list", name="Things to try").get_by_role("button")).to_have_count(3)
    expect(page.get_by_label("Message", exact=True)).to_be_focused()
    assert "code=" not in page.url

    page.keyboard.type("remind me in 20 seconds to stretch")
    page.keyboard.press("Enter")
    log = page.get_by_role("log")
    card = log.locator("[data-card]")
    expect(card).to_contain_text(re.compile(r"in \d+ s"))
    first = card.get_by_role("listitem").first.inner_text()
    expect(card.get_by_role("listitem").first).not_to_have_text(first)
    expect(log.get_by_text("Reminder", exact=False).last).to_be_visible()
    expect(card).to_contain_text("Done. No time is left on its schedule.")
    expect(log.locator("[data-seq]").last).to_contain_text("stretch")

    [session] = fresh_house.get("/sessions")["items"]
    messages = fresh_house.get(f"/sessions/{session['key']}/messages")["items"]
    assert [message["kind"] for message in messages].count("reminder") == 1


def test_a_link_works_once_and_without_one_the_door_says_how_to_get_in(
    fresh_house: House, new_window: OpenWindow
) -> None:
    link = fresh_house.sign_in_link()
    first = new_window(fresh_house, signed_in=False).open(link)
    expect(first.get_by_label("Message", exact=True)).to_be_visible()
    second = new_window(fresh_house, signed_in=False).open(link)
    # What to type is set as code, in the sentence of the refusal too.
    expect(second.get_by_role("alert").locator("code")).to_have_text("homing open")
    second.get_by_label("Token").fill(fresh_house.token)
    second.get_by_role("button", name="Sign in").click()
    expect(second.get_by_role("list", name="Things to try")).to_be_visible()


def test_ones_own_first_words_are_there_before_the_server_answers(fresh_house: House, new_window: OpenWindow) -> None:
    page = new_window(fresh_house).open("/chat")
    held: list[Route] = []
    page.route("**/api/sessions/*/messages", lambda route: held.append(route) if wait_for(route) else route.continue_())
    box = page.get_by_label("Message", exact=True)
    box.fill("remind me in 10 minutes to stretch")
    box.press("Enter")
    expect(page.get_by_role("log").get_by_text("remind me in 10 minutes to stretch")).to_be_visible()
    expect(page.get_by_role("heading", name="New conversation")).to_be_visible()
    # What is written meanwhile is not lost when the conversation is there.
    page.keyboard.type("and then")
    wait_until(lambda: page.wait_for_timeout(20) or held, "the request")
    held.pop().continue_()
    expect(page.get_by_role("region", name="Automation stretch").or_(page.locator("[data-card]")).first).to_be_visible()
    expect(page.get_by_role("log").get_by_text("remind me in 10 minutes to stretch", exact=True)).to_have_count(1)
    expect(box).to_have_value("and then")
    expect(box).to_be_focused()


def wait_for(route: Route) -> bool:
    return route.request.method == "POST"


def is_read(request: Request) -> bool:
    return "/api/" in request.url and request.method == "GET"


@pytest.mark.parametrize("path", ["/", "/automations"])
def test_a_load_asks_for_each_thing_once(fresh_house: House, new_window: OpenWindow, path: str) -> None:
    for number in range(3):
        fresh_house.session(f"web:talk{number}", f"Talk {number}")
        fresh_house.job(f"web:talk{number}", "every day at 9", "Look", name=f"look {number}")
    window = new_window(fresh_house)
    asked: list[str] = []
    page = window.open("about:blank")
    page.on("request", lambda request: asked.append(request.url) if is_read(request) else None)
    # The other pages' files are fetched once this one is idle: by then it has asked for everything.
    with page.expect_request(re.compile(r"/assets/DeliveriesPage-")):
        page.goto(fresh_house.url + path)
    expect(page.get_by_text("Talk 2").first).to_be_visible()
    twice = {url for url in asked if asked.count(url) > 1}
    assert twice == set()
    single = [url for url in asked if re.search(r"/api/sessions/[^/]+$", url)]
    assert len(single) == (0 if path == "/automations" else 1), single
