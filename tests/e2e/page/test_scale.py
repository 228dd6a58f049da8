"""Years of talk and two thousand automations: the page holds a part of them, and finds them all."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from benchmarks._crowd import KEY, fill
from e2e.page.conftest import OpenWindow
from e2e.page.house import House, wait_until

pytestmark = pytest.mark.slow

MESSAGES, AUTOMATIONS, CONVERSATIONS = 5000, 2000, 450
# What the page may hold at once, of however many there are.
MOST_MESSAGES, MOST_ROWS = 400, 300


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house with more in it than anybody reads."""
    house = House(tmp_path_factory.mktemp("crowd"))
    fill(house.home, messages=MESSAGES, automations=AUTOMATIONS, ran=60, deliveries=500, sessions=120)
    with house:
        yield house


def entry(page: Page, seq: int) -> Locator:
    return page.locator(f'[data-seq="{seq}"]')


def seqs(page: Page) -> list[int]:
    return page.evaluate("() => [...document.querySelectorAll('[data-seq]')].map((line) => Number(line.dataset.seq))")


def test_reading_back_through_a_long_conversation_keeps_the_line_one_reads_and_the_page_small(
    crowded: House, new_window: OpenWindow
) -> None:
    page = new_window(crowded).open(f"/chat/{KEY}")
    expect(entry(page, MESSAGES)).to_be_in_viewport()
    assert len(seqs(page)) <= 50
    log = page.get_by_role("log")
    held: list[int] = []
    while (first := seqs(page)[0]) > MESSAGES - 600:
        # The first line that is loaded is read, then what stands before it comes in.
        entry(page, first).scroll_into_view_if_needed()
        top = entry(page, first).evaluate("(line) => line.getBoundingClientRect().top")
        log.evaluate("(box) => { box.scrollTop -= 1; }")
        wait_until(lambda first=first: seqs(page)[0] < first, "earlier messages")
        after = entry(page, first).evaluate("(line) => line.getBoundingClientRect().top")
        assert abs(after - top) <= 2, f"Message {first} moved from {top} to {after}."
        held.append(len(seqs(page)))
    assert max(held) <= MOST_MESSAGES
    assert MESSAGES not in seqs(page)

    # And on to the end again, by reading and by the button.
    last = seqs(page)[-1]
    entry(page, last).scroll_into_view_if_needed()
    wait_until(lambda: seqs(page)[-1] > last, "later messages")
    expect(entry(page, last)).to_be_in_viewport()
    page.get_by_role("button", name="Latest").click()
    expect(entry(page, MESSAGES)).to_be_in_viewport()
    expect(page.get_by_role("button", name="Latest")).to_have_count(0)


def test_a_link_to_an_old_message_opens_there_without_reading_back(crowded: House, new_window: OpenWindow) -> None:
    page = new_window(crowded).open(f"/chat/{KEY}?at=41")
    expect(entry(page, 41)).to_be_in_viewport()
    assert len(seqs(page)) <= MOST_MESSAGES
    assert seqs(page) == sorted(set(seqs(page)))
    # Who speaks from there is at the end of the conversation again, and reads the answer.
    page.get_by_label("Message", exact=True).fill("help")
    page.keyboard.press("Enter")
    expect(entry(page, MESSAGES + 2)).to_be_in_viewport()
    assert seqs(page)[-1] == MESSAGES + 2


def test_two_thousand_automations_are_counted_paged_and_found(crowded: House, new_window: OpenWindow) -> None:
    page = new_window(crowded).open("/automations")
    rows = page.locator("main li.row")
    expect(rows).to_have_count(50)
    # A screen of 1280 x 800 shows at least sixteen whole.
    within = "(rows) => rows.filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length"
    wait_until(lambda: rows.evaluate_all(within) >= 16, "sixteen rows in sight")
    tabs = page.get_by_role("navigation", name="Filter by status")
    expect(tabs.get_by_role("button", name="All")).to_contain_text(str(AUTOMATIONS))
    counts = crowded.get("/status")["jobs"]
    assert sum(counts.values()) == AUTOMATIONS
    expect(tabs.get_by_role("button", name="Paused")).to_contain_text(str(counts["paused"]))

    seen: set[str] = set()
    main = page.get_by_role("main")
    while len(seen) < 500:
        seen |= set(rows.evaluate_all("(rows) => rows.map((row) => row.querySelector('a').textContent)"))
        assert rows.count() <= MOST_ROWS
        main.evaluate("(box) => { box.scrollTop += 2000; }")
        page.wait_for_function("() => !document.querySelector('main button[disabled]')")

    page.get_by_label("Search automations").fill(f"number {AUTOMATIONS - 1}")
    expect(rows).to_have_count(1)
    expect(page.get_by_role("link", name=f"watch number {AUTOMATIONS - 1}")).to_be_in_viewport()
    page.get_by_label("Search automations").fill("")
    tabs.get_by_role("button", name="Paused").click()
    expect(page.get_by_role("button", name="Resume watch number", exact=False).first).to_be_visible()
    expect(page.get_by_role("button", name="Pause watch number", exact=False)).to_have_count(0)
    tabs.get_by_role("button", name="Needs you").click()
    # What the server names in backticks is set as code, not with its marks.
    expect(rows.first.get_by_text("The model stub refused the key.")).to_be_visible()


def test_conversations_far_down_are_held_in_part_and_called_by_their_names(
    crowded: House, new_window: OpenWindow
) -> None:
    for number in range(CONVERSATIONS):
        crowded.session(f"web:talk{number}", f"Talk number {number}")
    crowded.job("web:talk0", "every day at 9", "Look up an old friend", name="old friend")
    page = new_window(crowded).open("/automations?q=old%20friend")
    # The first of so many is not in the list at the side; it is called by its name all the same.
    expect(page.get_by_role("link", name="Conversation Talk number 0")).to_be_visible()
    expect(page.get_by_role("complementary").get_by_text("Talk number 0", exact=True)).to_have_count(0)

    rows = page.get_by_role("complementary").locator("li")
    seen: set[str] = set()
    while len(seen) < CONVERSATIONS:
        seen |= set(rows.locator("a").evaluate_all("(links) => links.map((link) => link.getAttribute('href'))"))
        assert rows.count() <= MOST_ROWS
        page.locator("[data-scrolls]").evaluate("(box) => { box.scrollTop += 1500; }")
        page.wait_for_function("() => !document.querySelector('[data-scrolls] button[disabled]')")


@pytest.mark.parametrize("path", ["/inbox", "/deliveries", "/automations"])
def test_a_list_asks_for_no_conversation_by_itself(crowded: House, new_window: OpenWindow, path: str) -> None:
    """Names of conversations come with the list, also of those that are not at the side."""
    window = new_window(crowded)
    page = window.open("/settings")
    expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_role("navigation", name="Main").locator(f'a[href="{path}"]').click()
    rows = page.locator("main li")
    expect(rows.first).to_be_visible()
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)
    named = rows.filter(has_text="Beside ") if path != "/deliveries" else rows.filter(has_text="The long one")
    expect(named.first).to_be_visible()
    assert [url for url in asked if "/api/sessions/" in url] == []


def test_a_week_with_more_than_can_be_drawn_says_so(crowded: House, new_window: OpenWindow) -> None:
    page = new_window(crowded).open("/week")
    expect(page.get_by_text("Not all that is to come is drawn", exact=False)).to_be_visible()
    assert page.locator("main td a").count() < 1500
