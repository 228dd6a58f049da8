"""What comes from outside, too long or too late: the page stays usable and says what is the matter."""

import re
import signal
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import expect

from e2e.page.conftest import OpenWindow
from e2e.page.house import PATIENCE, House, wait_until

pytestmark = pytest.mark.slow

DEEP = [
    pytest.param(">" * 2000, id="quotes"),
    pytest.param("1. " * 2000, id="numbers"),
    pytest.param("> - " * 500, id="quotes and lists"),
    pytest.param("*a **b " * 1500, id="emphasis"),
    pytest.param("[" * 5000, id="brackets"),
    pytest.param("\n".join("  " * n + "- x" for n in range(120)), id="indented lists"),
]


@pytest.mark.parametrize("text", DEEP)
def test_deeply_nested_markdown_is_shown_as_text_and_the_conversation_opens(
    house: House, new_window: OpenWindow, text: str
) -> None:
    key = house.session(f"web:deep{abs(hash(text))}", "Deep")
    # A reminder carries the text into an agent's message, which is drawn as Markdown.
    job = house.post(
        "/jobs", session_key=key, when="every day at 4", payload={"kind": "reminder", "message": text}, name="deep"
    )
    house.post(f"/jobs/{job['id']}/run")
    wait_until(lambda: house.get(f"/sessions/{key}/messages")["items"], "the reminder's message")
    page = new_window(house).open(f"/chat/{key}")
    expect(page.get_by_role("log").locator("[data-seq]").first).to_be_visible()
    expect(page.get_by_label("Message", exact=True)).to_be_editable()
    expect(page.get_by_text("This page broke")).to_have_count(0)


def test_a_hooks_words_are_plain_text_under_the_hooks_name(house: House, new_window: OpenWindow) -> None:
    key = house.session("web:hooked", "Hooked")
    url = house.post(f"/sessions/{key}/hooks", name="deploy")["url"]
    request = Request(url.replace(":4664", f":{house.port}"), data=b"**Build 42** is > green", method="POST")
    with urlopen(request, timeout=PATIENCE) as response:
        assert response.status == 202
    page = new_window(house).open(f"/chat/{key}")
    entry = page.get_by_role("log").locator("[data-seq]").first
    expect(entry).to_contain_text("From the hook “deploy”")
    expect(entry).to_contain_text("**Build 42** is > green")


def test_a_sign_in_link_pasted_into_the_sign_in_page_signs_in(house: House, new_window: OpenWindow) -> None:
    page = new_window(house, signed_in=False).open("/")
    expect(page.get_by_label("Token")).to_be_visible()
    # Only the fragment differs from the address that is open: the browser does not load the page again.
    fragment = house.sign_in_link().split("#")[1]
    page.evaluate("(fragment) => { location.hash = fragment; }", fragment)
    expect(page.get_by_label("Message", exact=True)).to_be_visible()
    assert "code=" not in page.url


def test_why_follows_when_an_automation_is_paused_and_resumed(house: House, new_window: OpenWindow) -> None:
    key = house.session("web:why", "Why")
    job = house.job(key, "every day at 9", "Look", name="why job")
    page = new_window(house).open(f"/automations/{job['id']}")
    expect(page.get_by_text(re.compile("It is enabled"))).to_be_visible()
    house.post(f"/jobs/{job['id']}/disable")
    expect(page.get_by_text(re.compile("It is enabled"))).to_have_count(0)
    house.post(f"/jobs/{job['id']}/enable")
    expect(page.get_by_text(re.compile("It is enabled"))).to_be_visible()


def test_a_text_that_is_too_long_is_kept_whole_and_says_by_how_much(house: House, new_window: OpenWindow) -> None:
    key = house.session("web:long", "Long")
    page = new_window(house).open(f"/chat/{key}")
    box = page.get_by_label("Message", exact=True)
    box.fill("x" * 20_000)
    expect(page.get_by_text("3,616 characters too long")).to_be_visible()
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    assert len(box.input_value()) == 20_000
    box.fill("x" * 16_384)
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()


def test_a_message_written_while_the_server_is_away_is_sent_once_it_is_back(
    house: House, new_window: OpenWindow
) -> None:
    key = house.session("web:back", "Back")
    house.post(f"/sessions/{key}/messages?wait=60", text="hello")
    page = new_window(house).open(f"/chat/{key}")
    box = page.get_by_label("Message", exact=True)
    expect(page.get_by_role("log").get_by_text("You said: hello")).to_be_visible()
    house.stop(signal.SIGKILL)
    box.fill("are you there?")
    box.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Not sent yet: Homing does not answer.")
    house.start()
    expect(page.get_by_role("log").get_by_text("You said: are you there?")).to_be_visible()
    # What is streamed is seen before it is in the record.
    expect(page.locator("[data-seq]")).to_have_count(4)
    said = [message["text"] for message in house.get(f"/sessions/{key}/messages")["items"]]
    assert said[2:] == ["are you there?", "You said: are you there?"]
    expect(page.get_by_text("Not sent yet")).to_have_count(0)
