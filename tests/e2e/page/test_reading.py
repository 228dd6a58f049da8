"""Reading along: the end is followed, a place is kept, a link leads there, and the clock's odd days are marked."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from e2e.page.conftest import OpenWindow
from e2e.page.house import House, wait_until
from homing.testing import Reply, StubModelServer

pytestmark = pytest.mark.slow

# Each chunk makes the answer taller by more than half a window.
STORY = ["".join(f"Line {n} of a story.\n\n" for n in range(ten, ten + 10)) for ten in range(0, 400, 10)]

NOTES = """
window.notes = [];
window.Notification = class {
  static permission = "default";
  static async requestPermission() { return (window.Notification.permission = "granted"); }
  constructor(title, options) { window.notes.push({ title, body: options.body }); }
};
"""
HIDE = """() => {
  Object.defineProperty(document, "hidden", { value: true, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def say(page: Page, text: str) -> None:
    page.get_by_label("Message", exact=True).fill(text)
    page.keyboard.press("Enter")


def below(page: Page) -> float:
    """How much of the conversation lies below what one sees."""
    return page.get_by_role("log").evaluate("(box) => box.scrollHeight - box.scrollTop - box.clientHeight")


def test_a_fast_growing_answer_is_followed_until_one_scrolls_up_and_again_after_latest(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:follow", "Follow")
    stub.when("tell a story", Reply(chunks=STORY[:20], delay_seconds=0.06, hold="middle", hold_after_chunks=12))
    stub.when("another story", Reply(chunks=STORY[20:], delay_seconds=0.06, hold="end", hold_after_chunks=12))
    page = new_window(house).open(f"/chat/{key}")
    log, latest = page.get_by_role("log"), page.get_by_role("button", name="Latest")

    say(page, "tell a story")
    # The newest words may be held back for a moment; what is shown is followed.
    wait_until(lambda: log.get_by_text("of a story.").count() >= 80 and below(page) < 2, "the end of what was told")
    expect(latest).to_have_count(0)
    shown = log.get_by_text("of a story.").count()
    log.hover()
    page.mouse.wheel(0, -900)
    expect(latest).to_be_visible()
    places: list[float] = []

    def at_rest() -> bool:
        places.append(log.evaluate("(box) => box.scrollTop"))
        return below(page) >= 800 and places[-2:-1] == places[-1:]

    wait_until(at_rest, "the place one scrolled to")
    place = places[-1]

    stub.release("middle")
    expect(log.get_by_text("Line 199 of a story")).to_have_count(1)
    assert log.get_by_text("of a story.").count() > shown
    assert log.evaluate("(box) => box.scrollTop") == place
    latest.click()
    expect(log.get_by_text("Line 199 of a story")).to_be_in_viewport()
    expect(latest).to_have_count(0)

    # From here on it is followed again, and so is what one says from far above.
    log.evaluate("(box) => { box.scrollTop = 0; }")
    expect(latest).to_be_visible()
    say(page, "another story")
    wait_until(lambda: log.get_by_text("of a story.").count() >= 280 and below(page) < 2, "the end of the next story")
    stub.release("end")
    expect(log.get_by_text("Line 399 of a story")).to_be_in_viewport()
    assert below(page) < 2


def test_a_link_to_a_message_leads_to_it_and_marks_it(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:linked", "Linked")
    stub.when("in many words", "".join(STORY[:3]))
    for _ in range(4):
        house.post(f"/sessions/{key}/messages?wait=60", text="in many words")
    page = new_window(house).open(f"/chat/{key}?at=3")
    third = page.locator('[data-seq="3"]')
    expect(third).to_be_in_viewport()
    expect(page.get_by_role("button", name="Latest")).to_be_visible()
    expect(page.locator('[data-seq="8"]')).not_to_be_in_viewport()
    marks = page.locator("[data-seq]").evaluate_all(
        "(lines) => lines.map((line) => getComputedStyle(line).backgroundColor)"
    )
    assert [n for n, mark in enumerate(marks, 1) if mark != marks[0]] == [3]


def test_a_reminder_notifies_once_allowed_and_only_while_nobody_looks(
    fresh_house: House, new_window: OpenWindow
) -> None:
    window = new_window(fresh_house)
    page = window.open("/chat")
    page.add_init_script(NOTES)
    page.reload()

    say(page, "remind me in 30 minutes to stretch")
    page.get_by_role("button", name="Notify me").click()
    expect(page.get_by_role("status", name="News")).to_contain_text("You will be told")
    # Its time comes when the page is ready for it, however slow the machine is.
    [job] = fresh_house.get("/jobs")["items"]
    fresh_house.post(f"/jobs/{job['id']}/run")
    log = page.get_by_role("log")
    expect(log.locator("[data-seq]").filter(has_text="Reminder").last).to_contain_text("stretch")
    assert notes(page) == [], "It was seen: nobody need be told."

    page.evaluate(HIDE)
    say(page, "remind me in 2 seconds to drink")
    wait_until(lambda: notes(page), "the notification")
    [note] = notes(page)
    assert "drink" in note["body"]


def notes(page: Page) -> list[dict[str, Any]]:
    return page.evaluate("() => window.notes")


@pytest.mark.parametrize(
    ("zone", "monday", "words"),
    [
        ("Europe/Berlin", "2027-03-22", "23 h long: clocks go forward 1 h to 03:00"),
        ("Europe/Berlin", "2026-10-19", "25 h long: clocks go back 1 h to 02:00"),
        ("Australia/Lord_Howe", "2027-03-29", "24 h 30 min long: clocks go back 30 min to 01:30"),
    ],
)
def test_the_week_marks_the_day_on_which_the_clocks_change(
    house: House, new_window: OpenWindow, zone: str, monday: str, words: str
) -> None:
    if house.get("/jobs?q=dawn")["items"] == []:
        house.session("web:dawn", "Dawn")
        house.job("web:dawn", "every day at 6", "Open the shutters", name="open the shutters at dawn")
    page = new_window(house, size=(1440, 900)).open(f"/week?week={monday}&tz={zone}")
    expect(page.get_by_text(words)).to_have_count(1)
    page = new_window(house, size=(1440, 900)).open(f"/week?week={monday}&tz=UTC")
    expect(page.get_by_role("heading", name="Week")).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)
    expect(page.get_by_text("clocks go")).to_have_count(0)
