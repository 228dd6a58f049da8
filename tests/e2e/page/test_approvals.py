"""What an agent asks to be allowed: shown whole, answered once, and changed in every window at once."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import ZONE, House, wait_until
from homing.testing import StubModelServer, tool_call
from support.package_index import serve_packages
from support.sandboxes import need_bubblewrap

pytestmark = pytest.mark.slow

PHONE = (360, 740)
# Text that a screen would hide, reorder, colour or draw.
NASTY = (
    "rm -rf /\u202etxt.ok\u202c \u200bhidden \x1b[31mred\x1b[0m <img src=x onerror=alert(1)> **bold** [a](javascript:b)"
)


def ask_for(house: House, stub: StubModelServer, name: str, text: str, **more: Any) -> dict[str, Any]:
    """Let an agent ask to remember something, in a conversation of its own; give the approval."""
    key, agent = f"web:{name}", f"keeper-{name}"
    house.post("/agents", id=agent, name="Keeper", tools={"remember": "ask"})
    house.post("/sessions", key=key, title=f"Notes on {name}", timezone=ZONE, agent_id=agent)
    stub.when(f"keep {name}", tool_call("remember", {"text": text} | more), "I asked you for it.")
    house.post(f"/sessions/{key}/messages?wait=60", text=f"Please keep {name}.")
    [approval] = house.get(f"/approvals?session_key={key}")["items"]
    return approval


def memories(house: House) -> list[str]:
    return [memory["text"] for memory in house.get("/memories?limit=200")["items"]]


def card(page: Page) -> Locator:
    return page.get_by_role("log").get_by_role("region", name="Keeper asks to use remember")


def sideways(page: Page) -> int:
    """Tell by how much the page is wider than its window."""
    return page.evaluate(
        "() => Math.max(...[document.documentElement, document.querySelector('main'),"
        " ...document.querySelectorAll('main *')].map((e) => e.getBoundingClientRect().right)) - innerWidth"
    )


def test_one_window_approves_with_a_note_and_the_other_ones_button_is_gone(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    approval = ask_for(house, stub, "rex", "the dog is called Rex")
    stub.when("Rex: approved by Owner", "It is kept.")
    mine, other = (new_window(house).open("/chat/web:rex") for _ in range(2))
    for page in (mine, other):
        expect(card(page)).to_contain_text("Waiting for an answer")
        expect(card(page)).to_contain_text("Asked in a conversation with you")
        expect(card(page).get_by_label("Everything that will run")).to_have_text(approval["shown"])
    link = other.get_by_role("navigation", name="Main").get_by_role("link", name="Inbox")
    expect(link).to_contain_text("1 to look at")
    assert violations(mine) == []

    card(mine).get_by_label("Note for the agent").fill("Good dog")
    card(mine).get_by_role("button", name="Approve and run").click()
    for page in (mine, other):
        expect(card(page)).to_contain_text("Approved and done")
        expect(card(page)).to_contain_text("Answered by you")
        expect(card(page)).to_contain_text(ZONE)
        expect(card(page)).to_contain_text("Note: Good dog")
        expect(card(page).get_by_role("button")).to_have_count(0)
        expect(page.get_by_role("log").get_by_text("It is kept.").first).to_be_visible()
    expect(link).not_to_contain_text("to look at")
    assert "the dog is called Rex" in memories(house)

    # What the agent was told is a line; what came of it is behind it.
    told = mine.get_by_role("log").get_by_role("article").filter(has_text="approved by Owner and done")
    expect(told.get_by_label("What came of it")).to_be_hidden()
    told.get_by_text("What came of it").click()
    expect(told.get_by_label("What came of it")).to_be_visible()
    told.get_by_role("link", name="Request").click()
    expect(mine.get_by_role("heading", level=1)).to_contain_text("Keeper asks to use remember")


def test_a_denial_and_its_note_reach_the_agent_and_nothing_runs(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    approval = ask_for(house, stub, "gold", "the gold is under the oak")
    stub.when("denied by Owner", "Then I leave it.")
    page = new_window(house).open(f"/approvals/{approval['id']}")
    answer = page.get_by_role("region", name="Answer")
    answer.get_by_label("Note for the agent").fill("Nobody must know <b>that</b>")
    answer.get_by_role("button", name="Deny").click()
    expect(answer).to_contain_text("Denied")
    expect(answer).to_contain_text("Nobody must know <b>that</b>")
    expect(answer.get_by_role("button")).to_have_count(0)
    page.get_by_role("link", name="Notes on gold").first.click()
    expect(page.get_by_role("log").get_by_text("Then I leave it.").first).to_be_visible()
    expect(page.get_by_role("log")).to_contain_text("They wrote: Nobody must know <b>that</b>")
    assert "the gold is under the oak" not in memories(house)


def test_who_comes_second_is_told_what_it_is_now(house: House, stub: StubModelServer, new_window: OpenWindow) -> None:
    approval = ask_for(house, stub, "late", "too late")
    page = new_window(house).open(f"/approvals/{approval['id']}")
    answer = page.get_by_role("region", name="Answer")
    button = answer.get_by_role("button", name="Approve and run")

    def answer_first(route: Route) -> None:
        # Somebody else answers while this click is on its way.
        house.post(f"/approvals/{approval['id']}", decision="deny", digest=approval["digest"])
        route.continue_()

    expect(button).to_be_visible()
    page.route(f"**/api/approvals/{approval['id']}", answer_first, times=1)
    button.click()
    expect(answer.get_by_role("alert")).to_contain_text("It cannot be answered any more: denied")
    expect(answer).to_contain_text("Denied")
    expect(button).to_have_count(0)
    assert "too late" not in memories(house)


def test_a_card_shows_everything_and_draws_nothing_of_it(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    approval = ask_for(house, stub, "nasty", NASTY + "\nline " * 9000 + "the very end")
    assert len(approval["shown"]) > 55_000
    for size in (PHONE, (1280, 800)):
        window = new_window(house, size=size)
        for path, place in ((f"/approvals/{approval['id']}", "main"), ("/chat/web:nasty", "[role=log]")):
            page = window.open(path)
            box = page.locator(place).get_by_label("Everything that will run")
            expect(box).to_have_text(approval["shown"], use_inner_text=False)
            text = box.text_content() or ""
            assert text == approval["shown"]
            assert json.loads(text) == approval["args"]
            assert all(part in text for part in ("\\u202e", "\\u001b[31m", "<img src=x"))
            assert not any(letter in text for letter in "\u202e\u202c\u200b\x1b")
            assert box.locator("*").count() == 0
            # Nothing of it is behind an edge: the buttons come after its end.
            assert box.evaluate("box => box.scrollHeight <= box.clientHeight + 1")
            assert sideways(page) <= 0
            page.close()


def test_an_approval_asked_by_the_clock_names_its_automation(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    house.post("/agents", id="nightly", name="Keeper", tools={"remember": "ask"})
    house.post("/sessions", key="web:nightly", title="Nightly", timezone=ZONE, agent_id="nightly")
    stub.when("Count the sheep", tool_call("remember", {"text": "40 sheep"}), "I asked.")
    job = house.job("web:nightly", "every day at 3", "Count the sheep", name="sheep")
    house.post(f"/jobs/{job['id']}/run")
    assert house.finished_run(job["id"])["state"] == "ok"
    page = new_window(house).open("/approvals")
    page.get_by_role("button", name="Waiting").click()
    page.get_by_role("listitem").filter(has_text="Keeper asks to use remember").first.get_by_role("link").click()
    main = page.get_by_role("main")
    expect(main).to_contain_text("Asked in a scheduled run of sheep, Nightly")
    expect(main.get_by_role("region", name="Other requests of Keeper")).to_contain_text("None.")
    main.get_by_role("link", name="this turn").click()
    expect(page.get_by_role("region", name="On record")).to_contain_text("An automation")


def test_a_sign_in_without_the_right_to_approve_says_so_and_has_no_button(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    approval = ask_for(house, stub, "rights", "no right")
    token = house.post("/tokens", role="admin", name="looks only")["token"]
    window = new_window(house, signed_in=False)
    window.sign_in(token)
    page = window.open(f"/approvals/{approval['id']}")
    answer = page.get_by_role("region", name="Answer")
    expect(answer).to_contain_text("This sign-in may not answer approvals.")
    expect(answer.get_by_role("button")).to_have_count(0)


def test_the_inbox_counts_live_and_two_windows_agree(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    empty_inbox(house)
    one, two = (new_window(house).open("/inbox") for _ in range(2))
    for page in (one, two):
        expect(page.get_by_text("Nothing needs you")).to_be_visible()

    approval = ask_for(house, stub, "inbox", "in the inbox")
    stub.fail(401, times=9, match="Feed the cat", message="The key was refused.")
    job = house.job("web:inbox", "every day at 9", "Feed the cat", name="cat")
    house.post(f"/jobs/{job['id']}/run")
    run = house.finished_run(job["id"])
    for page in (one, two):
        expect(count_of(page)).to_contain_text("2 to look at")
        expect(page.get_by_role("list", name="Waiting for you")).to_contain_text("Keeper asks to use remember")
        expect(page.get_by_role("list", name="Failed")).to_contain_text("cat failed")
    assert violations(one) == []

    # To open a failure is to have seen it, everywhere; what waits is counted until it is answered.
    one.get_by_role("list", name="Failed").get_by_role("link").click()
    expect(one).to_have_url(f"{house.url}/runs/{run['id']}")
    expect(count_of(two)).to_contain_text("1 to look at")
    expect(two.get_by_role("button", name="Mark all as seen")).to_have_count(0)
    two.get_by_role("list", name="Waiting for you").get_by_role("link").click()
    expect(two).to_have_url(f"{house.url}/approvals/{approval['id']}")
    expect(count_of(one)).to_contain_text("1 to look at")
    two.get_by_role("button", name="Deny").click()
    # What the agent says to that has arrived in its conversation.
    expect(one.get_by_role("status", name="Arrivals")).to_contain_text("in Notes on inbox")
    expect(count_of(one)).to_contain_text("1 to look at")
    two.keyboard.press("g")
    two.keyboard.press("i")
    expect(two.get_by_role("list", name="Waiting for you")).to_have_count(0)
    expect(two.get_by_role("list", name="Failed")).to_contain_text("cat failed")


def empty_inbox(house: House) -> None:
    """Deny what other tests left waiting, and look at the rest once every conversation is at rest."""
    for item in house.get("/approvals?state=pending&limit=200")["items"]:
        house.post(f"/approvals/{item['id']}", decision="deny", digest=item["digest"])

    def at_rest() -> bool:
        return all(one["state"] == "idle" and not one["lane"] for one in house.get("/sessions?limit=200")["items"])

    wait_until(at_rest, "conversations at rest")
    house.post("/inbox/seen")


def test_all_failures_are_marked_as_seen_at_once(house: House, stub: StubModelServer, new_window: OpenWindow) -> None:
    empty_inbox(house)
    key = house.session("web:failing", "Failing")
    stub.fail(401, times=9, match=re.compile("Feed the (dog|fish)"), message="The key was refused.")
    for animal in ("dog", "fish"):
        job = house.job(key, "every day at 9", f"Feed the {animal}", name=animal)
        house.post(f"/jobs/{job['id']}/run")
        house.finished_run(job["id"])
    page = new_window(house).open("/inbox")
    expect(count_of(page)).to_contain_text("2 to look at")
    page.get_by_role("button", name="Mark all as seen").click()
    expect(count_of(page)).not_to_contain_text("to look at")
    expect(page.get_by_role("list", name="Failed")).to_contain_text("fish failed")
    # The count goes down before the server has heard of it.
    wait_until(lambda: all(item["seen"] for item in house.get("/inbox")["items"]), "the server knows it too")


def count_of(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Main").get_by_role("link", name="Inbox")


def test_a_tool_is_set_to_ask_on_the_agents_page(house: House, new_window: OpenWindow) -> None:
    house.post("/agents", id="asker", name="Asker")
    page = new_window(house).open("/agents/asker")
    expect(page.get_by_text("each call waits for you").first).to_be_visible()
    expect(page.get_by_role("group", name="recall").get_by_label("Ask")).to_be_disabled()
    page.get_by_role("group", name="run_command").get_by_label("Ask").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status", name="News")).to_contain_text("Saved: Asker")
    assert house.get("/agents/asker")["tools"]["run_command"] == "ask"


def test_what_an_administrator_answers_is_shown_without_buttons_to_everybody_else(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    token = house.post("/tokens", user="guest", role="user", name="guest")["token"]
    reach = {"host": "example.org", "reason": "To read **the** news"}
    stub.when("read the news", tool_call("request_access", reach), "I asked.")
    stub.when("example.org: approved by Owner", "I can read it now.")
    window = new_window(house, signed_in=False)
    window.sign_in(token)
    page = window.open("/chat")
    page.get_by_label("Message", exact=True).fill("Please read the news.")
    page.get_by_label("Message", exact=True).press("Enter")
    theirs = page.get_by_role("log").get_by_role("region", name="Main asks to reach example.org")
    expect(theirs).to_contain_text("An administrator answers this.")
    expect(theirs).to_contain_text("The agent’s reason, in its own words")
    expect(theirs).to_contain_text("To read **the** news")
    expect(theirs.get_by_role("button")).to_have_count(0)
    expect(page.get_by_role("link", name="Inbox")).not_to_contain_text("to look at")

    # The administrator has a card at home, and sees whose conversation it was, but not into it.
    admin = new_window(house).open("/inbox")
    waiting = admin.get_by_role("list", name="Waiting for you")
    waiting.get_by_role("link", name="Main asks to reach example.org").click()
    expect(admin.get_by_role("main")).to_contain_text("Asked in a conversation with guest")
    expect(admin.get_by_role("region", name="What will run")).to_contain_text("host")
    assert violations(admin) == []
    admin.get_by_role("button", name="Approve access").click()
    expect(admin.get_by_role("region", name="Answer")).to_contain_text("Approved and done")
    expect(theirs).to_contain_text("Answered by default")
    expect(page.get_by_role("log").get_by_text("I can read it now.").first).to_be_visible()


def test_a_lock_is_a_table_and_the_whole_of_it_is_behind_it(
    stub: StubModelServer, new_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_bubblewrap()
    wanted = {"pip": ["owl"], "apt": ["jq"], "reason": "To hoot <b>loudly</b>"}
    stub.when("please hoot", tool_call("install_packages", wanted), "I asked.")
    with serve_packages() as index:
        for name, value in index.host.items():
            if name != "HOME":
                monkeypatch.setenv(name, value)
        index.add_wheel("owl", requires=("feather",))
        index.add_wheel("feather", at=None)
        with House(tmp_path, stub) as house:
            key = house.session("web:owl", "Owls")
            house.post(f"/sessions/{key}/messages?wait=60", text="please hoot")
            [approval] = house.get("/approvals")["items"]
            for size in (PHONE, (1280, 800)):
                page = new_window(house, size=size).open(f"/approvals/{approval['id']}")
                runs = page.get_by_role("region", name="What will run")
                rows = runs.get_by_role("row")
                expect(rows.nth(1)).to_contain_text("feather")
                expect(rows.nth(1)).to_contain_text("needed by others")
                expect(rows.nth(2)).to_contain_text("2020-01-02")
                expect(runs).to_contain_text("2 packages to install")
                expect(runs).to_contain_text("The release date of feather 1.0 is unknown.")
                expect(runs).to_contain_text("sudo apt install jq")
                whole = runs.get_by_label("Everything that will run")
                expect(whole).to_be_hidden()
                runs.get_by_text("exactly as it is stored").click()
                expect(whole).to_have_text(approval["shown"])
                expect(page.get_by_text("To hoot <b>loudly</b>")).to_be_visible()
                expect(page.get_by_role("button", name="Approve and install")).to_be_visible()
                assert page.evaluate("() => document.querySelector('main').scrollWidth <= innerWidth")
                assert violations(page) == []
