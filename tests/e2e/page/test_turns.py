"""What an agent did: its tool calls in the conversation, the page of a turn, and trying again."""

import re

import pytest
from playwright.sync_api import Page, expect

from e2e.page.conftest import OpenWindow
from e2e.page.house import House
from homing.testing import Reply, StubModelServer, tool_call

pytestmark = pytest.mark.slow

LOOK = {"query": "<b>apples</b>"}
NEVER = {"action": "add", "when": "at the end of time", "message": "look"}


def say(page: Page, text: str) -> None:
    box = page.get_by_label("Message", exact=True)
    box.fill(text)
    box.press("Enter")


def test_tool_calls_show_while_they_run_and_after_a_reload_also_the_refused_ones(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:tools", "Tools")
    answer = Reply(chunks=["Done, ", "it is scheduled."], hold="tools", hold_after_chunks=1)
    stub.when("what do I like", tool_call("recall", LOOK), tool_call("schedule_task", NEVER), answer)
    page = new_window(house).open(f"/chat/{key}")
    say(page, "what do I like")
    log = page.get_by_role("log")
    expect(log.get_by_text("Done,")).to_be_visible()
    lines = log.get_by_role("list", name="Tool calls").get_by_role("listitem")
    expect(lines).to_have_count(2)
    expect(lines.nth(0)).to_contain_text("recall")
    expect(lines.nth(1)).to_contain_text("failed")
    stub.release("tools")
    expect(log.get_by_text("Done, it is scheduled.")).to_be_visible()

    page.reload()
    expect(lines).to_have_count(2)
    with page.expect_response(re.compile("/api/turns/")):
        lines.nth(0).get_by_role("button").click()
    # What a tool was given and what it gave is text, whatever it looks like.
    expect(lines.nth(0).get_by_label("Input")).to_contain_text("<b>apples</b>")
    expect(lines.nth(1)).to_contain_text("failed")
    lines.nth(1).get_by_role("button").click()
    expect(lines.nth(1).get_by_label("Result")).to_contain_text("at the end of time")

    log.get_by_role("link", name="how this answer came about").click()
    expect(page.get_by_role("heading", name="Answered")).to_be_visible()
    steps = page.get_by_role("region", name="Steps")
    expect(steps.get_by_role("listitem")).to_have_count(5)
    record = page.get_by_role("region", name="On record")
    expect(record).to_contain_text("Your message")
    expect(record).to_contain_text("price unknown")
    record.get_by_role("link", name="Main").click()
    expect(page.get_by_role("heading", name="Main")).to_be_visible()


def test_a_failed_answer_is_tried_again_once_however_often_one_presses(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:again", "Again")
    stub.fail(401, times=1, match="how much are pears", message="The key was refused.")
    stub.when("how much are pears", "Two euros.")
    page = new_window(house).open(f"/chat/{key}")
    say(page, "how much are pears")
    log = page.get_by_role("log")
    log.get_by_role("button", name="Try again").dblclick()
    expect(log.get_by_text("Two euros.")).to_be_visible()
    expect(log.get_by_role("button", name="Try again")).to_have_count(0)
    said = [message["text"] for message in house.get(f"/sessions/{key}/messages")["items"] if message["role"] == "user"]
    assert said == ["how much are pears", "how much are pears"]

    # The chat has the short line; the provider's own sentence is on the turn's page.
    expect(log.get_by_text("The key was refused.")).to_have_count(0)
    log.get_by_role("link", name="how this answer came about").first.click()
    expect(page.get_by_role("region", name="What went wrong")).to_contain_text("The key was refused.")


def test_a_failed_run_is_run_again_from_its_conversation(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:rerun", "Again by the clock")
    stub.fail(401, times=1, match="price of plums", message="The key was refused.")
    stub.when("price of plums", "Three euros.")
    job = house.job(key, "every day at 9", "Look up the price of plums", name="plums")
    house.post(f"/jobs/{job['id']}/run")
    failed = house.finished_run(job["id"])
    page = new_window(house).open(f"/chat/{key}")
    page.get_by_role("log").get_by_role("button", name="Try again").dblclick()
    expect(page.get_by_role("log").get_by_text("Three euros.")).to_be_visible()
    assert len(house.get(f"/jobs/{job['id']}/runs")["items"]) == 2
    page.goto(f"{house.url}/runs/{failed['id']}")
    expect(page.get_by_role("region", name="What went wrong")).to_contain_text("The key was refused.")
    expect(page.get_by_role("region", name="On record")).to_contain_text("Conversation")
