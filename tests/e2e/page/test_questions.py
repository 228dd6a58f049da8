"""Questions of an agent: answered by button, by keyboard or in words, in the conversation or in the inbox."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House
from homing.testing import StubModelServer, tool_call

pytestmark = pytest.mark.slow

COLOURS = ["Blue", "Green <b>and</b> yellow", "No colour at all, thank you"]


def ask_in(house: House, stub: StubModelServer, name: str, title: str, options: list[str] | None) -> dict[str, Any]:
    """Let the agent ask in a conversation; give the question."""
    key = house.session(f"web:{name}", f"About {name}")
    call = {"title": title} | ({"options": options} if options else {})
    stub.when(f"paint the {name}", tool_call("ask_question", call), "I asked you.")
    house.post(f"/sessions/{key}/messages?wait=60", text=f"Please paint the {name}.")
    [question] = house.get(f"/questions?session_key={key}")["items"]
    return question


def card(page: Page, title: str) -> Locator:
    return page.get_by_role("log").get_by_role("region", name=title)


def test_a_question_is_answered_by_button_and_every_window_shows_the_answer(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    question = ask_in(house, stub, "door", "Which colour?", COLOURS)
    stub.when(re.compile(r"\A(1|Blue)\b"), "Then it is blue.")
    mine, other = (new_window(house).open("/chat/web:door") for _ in range(2))
    for page in (mine, other):
        # What an agent wrote is text, also on a button.
        expect(card(page, "Which colour?").get_by_role("button", name=COLOURS[1])).to_be_visible()
        expect(page.get_by_role("link", name="Inbox")).to_contain_text("1 to look at")
    assert violations(mine) == []
    card(mine, "Which colour?").get_by_role("button", name="Blue").click()
    for page in (mine, other):
        expect(card(page, "Which colour?")).to_contain_text("Answered: Blue")
        expect(card(page, "Which colour?").get_by_role("button")).to_have_count(0)
        expect(page.get_by_role("log").get_by_text("Then it is blue.").first).to_be_visible()
        expect(page.get_by_role("link", name="Inbox")).not_to_contain_text("to look at")
    assert house.get(f"/questions?session_key={question['session_key']}")["items"][0]["answer"] == "Blue"
    said = mine.get_by_role("log").get_by_role("article").filter(has_text="You: ").last
    expect(said).to_contain_text("Which colour?")


def test_the_keyboard_alone_answers(house: House, stub: StubModelServer, new_window: OpenWindow) -> None:
    ask_in(house, stub, "gate", "Which colour for the gate?", COLOURS)
    page = new_window(house).open("/chat/web:gate")
    first = card(page, "Which colour for the gate?").get_by_role("button", name="Blue")
    expect(first).to_be_visible()
    page.get_by_role("log").focus()
    for _ in range(12):
        page.keyboard.press("Tab")
        if first.evaluate("button => button === document.activeElement"):
            break
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(card(page, "Which colour for the gate?")).to_contain_text(f"Answered: {COLOURS[1]}")


def test_one_answers_in_ones_own_words_also_beside_options(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    ask_in(house, stub, "roof", "Which colour for the roof?", COLOURS)
    ask_in(house, stub, "wall", "What do you want on the wall?", None)
    page = new_window(house).open("/chat/web:roof")
    card(page, "for the roof?").get_by_role("button", name="Something else").click()
    expect(card(page, "for the roof?").get_by_label("Your answer")).to_be_focused()
    page.keyboard.type("Slate, as it was")
    page.keyboard.press("Enter")
    expect(card(page, "for the roof?")).to_contain_text("Answered: Slate, as it was")

    page.goto(f"{house.url}/chat/web:wall")
    expect(card(page, "on the wall?").get_by_role("button", name="Answer")).to_be_disabled()
    card(page, "on the wall?").get_by_label("Your answer").fill("**Ivy** <i>only</i>")
    card(page, "on the wall?").get_by_role("button", name="Answer").click()
    expect(card(page, "on the wall?")).to_contain_text("Answered: **Ivy** <i>only</i>")


def test_a_question_is_answered_in_the_inbox_and_the_second_answer_is_refused(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    question = ask_in(house, stub, "boat", "Which colour for the boat?", COLOURS)
    page = new_window(house).open("/inbox")
    waiting = page.get_by_role("list", name="Waiting for you")
    expect(waiting).to_contain_text("Asked in About boat")
    assert violations(page) == []

    def answer_first(route: Route) -> None:
        # Somebody else answers while this click is on its way.
        house.post(f"/questions/{question['id']}", text="Red")
        route.continue_()

    chat = new_window(house).open("/chat/web:boat")
    chat.route(f"**/api/questions/{question['id']}", answer_first, times=1)
    card(chat, "for the boat?").get_by_role("button", name="Blue").click()
    expect(card(chat, "for the boat?").get_by_role("alert")).to_contain_text('the answer was "Red"')
    expect(card(chat, "for the boat?")).to_contain_text("Answered: Red")
    expect(page.get_by_text("Nothing needs you")).to_be_visible()
