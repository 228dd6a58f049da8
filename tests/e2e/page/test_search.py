"""Ctrl-K: places, commands and names at once, and every word that was ever said; by keyboard alone."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, expect

from benchmarks._crowd import KEY, fill
from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House, wait_until

pytestmark = pytest.mark.slow

MESSAGES = 2600
PHONE = (360, 740)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house with a long conversation, another one, an automation and a memory; all of it indexed."""
    house = House(tmp_path_factory.mktemp("search"))
    fill(house.home, messages=MESSAGES, automations=30, ran=0, deliveries=0)
    with house:
        house.session("web:garden", "Garden notes")
        house.post("/sessions/web:garden/messages?wait=60", text="The hydrangeas 🌸 need water")
        house.job("web:garden", "every day at 9", "Water the hydrangeas", name="Watering")
        house.post("/memories", text="Prefers hydrangeas to roses")
        wait_until(lambda: indexed(house), "an index of everything")
        yield house


def indexed(house: House) -> bool:
    found = house.get("/search?q=hydrangeas")
    return found["pending"] == 0 and {item["kind"] for item in found["items"]} >= {"message", "job", "memory"}


def field(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Search everything")


def option(page: Page, name: str) -> Locator:
    return page.get_by_role("option").filter(has_text=name)


def active(page: Page) -> Locator:
    """The option that the field points to, as a screen reader finds it."""
    return page.locator(f'[id="{field(page).get_attribute("aria-activedescendant")}"]')


def page_line(page: Page, seq: int) -> Locator:
    return page.locator(f'[data-seq="{seq}"]')


def marked(page: Page) -> Locator:
    return page.locator("[data-seq].bg-accent-tint")


def test_ctrl_k_goes_to_places_commands_and_names_by_keyboard_alone(home: House, new_window: OpenWindow) -> None:
    page = new_window(home).open("/chat/web:garden")
    expect(page.get_by_label("Message", exact=True)).to_be_focused()
    # Also while one types.
    page.keyboard.press("Control+k")
    expect(field(page)).to_be_focused()
    expect(page.get_by_role("group", name="Recent conversations").get_by_role("option").first).to_be_visible()
    assert violations(page) == []
    page.keyboard.type("wee")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Week", level=1)).to_be_focused()
    page.keyboard.press("Meta+k")
    expect(field(page)).to_be_focused()
    page.keyboard.type("new auto")
    expect(active(page)).to_have_text("New automation")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="New automation")).to_be_visible()
    page.get_by_role("heading", name="New automation").click()
    page.keyboard.press("Control+k")
    expect(field(page)).to_be_focused()
    # Enter before the answer is there counts once it is.
    page.keyboard.type("garden no")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Garden notes")).to_be_visible()
    page.keyboard.press("Control+k")
    expect(field(page)).to_be_focused()
    page.keyboard.type("watering")
    expect(page.get_by_role("group", name="Automations").get_by_role("option")).to_have_count(1)
    expect(active(page)).to_contain_text("Watering")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Watering", level=1)).to_be_visible()


def test_every_kind_of_hit_shows_its_words_and_leads_there(home: House, new_window: OpenWindow) -> None:
    page = new_window(home).open("/week")
    page.get_by_role("button", name="Search").click()
    expect(field(page)).to_be_focused()
    page.keyboard.type("hydrang")
    found = page.get_by_role("group", name="Found")
    expect(found.get_by_role("option").filter(has_text="Memory")).to_be_visible()
    # The marked words are counted right behind an emoji.
    message = found.get_by_role("option").filter(has_text="need water").first
    expect(message.locator("mark").first).to_have_text("hydrangeas")
    assert violations(page) == []
    found.get_by_role("option").filter(has_text="Memory").click()
    expect(page.locator("li[aria-current]")).to_contain_text("Prefers hydrangeas to roses")
    expect(page.locator("li[aria-current]")).to_be_in_viewport()
    page.keyboard.press("Control+k")
    expect(field(page)).to_be_focused()
    page.keyboard.type("hydrangeas need")
    expect(option(page, "need water").first).to_be_visible()
    for _ in range(page.get_by_role("option").count()):
        if "need water" in active(page).inner_text():
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Garden notes")).to_be_visible()
    expect(marked(page)).to_contain_text("hydrangeas")


def test_a_hit_far_above_what_is_loaded_is_scrolled_to_and_marked(home: House, new_window: OpenWindow) -> None:
    [hit] = home.get("/search?q=apples+cost+day+21+&kind=message")["items"]
    assert datetime.fromisoformat(hit["at"]) < datetime.now(UTC) - timedelta(days=30)
    line = page_line(page := new_window(home).open(f"/chat/{KEY}"), hit["seq"])
    expect(page_line(page, MESSAGES)).to_be_in_viewport()
    for _ in range(2):
        # The second time from elsewhere in the same conversation, at the same address.
        page.keyboard.press("Control+k")
        expect(field(page)).to_be_focused()
        page.keyboard.type("apples cost on day 21 ")
        expect(page.get_by_role("option")).to_have_count(1)
        page.keyboard.press("Enter")
        expect(line).to_be_in_viewport()
        expect(marked(page)).to_have_attribute("data-seq", str(hit["seq"]))
        page.get_by_role("log").evaluate("(box) => { box.scrollTop += 3000; }")
        expect(line).not_to_be_in_viewport()


@pytest.mark.parametrize(
    "words", ["a", '"AND OR NOT (*', "🌸", "no such thing anywhere", "x" * 1001, "it's -- ; %_", "苹果"]
)
def test_whatever_is_typed_gets_an_answer(home: House, new_window: OpenWindow, words: str) -> None:
    page = new_window(home).open("/week")
    expect(page.get_by_role("heading", name="Week")).to_be_visible()
    page.keyboard.press("Control+k")
    field(page).fill(words)
    status = page.locator("dialog > p[role=status]")
    # Whole sentences of the page: an error would be another one, and what is typed is never said to be wrong.
    expect(status).to_have_text(re.compile(r"^(No matches for “.*”\.|\d+ results?)( Only the first .*)?$"))
    if len(words) > 1000:
        expect(status).to_contain_text("Only the first 1,000 characters are searched.")
    # And the arrows and Enter do no harm.
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_phone_finds_things_from_its_list_of_conversations(home: House, new_window: OpenWindow) -> None:
    page = new_window(home, size=PHONE, touch=True).open("/chat/web:garden")
    page.get_by_role("button", name="Conversations").tap()
    page.get_by_role("button", name="Search").tap()
    expect(field(page)).to_be_focused()
    page.keyboard.type("hydrangeas")
    expect(option(page, "need water").first).to_be_visible()
    assert violations(page) == []
    assert page.evaluate("() => document.querySelector('dialog').scrollWidth") <= PHONE[0]
    page.get_by_role("option").filter(has_text="Watering").first.tap()
    expect(page.get_by_role("heading", name="Watering", level=1)).to_be_visible()


def test_a_dialog_gives_the_focus_back_to_what_opened_it(home: House, new_window: OpenWindow) -> None:
    page = new_window(home).open("/chat/web:garden")
    expect(page.get_by_label("Message", exact=True)).to_be_focused()
    page.keyboard.press("Control+k")
    expect(field(page)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Message", exact=True)).to_be_focused()
    page.get_by_role("button", name="Search").press("Enter")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Search")).to_be_focused()
    page.get_by_role("button", name="Conversation menu").press("Enter")
    page.get_by_role("menuitem", name="Name, time zone and model").press("Enter")
    expect(page.get_by_role("dialog").get_by_label("Name", exact=True)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Conversation menu")).to_be_focused()
