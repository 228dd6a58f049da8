"""A chat to live in: copy, colours, branches, pins, the archive, export, commands, print; and people for admins."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House, wait_until
from homing.testing import StubModelServer

pytestmark = pytest.mark.slow

PHONE = (360, 740)
RICH = """\
# Large heading

## Smaller heading

```python
def greet(name):
    return "<b>" + name  # a comment
```

```nolanguage
<script>alert(1)</script>
```

| a very long heading | another very long heading | a third very long heading | a fourth very long heading |
| --- | --- | --- | --- |
| unbreakableunbreakable | unbreakableunbreakable | unbreakableunbreakable | unbreakableunbreakable |
"""
TAKE_CLIPBOARD = "navigator.clipboard.writeText = async (text) => { window.copied = text; };"


@pytest.fixture(scope="module")
def rich(house: House, stub: StubModelServer) -> str:
    stub.when("something rich", RICH)
    key = house.session("web:rich", "Rich")
    house.post(f"/sessions/{key}/messages?wait=60", text="something rich")
    return key


def at_rest(page: Page, key: str) -> Page:
    expect(page.locator('[data-seq="2"]')).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)
    return page


def actions(page: Page, seq: int, item: str) -> None:
    line = page.locator(f'[data-seq="{seq}"]')
    line.hover()
    line.get_by_role("button", name="Message actions").click()
    page.get_by_role("menuitem", name=item).click()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_code_has_its_language_colours_and_copy_and_headings_their_sizes(
    house: House, rich: str, new_window: OpenWindow, theme: str
) -> None:
    page = at_rest(new_window(house, theme=theme).open(f"/chat/{rich}"), rich)
    page.evaluate(TAKE_CLIPBOARD)
    code = page.get_by_label("Code in python")
    expect(code.locator(".code-keyword").first).to_have_text("def")
    colours = [code.locator(f".code-{kind}").first.evaluate("(one) => getComputedStyle(one).color") for kind in
               ("keyword", "string", "comment")]  # fmt: skip
    assert len(set(colours)) == 3
    expect(code).to_contain_text('return "<b>" + name')
    expect(page.get_by_label("Code in nolanguage")).to_have_text("<script>alert(1)</script>")
    page.get_by_role("button", name="Copy code").first.click()
    expect(page.get_by_role("button", name="Copied")).to_have_text("Copied")
    assert page.evaluate("window.copied") == 'def greet(name):\n    return "<b>" + name  # a comment'
    sizes = page.locator(".prose h3, .prose h4, .prose p, .prose").evaluate_all(
        "(all) => Object.fromEntries(all.map((one) => [one.tagName, parseFloat(getComputedStyle(one).fontSize)]))"
    )
    assert sizes["H3"] > sizes["H4"] > sizes["DIV"]
    assert violations(page) == []


def test_on_a_phone_tables_and_code_scroll_by_themselves_and_actions_are_there_without_a_mouse(
    house: House, rich: str, new_window: OpenWindow
) -> None:
    page = at_rest(new_window(house, size=PHONE, touch=True).open(f"/chat/{rich}"), rich)
    table = page.get_by_role("region", name="Table")
    assert table.evaluate("(box) => box.scrollWidth > box.clientWidth")
    table.focus()
    page.keyboard.press("ArrowRight")
    wait_until(lambda: table.evaluate("(box) => box.scrollLeft > 0"), "a table that scrolls by keyboard")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    page.evaluate(TAKE_CLIPBOARD)
    button = page.locator('[data-seq="1"]').get_by_role("button", name="Message actions")
    assert button.evaluate("(one) => getComputedStyle(one.closest('.message-actions')).opacity") == "1"
    button.press("Enter")
    page.get_by_role("menuitem", name="Copy text").press("Enter")
    wait_until(lambda: page.evaluate("window.copied") == "something rich", "the copied message")
    assert violations(page) == []


def test_a_message_is_said_in_other_words_in_a_branch_and_the_old_conversation_stays(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:origin", "Origin")
    stub.when("apples", "Apples it is.")
    stub.when("pears", "Pears it is.")
    house.post(f"/sessions/{key}/messages?wait=60", text="apples")
    page = at_rest(new_window(house).open(f"/chat/{key}"), key)
    actions(page, 1, "Edit and send again")
    box = page.get_by_label("Edit your message")
    expect(box).to_be_focused()
    page.keyboard.press("Escape")
    expect(box).to_have_count(0)
    actions(page, 1, "Edit and send again")
    assert violations(page) == []
    box.fill("pears")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Branched from")).to_be_visible()
    log = page.get_by_role("log")
    expect(log.get_by_text("Pears it is.")).to_be_visible()
    expect(log.get_by_text("apples")).to_have_count(0)
    assert violations(page) == []

    actions(page, 2, "Branch from here")
    expect(page.get_by_text("This new conversation continues from there.")).to_be_visible()
    expect(log.get_by_text("Pears it is.")).to_be_visible()
    assert len(house.get("/sessions?q=Origin")["items"]) == 3
    assert [one["text"] for one in house.get(f"/sessions/{key}/messages")["items"]] == ["apples", "Apples it is."]
    page.get_by_text("Branched from").get_by_role("link").click()
    expect(page).not_to_have_url(f"{house.url}/chat/{key}")


def test_conversations_are_pinned_archived_and_found_again(house: House, new_window: OpenWindow) -> None:
    first, second = house.session("web:tulips", "Tulips"), house.session("web:roses", "Roses")
    page = new_window(house).open(f"/chat/{first}")
    side = page.get_by_label("Places and conversations")
    menu = page.get_by_role("button", name="Conversation menu")
    expect(side.get_by_role("heading", name="Today")).to_be_visible()
    expect(side.locator("time").first).to_be_visible()
    menu.click()
    page.get_by_role("menuitem", name="Pin to the top").click()
    pinned = side.get_by_role("list", name="Pinned conversations")
    expect(pinned.get_by_role("link", name="Tulips")).to_be_visible()
    expect(side.get_by_role("link", name="Tulips")).to_have_count(1)
    page.reload()
    expect(pinned.get_by_role("link", name="Tulips")).to_be_visible()
    assert violations(page) == []
    menu.click()
    page.get_by_role("menuitem", name="Archive", exact=True).click()
    expect(side.get_by_role("link", name="Tulips")).to_have_count(0)
    side.get_by_role("button", name="Archived").click()
    archived = side.get_by_role("list", name="Archived conversations")
    expect(archived.get_by_role("link", name="Tulips")).to_be_visible()
    # Something arrives: it is back, in this tab as well, and still pinned.
    house.post(f"/sessions/{first}/test", address=first)
    expect(pinned.get_by_role("link", name="Tulips")).to_be_visible()
    expect(archived).to_have_count(0)
    assert house.get(f"/sessions/{second}")["pinned"] is False


def test_a_conversation_is_saved_as_markdown_and_json(
    house: House, rich: str, new_window: OpenWindow, tmp_path: Path
) -> None:
    page = at_rest(new_window(house).open(f"/chat/{rich}"), rich)
    for item, name in (("Export as Markdown", "Rich.md"), ("Export as JSON", "Rich.json")):
        page.get_by_role("button", name="Conversation menu").click()
        with page.expect_download() as waiting:
            page.get_by_role("menuitem", name=item).click()
        assert waiting.value.suggested_filename == name
        waiting.value.save_as(tmp_path / name)
    markdown = (tmp_path / "Rich.md").read_text()
    assert markdown.startswith("# Rich\n")
    assert "Europe/Berlin" in markdown
    assert len(json.loads((tmp_path / "Rich.json").read_text())["messages"]) == 2


@pytest.mark.parametrize("size", [(1280, 800), PHONE])
def test_a_slash_offers_commands_that_the_keyboard_chooses(
    house: House, new_window: OpenWindow, size: tuple[int, int]
) -> None:
    key = house.session(f"web:slash{size[0]}", "Slash")
    page = new_window(house, size=size).open(f"/chat/{key}")
    box = page.get_by_label("Message", exact=True)
    box.fill("/")
    options = page.get_by_role("listbox", name="Commands").get_by_role("option")
    expect(options.first).to_have_attribute("aria-selected", "true")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    page.keyboard.press("Escape")
    expect(options).to_have_count(0)
    expect(box).to_have_value("/")
    box.fill("/p")
    expect(options).to_have_count(2)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    wait_until(lambda: house.get(f"/sessions/{key}")["pinned"], "a pinned conversation")
    expect(box).to_have_value("")
    box.fill("/rem")
    page.keyboard.press("Tab")
    expect(box).to_have_value("remind me ")
    box.fill("/model")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_label("Model")).to_be_visible()
    page.keyboard.press("Escape")
    # Anything else with a slash is a message.
    box.fill("/usr/bin")
    expect(options).to_have_count(0)
    box.fill("/new")
    options.first.click()
    expect(page).to_have_url(f"{house.url}/chat")
    assert house.get(f"/sessions/{key}/messages")["items"] == []


def test_on_paper_there_is_the_conversation_alone(house: House, rich: str, new_window: OpenWindow) -> None:
    page = at_rest(new_window(house, theme="dark").open(f"/chat/{rich}"), rich)
    page.emulate_media(media="print")
    for hidden in ("Conversation menu", "Copy code", "Message actions", "Send"):
        expect(page.get_by_role("button", name=hidden).first).to_be_hidden()
    expect(page.get_by_label("Places and conversations")).to_be_hidden()
    expect(page.get_by_label("Code in python")).to_be_visible()
    shown = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert shown == "rgb(251, 250, 247)"


def test_an_admin_sees_people_and_their_tokens_and_others_see_only_their_own(
    house: House, new_window: OpenWindow
) -> None:
    page = new_window(house, size=PHONE).open("/settings")
    people = page.get_by_role("region", name="People")
    people.get_by_label("Person").fill("anna")
    people.get_by_label("Token name").fill("laptop of Anna")
    people.get_by_role("button", name="Make a token for them").click()
    row = people.get_by_role("list", name="People").get_by_role("listitem").filter(has_text="anna")
    expect(row).to_contain_text("not active yet")
    [made] = house.get("/tokens?user=anna")["items"]
    assert (made["role"], made["name"]) == ("user", "laptop of Anna")
    secret = people.get_by_role("status").locator("code").inner_text()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]

    window = new_window(house, signed_in=False)
    window.sign_in(secret)
    theirs = window.open("/settings")
    tokens = theirs.get_by_role("region", name="Tokens")
    expect(tokens.get_by_text("laptop of Anna")).to_be_visible()
    expect(theirs.get_by_role("region", name="Server")).to_be_visible()
    expect(theirs.get_by_role("region", name="People")).to_have_count(0)

    page.reload()
    expect(row.first).to_contain_text("last active")
    expect(row.first).to_contain_text("Europe/Berlin")
    people.get_by_role("button", name="1 token of anna").click()
    people.get_by_role("button", name="Revoke laptop of Anna").click()
    people.get_by_role("button", name="Revoke it and all made with it?").click()
    expect(page.get_by_text("Revoked: laptop of Anna")).to_be_visible()
    expect(people.get_by_role("button", name="0 tokens of anna")).to_be_visible()
    assert house.get("/tokens?user=anna")["items"] == []
