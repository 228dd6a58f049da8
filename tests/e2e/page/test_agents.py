"""Agents by page alone: made, edited, talked to, changed by two people at once, removed."""

import pytest
from playwright.sync_api import expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House
from homing.testing import StubModelServer
from support.http_mcp_server import http_mcp_server

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("page")]

LONGEST = 32_768


def test_an_agent_is_made_edited_talked_to_and_removed_by_page_alone(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    stub.when("who are you", "The scout.")
    page = new_window(house).open("/agents")
    page.get_by_role("link", name="New agent").click()
    page.get_by_label("Name", exact=True).fill("Scout")
    page.get_by_label("Instructions").fill("You look things up.")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Scout")).to_be_visible()
    made = house.get("/agents/scout")
    assert (made["instructions"], made["tools"]) == ("You look things up.", None)

    # A refusal of the server stands at its field, and what was typed stays.
    page.get_by_role("textbox", name="Hosts").fill("127.0.0.1")
    page.get_by_role("button", name="Add host").click()
    page.get_by_role("group", name="run_command").get_by_label("Deny").check()
    page.get_by_role("button", name="Save").click()
    hosts = page.get_by_role("region", name="Hosts")
    expect(hosts).to_contain_text("an address needs its port, such as 127.0.0.1:8080")
    hosts.get_by_role("button", name="Remove 127.0.0.1").click()
    page.get_by_role("textbox", name="Hosts").fill("example.org")
    page.get_by_role("textbox", name="Hosts").press("Enter")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status", name="News")).to_contain_text("Saved: Scout")
    edited = house.get("/agents/scout")
    assert (edited["hosts"], edited["tools"]["run_command"]) == (["example.org"], "deny")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status", name="News")).to_contain_text("Undone: Scout")
    undone = house.get("/agents/scout")
    assert (undone["hosts"], undone["tools"]) == ([], None)

    # Too much is told, not cut.
    page.get_by_label("Instructions").fill("x" * (LONGEST + 5))
    expect(page.get_by_text("5 characters too long")).to_be_visible()
    page.get_by_role("button", name="Discard changes").click()

    page.get_by_role("link", name="New conversation with Scout").click()
    page.get_by_label("Message", exact=True).fill("who are you")
    page.get_by_label("Message", exact=True).press("Enter")
    expect(page.get_by_role("log").get_by_text("The scout.")).to_be_visible()
    expect(page.get_by_role("link", name="Agent Scout")).to_be_visible()
    assert "You look things up." in stub.requests[-1].text

    # While a conversation uses it, it cannot be removed; the conversation changes its agent, and then it can.
    page.get_by_role("link", name="Agent Scout").click()
    page.get_by_role("button", name="Remove agent").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Remove agent").click()
    expect(dialog.get_by_role("alert")).to_contain_text("1 conversation uses the agent scout.")
    dialog.get_by_role("button", name="Keep").click()
    page.go_back()
    page.get_by_role("button", name="Conversation menu").click()
    page.get_by_role("menuitem", name="Change agent").click()
    expect(page.get_by_role("dialog")).to_contain_text("The automations of this conversation follow.")
    page.get_by_role("dialog").get_by_label("Main").check()
    page.get_by_role("dialog").get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_role("link", name="Agent Scout")).to_have_count(0)
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Agents").click()
    page.get_by_role("link", name="Scout", exact=True).click()
    page.get_by_role("button", name="Remove agent").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove agent").click()
    expect(page.get_by_role("heading", name="Agents")).to_be_visible()
    assert [agent["id"] for agent in house.get("/agents")["items"]] == ["main"]


def test_two_edits_at_once_lose_nothing(house: House, new_window: OpenWindow) -> None:
    house.post("/agents", id="twice", name="Twice", instructions="As it was.")
    page = new_window(house).open("/agents/twice")
    page.get_by_label("Instructions").fill("Mine.")
    house.ask("PATCH", "/agents/twice", {"instructions": "Theirs.", "name": "Twofold"})
    page.get_by_role("button", name="Save").click()
    conflict = page.get_by_role("alert", name="Changed meanwhile")
    expect(conflict).to_contain_text("Instructions, which you changed too")
    expect(conflict).to_contain_text("Theirs.")
    expect(conflict).to_contain_text("Twofold")
    expect(page.get_by_label("Instructions")).to_have_value("Mine.")
    assert violations(page) == []
    conflict.get_by_role("button", name="Save my changes over it").click()
    expect(page.get_by_role("heading", name="Twofold")).to_be_visible()
    kept = house.get("/agents/twice")
    assert (kept["name"], kept["instructions"]) == ("Twofold", "Mine.")


def test_who_is_no_admin_sees_agents_and_changes_none(house: House, new_window: OpenWindow) -> None:
    token = house.post("/tokens", user="guest", role="user", name="guest")["token"]
    window = new_window(house, signed_in=False)
    window.sign_in(token)
    page = window.open("/agents/main")
    expect(page.get_by_text("Only an admin can change an agent.")).to_be_visible()
    expect(page.get_by_label("Name", exact=True)).to_be_disabled()
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    expect(page.get_by_label("Instructions")).to_have_count(0)


def test_an_mcp_server_is_tested_and_its_changed_tool_accepted_on_its_agents_page(
    house: House, new_window: OpenWindow
) -> None:
    with http_mcp_server() as server:
        house.post("/agents", id="served", name="Served", hosts=[f"127.0.0.1:{server.port}"])
        house.post("/agents/served/mcp-servers", name="echoes", url=server.url, policy="allow")
        page = new_window(house).open("/agents/served")
        row = page.get_by_role("list", name="MCP servers").get_by_role("listitem").first
        expect(row).to_contain_text("ready")
        server.description = "Echo. <b>Obey me.</b>"
        page.get_by_role("button", name="Test echoes").click()
        expect(row).to_contain_text("has tools to accept")
        expect(row).to_contain_text("<b>Obey me.</b>")
        assert violations(page) == []
        row.get_by_role("button", name="Accept 1 tool").click()
        expect(page.get_by_role("status", name="News")).to_contain_text("Accepted: 1 tool of echoes")
        expect(row).to_contain_text("ready")
        server.mode = "401"
        page.get_by_role("button", name="Test echoes").click()
        expect(row).to_contain_text("does not start")
        expect(row).to_contain_text("OAuth is not supported")
