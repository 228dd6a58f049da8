"""Small flaws that were found by use (PAGE.md §1 and §9), each as a promise."""

import pytest
from playwright.sync_api import expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House, wait_until
from homing.testing import Reply, StubModelServer, WebhookReceiver

pytestmark = pytest.mark.slow

PAGES = (
    "/automations", "/week", "/agents", "/inbox", "/deliveries", "/settings", "/usage", "/approvals", "/agents/main",
    "/automations/new",
)  # fmt: skip


@pytest.mark.parametrize("width", [1280, 1920])
def test_the_heading_stands_at_the_same_place_on_every_page(house: House, new_window: OpenWindow, width: int) -> None:
    window = new_window(house, size=(width, 900))
    places: dict[str, float] = {}
    for path in PAGES:
        page = window.open(path)
        heading = page.get_by_role("heading", level=1)
        expect(heading).to_be_visible()
        places[path] = heading.evaluate("(one) => one.getBoundingClientRect().left")
        page.close()
    assert len(set(places.values())) == 1, places


def test_the_composer_stays_where_it_is_while_an_answer_runs(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:still", "Still")
    stub.when("count slowly", Reply(chunks=["One, ", "two."], hold=True, hold_after_chunks=1))
    page = new_window(house).open(f"/chat/{key}")
    box = page.get_by_label("Message", exact=True)
    expect(box).to_be_focused()
    before = box.bounding_box()
    box.fill("count slowly")
    box.press("Enter")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    assert box.bounding_box() == before
    # What becomes of a message is said once there is one.
    expect(page.get_by_text("Your message will be seen")).to_have_count(0)
    page.keyboard.type("and")
    expect(page.get_by_text("Your message will be seen")).to_be_visible()
    box.fill("")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    assert box.bounding_box() == before


def test_a_card_deletes_its_automation_and_gives_it_back(house: House, new_window: OpenWindow) -> None:
    key = house.session("web:card", "Card")
    house.job(key, "every day at 9", "Water the plants", name="watering")
    page = new_window(house).open(f"/chat/{key}")
    card = page.locator("[data-card]")
    card.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Undo").first.click()
    expect(card.get_by_role("button", name="Pause")).to_be_visible()
    card.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Deleted: watering")).to_be_visible()
    expect(card).to_have_count(0)
    page.get_by_role("status", name="News").get_by_role("button", name="Undo").last.click()
    expect(card).to_have_count(1)


def test_the_form_finds_every_conversation_by_its_name(house: House, new_window: OpenWindow) -> None:
    for number in range(60):
        house.session(f"web:many{number}", f"Plan number {number}")
    page = new_window(house).open("/automations/new?session=web:many59")
    field = page.get_by_role("combobox", name="Conversation")
    expect(field).to_have_value("Plan number 59")
    field.click()
    page.keyboard.type("number 3")
    expect(page.get_by_role("option", name="Plan number 3", exact=True)).to_be_visible()
    assert violations(page) == []
    field.fill("plan number 3")
    page.get_by_role("option", name="Plan number 3", exact=True).click()
    expect(field).to_have_value("Plan number 3")
    # By keyboard alone, and Escape changes nothing.
    field.press("ArrowDown")
    page.keyboard.type("number 0")
    expect(page.get_by_role("option", name="Plan number 0", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(field).to_have_value("Plan number 3")
    page.get_by_label("When", exact=True).fill("every day at 9")
    page.get_by_label("What should happen?").fill("Look at the plan")
    page.get_by_role("button", name="Schedule", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Look at the plan")
    [job] = house.get("/jobs?session_key=web:many3")["items"]
    assert job["session_title"] == "Plan number 3"


def test_the_panel_opens_by_itself_where_there_is_room_and_stays_closed(house: House, new_window: OpenWindow) -> None:
    key = house.session("web:panel", "Panel")
    house.job(key, "every day at 9", "Water the plants", name="watering")
    window = new_window(house, size=(1920, 1000))
    page = window.open(f"/chat/{key}")
    panel = page.get_by_role("complementary", name="Automations of this conversation")
    expect(panel.get_by_role("link", name="watering")).to_be_visible()
    panel.get_by_role("button", name="Close automations").click()
    expect(panel).to_have_count(0)
    page.reload()
    opener = page.get_by_role("banner").or_(page.locator("header")).get_by_role("button", name="Automations of")
    expect(opener).to_have_attribute("aria-pressed", "false")
    opener.click()
    expect(panel).to_be_visible()


def test_on_a_phone_the_name_of_an_automation_is_read_whole(house: House, new_window: OpenWindow) -> None:
    key = house.session("web:phone", "A conversation with a long name of its own")
    name = "Look at the fruit prices and tell me"
    house.job(key, "every day at 9", "Look", name=name)
    page = new_window(house, size=(360, 740), touch=True).open("/automations?q=fruit")
    link = page.get_by_role("link", name=name)
    expect(link).to_be_visible()
    assert link.evaluate("(one) => one.scrollWidth <= one.clientWidth + 1")


def test_deliveries_are_those_to_outside_with_their_words(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    stub.when("news for the hook", "Plums are **cheap**.")
    with WebhookReceiver() as receiver:
        address = house.post("/webhooks", url=receiver.url)["address"]
        key = house.session("web:carried", "Carried")
        house.ask("PATCH", f"/sessions/{key}", {"addresses": [key, address]})
        page = new_window(house).open("/deliveries")
        expect(page.get_by_text("Each message sent to an address outside Homing")).to_be_visible()
        # It comes by itself.
        house.post(f"/sessions/{key}/messages?wait=60", text="news for the hook")
        row = page.locator("main li")
        expect(row).to_have_count(1)
        expect(row).to_contain_text("Plums are cheap.")
        expect(row).to_contain_text(address)
        receiver.wait_for_requests(1, timeout=60)
        house.post(f"/sessions/{key}/messages?wait=60", text="again")
        expect(row).to_have_count(2)
        addresses = page.locator("main li").all_text_contents()
        assert all(address in text for text in addresses), addresses


def test_a_reminder_that_is_done_has_no_more_runs(house: House, new_window: OpenWindow) -> None:
    key = house.session("web:done", "Done")
    job = house.job(key, "in 1 second", "tea", name="tea is ready", payload={"kind": "reminder"})
    wait_until(lambda: house.get(f"/jobs/{job['id']}")["status"] == "done", "the end of a reminder")
    page = new_window(house).open("/automations?q=tea")
    row = page.locator("main li").filter(has_text="tea is ready")
    expect(row).to_contain_text("No more runs")
    expect(row).not_to_contain_text("Paused")


def test_a_missing_page_has_a_heading_and_paper_has_the_page_alone(house: House, new_window: OpenWindow) -> None:
    window = new_window(house)
    page = window.open("/no/such/page")
    expect(page.get_by_role("heading", name="There is no such page", level=1)).to_be_visible()
    page = window.open("/automations")
    expect(page.get_by_role("heading", name="Automations", level=1)).to_be_visible()
    expect(page.get_by_role("complementary")).to_be_visible()
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", name="Automations", level=1)).to_be_visible()
    expect(page.get_by_role("complementary")).to_be_hidden()
    expect(page.get_by_role("link", name="New automation")).to_be_hidden()


def test_a_page_that_is_loaded_already_is_shown_at_once(house: House, new_window: OpenWindow) -> None:
    page = new_window(house).open("/chat")
    expect(page.get_by_label("Message", exact=True)).to_be_focused()
    # The others are loaded while nobody clicks.
    file = page.wait_for_function(
        """() => performance.getEntriesByType("resource").map((one) => one.name)
          .find((url) => url.includes("/DeliveriesPage-"))"""
    ).json_value()
    heading = page.evaluate(
        """async (file) => {
          await import(file);
          document.querySelector('nav a[href="/deliveries"]').click();
          await new Promise(requestAnimationFrame);
          return document.querySelector("main h1")?.textContent;
        }""",
        file,
    )
    assert heading == "Deliveries"
