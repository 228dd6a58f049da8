"""Files from the page: chosen, pasted or dropped; each can be removed, and what is wrong is a sentence beside it."""

import base64
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House
from homing.testing import StubModelServer

pytestmark = pytest.mark.slow

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

POLICY = "default-src 'self'"

# What a browser hands over when files are pasted or dropped.
_HAND_OVER = """(element, [kind, files, texts]) => {
  const data = new DataTransfer();
  for (const [name, content] of files) data.items.add(new File([content], name));
  for (const [type, text] of texts) data.items.add(text, type);
  const event = kind === "paste"
    ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })
    : new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true });
  element.dispatchEvent(event);
  return event.defaultPrevented;
}"""


def chips(page: Page) -> Locator:
    return page.get_by_role("list", name="Files to send")


def choose(page: Page, *files: Any) -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add files").click()
    chooser.value.set_files(list(files))


def a_file(name: str, content: bytes) -> Any:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


def hand_over(page: Page, kind: str, *names: str, texts: tuple[tuple[str, str], ...] = ()) -> bool:
    given = [kind, [[name, f"content of {name}"] for name in names], [list(text) for text in texts]]
    return page.get_by_role("textbox", name="Message").evaluate(_HAND_OVER, given)


def test_files_are_chosen_removed_and_sent_with_the_words(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:attach", "Attach")
    stub.when("what is this", "A dot.")
    page = new_window(house).open(f"/chat/{key}")
    choose(page, a_file("dot.png", PNG), a_file("notes.txt", b"apple"))
    expect(chips(page).get_by_text("70 B")).to_be_visible()
    expect(chips(page).get_by_role("listitem")).to_have_count(2)
    assert violations(page) == []
    chips(page).get_by_role("button", name="Remove notes.txt").click()
    expect(chips(page).get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    page.keyboard.type("what is this")
    page.keyboard.press("Enter")
    expect(page.get_by_role("log").get_by_text("A dot.")).to_be_visible()
    expect(chips(page)).to_have_count(0)
    said, *_ = house.get(f"/sessions/{key}/messages")["items"]
    assert [(file["name"], file["media_type"]) for file in said["files"]] == [("dot.png", "image/png")]
    # The picture itself reached the model.
    assert "iVBORw0KGgo" in stub.requests[-1].text


def test_a_file_needs_no_words_and_begins_a_conversation(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    stub.otherwise("I see.")
    page = new_window(house).open("/chat")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    choose(page, a_file("prices.csv", b"a,b\n"))
    page.get_by_role("button", name="Send", exact=True).click()
    log = page.get_by_role("log")
    expect(log.get_by_role("list", name="Files")).to_contain_text("prices.csv")
    expect(log.get_by_text("I see.")).to_be_visible()


def test_files_added_while_the_first_message_is_under_way_go_along_into_its_conversation(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    stub.otherwise("Hello.")
    page = new_window(house).open("/chat")
    held: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == "POST" and not held:
            held.append(route)
        else:
            route.fallback()

    page.route("**/api/sessions/*/messages*", hold)
    page.get_by_role("textbox", name="Message").fill("the first one")
    page.keyboard.press("Enter")
    choose(page, a_file("later.txt", b"apple"))
    expect(chips(page)).to_contain_text("later.txt")
    held[0].continue_()
    expect(page).to_have_url(re.compile("/chat/web:"))
    expect(chips(page)).to_contain_text("later.txt")
    page.get_by_role("link", name="New conversation").first.click()
    expect(page).to_have_url(re.compile("/chat$"))
    expect(chips(page)).to_have_count(0)


def test_what_cannot_be_sent_says_why_and_the_words_stay(house: House, new_window: OpenWindow, tmp_path: Path) -> None:
    key = house.session("web:wrong", "Wrong")
    large = tmp_path / "large.bin"
    with large.open("wb") as file:
        file.truncate(26 << 20)
    page = new_window(house).open(f"/chat/{key}")
    field, send = page.get_by_role("textbox", name="Message"), page.get_by_role("button", name="Send", exact=True)
    field.fill("Look at these.")
    choose(page, a_file("nothing.txt", b""))
    choose(page, large)
    expect(chips(page)).to_contain_text("This file is empty.")
    expect(chips(page)).to_contain_text("This file has 27.3 MB; the most is 25 MB")
    expect(send).to_be_disabled()
    expect(page.get_by_role("status").filter(has_text="Remove the files that cannot be sent")).to_be_visible()
    field.press("Enter")
    expect(field).to_have_value("Look at these.")
    assert violations(page) == []
    for name in ("nothing.txt", "large.bin"):
        page.get_by_role("button", name=f"Remove {name}").click()
    expect(send).to_be_enabled()


def test_a_refusal_of_the_server_is_shown_and_can_be_tried_again(house: House, new_window: OpenWindow) -> None:
    key = house.session("web:full", "Full")
    page = new_window(house).open(f"/chat/{key}")
    problem = {"type": "about:blank", "code": "not_ready", "title": "Not ready", "status": 503, "errors": []}
    said = "The disk that keeps files is full. Free some space there, then try again."
    answer = {"status": 503, "json": {**problem, "detail": said}, "headers": {"content-security-policy": POLICY}}
    page.route("**/api/files", lambda route: route.fulfill(**answer))
    choose(page, a_file("notes.txt", b"apple"))
    expect(chips(page)).to_contain_text(said)
    page.unroute("**/api/files")
    page.get_by_role("button", name="Try notes.txt again").click()
    expect(chips(page).get_by_text("5 B")).to_be_visible()


def test_files_are_pasted_and_dropped_and_copied_text_stays_text(house: House, new_window: OpenWindow) -> None:
    key = house.session("web:drop", "Drop")
    page = new_window(house).open(f"/chat/{key}")
    assert hand_over(page, "paste", "image.png")
    expect(chips(page)).to_contain_text("image.png")
    assert not hand_over(page, "paste", "table.png", texts=(("text/plain", "1"), ("text/html", "<b>1</b>")))
    hand_over(page, "dragenter", "a.txt")
    expect(page.get_by_role("status").filter(has_text="Drop the files")).to_be_visible()
    assert hand_over(page, "drop", "a.txt", "b.txt")
    expect(chips(page).get_by_role("listitem")).to_have_count(3)
    expect(page.get_by_role("status").filter(has_text="Drop the files")).to_have_count(0)
    hand_over(page, "drop", *(f"{n}.txt" for n in range(9)))
    expect(chips(page).get_by_role("listitem")).to_have_count(10)
    expect(page.get_by_role("status").filter(has_text="2 files left out: a message has at most 10.")).to_be_visible()


def test_while_homing_is_away_nothing_is_lost_and_the_file_goes_on_by_itself(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:off", "Off")
    stub.when("here it is", "Got it.")
    page = new_window(house).open(f"/chat/{key}")
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    house.stop(signal.SIGKILL)
    page.get_by_role("textbox", name="Message").fill("here it is")
    choose(page, a_file("notes.txt", b"apple"))
    expect(chips(page)).to_contain_text("Homing is not responding. The upload continues when it is back.")
    house.start()
    expect(chips(page).get_by_text("5 B")).to_be_visible()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("here it is")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("log").get_by_text("Got it.")).to_be_visible()
    expect(page.get_by_role("log").get_by_role("list", name="Files")).to_contain_text("notes.txt")


def test_it_works_by_keyboard_on_a_phone(house: House, new_window: OpenWindow) -> None:
    key = house.session("web:phone", "Phone")
    page = new_window(house, size=(360, 700)).open(f"/chat/{key}")
    # From now on, since a key pressed right after it began to be watched may open it unseen.
    page.on("filechooser", lambda _: None)
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("button", name="Add files")).to_be_focused()
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    long = "a very long name of a file that somebody once gave to a picture from their holidays.png"
    chooser.value.set_files([a_file(long, PNG), a_file("empty.txt", b"")])
    expect(chips(page).get_by_text("70 B")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []
    page.get_by_role("button", name="Remove empty.txt").focus()
    page.keyboard.press("Enter")
    expect(chips(page).get_by_role("listitem")).to_have_count(1)
