"""Talking, while the clock goes on."""

import re
import signal

import pytest
from playwright.sync_api import Page, expect

from e2e.page.conftest import OpenWindow
from e2e.page.house import House
from homing.testing import Reply, StubModelServer, WebhookReceiver, tool_call

pytestmark = pytest.mark.slow

TEA = {"action": "add", "when": "every day at 16:00", "name": "tea time", "message": "Make tea"}


def say(page: Page, text: str) -> None:
    box = page.get_by_label("Message", exact=True)
    box.fill(text)
    box.press("Enter")


def test_a_scheduled_turn_waits_for_the_streaming_answer_and_comes_after_it(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:lane", "Fruit")
    job = house.job(key, "every day at 9", "Look at the prices", name="price check")
    stub.when("which fruit", Reply(chunks=["Apples first, ", "pears second."], hold="fruit", hold_after_chunks=1))
    stub.when("Look at the prices", "Prices are as they were.")
    page = new_window(house).open(f"/chat/{key}")

    say(page, "which fruit")
    log, lane = page.get_by_role("log"), page.get_by_role("region", name="What runs and what waits")
    expect(log.get_by_text("Apples first,")).to_be_visible()
    expect(lane).to_contain_text("Answering you")
    house.post(f"/jobs/{job['id']}/run")
    waiting = lane.get_by_role("listitem")
    expect(waiting).to_contain_text("price check")
    expect(waiting).to_contain_text("waits until this conversation is free")
    expect(log.get_by_text("Prices are as they were.")).to_have_count(0)

    stub.release("fruit")
    expect(log.get_by_text("Prices are as they were.")).to_be_visible()
    expect(lane).to_have_count(0)
    said = [message["text"] for message in house.get(f"/sessions/{key}/messages")["items"]]
    assert said[1] == "Apples first, pears second."
    assert said[-1] == "Prices are as they were."
    # The opening has its own look: the clock, the name and the way to its run, not a person's bubble.
    opening = log.locator("[data-seq]").nth(2)
    expect(opening.get_by_role("link", name="price check")).to_be_visible()
    expect(opening.get_by_text("You:")).to_have_count(0)


def test_a_card_says_what_was_scheduled_and_its_undo_takes_it_back(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:card", "Tea")
    stub.when("tea every afternoon", tool_call("schedule_task", TEA), "Every day at four, then.")
    page = new_window(house).open(f"/chat/{key}")
    say(page, "tea every afternoon")

    card = page.get_by_role("log").locator("[data-card]")
    expect(card.get_by_role("link", name="tea time")).to_be_visible()
    [job] = house.get(f"/jobs?session_key={key}")["items"]
    expect(card).to_contain_text(job["words"])
    expect(card.get_by_role("list", name="Next times").get_by_role("listitem")).to_have_count(3)
    card.get_by_text("Full text").click()
    expect(card.get_by_text("Make tea")).to_be_visible()

    card.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("log").get_by_text("Removed: tea time")).to_be_visible()
    assert house.get(f"/jobs?session_key={key}")["items"] == []


def test_a_conversation_with_automations_is_deleted_in_two_steps(house: House, new_window: OpenWindow) -> None:
    key = house.session("web:doomed", "Doomed")
    job = house.job(key, "every day at 9", "Look", name="doomed check")
    page = new_window(house).open(f"/chat/{key}")
    page.get_by_role("button", name="Conversation menu").click()
    page.get_by_role("menuitem", name="Delete conversation").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete conversation").click()

    blocking = page.get_by_role("list", name="Automations that block the deletion")
    expect(blocking.get_by_text("doomed check")).to_be_visible()
    assert house.get(f"/jobs/{job['id']}")["enabled"]
    page.get_by_role("dialog").get_by_role("button", name="Delete it and the conversation").click()
    expect(page.get_by_role("status", name="News")).to_contain_text("Deleted: Doomed")
    assert key not in [session["key"] for session in house.get("/sessions")["items"]]
    assert job["id"] not in [left["id"] for left in house.get("/jobs")["items"]]


def test_two_tabs_stay_in_step(house: House, stub: StubModelServer, new_window: OpenWindow) -> None:
    key = house.session("web:tabs", "Two tabs")
    job = house.job(key, "every day at 9", "Look", name="shared check")
    stub.when("hello from one tab", "Hello to both.")
    window = new_window(house)
    talking, watching = window.open(f"/chat/{key}"), window.open(f"/chat/{key}")
    listing = window.open("/automations?session=" + key)
    expect(watching.locator(f"[data-card={job['id']}]")).to_be_visible()

    say(talking, "hello from one tab")
    expect(watching.get_by_role("log").get_by_text("hello from one tab")).to_be_visible()
    expect(watching.get_by_role("log").get_by_text("Hello to both.")).to_be_visible()
    talking.locator(f"[data-card={job['id']}]").get_by_role("button", name="Pause").click()
    expect(talking.locator(f"[data-card={job['id']}]")).not_to_contain_text("Scheduled")
    expect(watching.locator(f"[data-card={job['id']}]").get_by_role("button", name="Resume")).to_be_visible()
    expect(listing.get_by_role("button", name="Resume shared check")).to_be_visible()


def test_after_a_restart_of_the_server_the_page_comes_back_with_what_it_missed(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:restart", "Restart")
    stub.when("said while you were away", "Heard it.")
    page = new_window(house).open(f"/chat/{key}")
    expect(page.get_by_role("heading", name="Restart")).to_be_visible()
    house.stop(signal.SIGKILL)
    expect(page.get_by_text("The server is out of reach. Reconnecting; nothing is lost.")).to_be_visible()
    house.start()
    house.post(f"/sessions/{key}/messages?wait=60", text="said while you were away")
    expect(page.get_by_role("log").get_by_text("Heard it.")).to_be_visible()
    expect(page.get_by_text("The server is out of reach.")).to_have_count(0)
    expect(page.get_by_role("log").get_by_text("said while you were away")).to_have_count(1)


def test_without_a_server_every_page_opens_and_what_was_not_sent_stays(house: House, new_window: OpenWindow) -> None:
    key = house.session("web:away", "Away")
    page = new_window(house).open(f"/chat/{key}")
    # The other pages come along once this one stands.
    page.wait_for_function(
        "() => performance.getEntriesByType('resource').some((one) => /DeliveriesPage/.test(one.name))"
    )
    house.stop(signal.SIGKILL)
    expect(page.get_by_text("The server is out of reach.")).to_be_visible()
    say(page, "said into the dark")
    expect(page.get_by_role("alert")).to_contain_text("Not sent yet")
    places = page.get_by_role("navigation", name="Main")
    places.get_by_role("link", name="Deliveries").click()
    expect(page.get_by_role("heading", name="Deliveries")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("alert")).to_contain_text("Not sent yet")
    house.start()
    expect(page.get_by_text("The server is out of reach.")).to_have_count(0)
    expect(page.get_by_role("log").get_by_text("You said: said into the dark")).to_be_visible()


def test_a_page_whose_part_is_out_of_reach_waits_for_it(house: House, new_window: OpenWindow) -> None:
    page = new_window(house).open("/chat")
    away = re.compile("DeliveriesPage|/healthz")
    page.route(away, lambda route: route.abort())
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Deliveries").click()
    expect(page.get_by_role("status", name="Loading", exact=True)).to_be_visible()
    page.unroute(away)
    expect(page.get_by_role("heading", name="Deliveries")).to_be_visible()


def test_the_composer_says_whether_a_message_is_seen_now_or_next_and_stop_ends_the_answer(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:stop", "Stop")
    stub.when("a long story", Reply(chunks=["Once upon a time ", "and so on."], hold=True, hold_after_chunks=1))
    stub.when("something else", "Something else it is.")
    page = new_window(house).open(f"/chat/{key}")
    say(page, "a long story")
    log = page.get_by_role("log")
    expect(log.get_by_text("Once upon a time")).to_be_visible()
    page.get_by_label("Message", exact=True).fill("something")
    expect(page.get_by_text("Your message will be seen in the answer in progress.")).to_be_visible()
    page.get_by_label("Send as a separate message").check()
    expect(page.get_by_text("Your message will be answered next, in a turn of its own.")).to_be_visible()
    say(page, "something else")
    expect(log.get_by_text("Will be answered next")).to_be_visible()

    page.get_by_role("button", name="Stop").click()
    expect(log.get_by_text("Something else it is.")).to_be_visible()
    # What was said so far stays, with a mark.
    stopped = log.locator("[data-seq]").filter(has=page.get_by_role("img", name="Stopped"))
    expect(stopped.get_by_text("Once upon a time")).to_be_visible()
    outcomes = [message["meta"].get("outcome") for message in house.get(f"/sessions/{key}/messages")["items"]]
    assert outcomes.count("cancelled") == 1


def test_an_undelivered_message_says_so_and_can_be_sent_again(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:undelivered", "Undelivered")
    stub.when("carry this", "Carried.")
    with WebhookReceiver() as receiver:
        receiver.answer(410)
        address = house.post("/webhooks", url=receiver.url)["address"]
        house.ask("PATCH", f"/sessions/{key}", {"addresses": [key, address]})
        page = new_window(house).open(f"/chat/{key}")
        say(page, "carry this")
        line = page.get_by_role("log").locator("[data-seq]").filter(has_text="Carried.")
        expect(line).to_contain_text("The receiver answered 410.")
        line.get_by_role("button").filter(has_text="Retry").click()
        expect(line).not_to_contain_text("The receiver answered 410.")
        receiver.wait_for_requests(2, timeout=60)
