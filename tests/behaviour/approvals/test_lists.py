"""What the lists of approvals and the inbox offer beside reading: another agent's, and all seen at once."""

from behaviour.approvals.test_tool_calls import ask_for_memory
from support.site import STRANGER_TOKEN
from support.whole import Whole


async def test_approvals_are_listed_by_agent(whole: Whole) -> None:
    approval = await ask_for_memory(whole)
    assert [one["id"] for one in (await whole.ask("GET", "/approvals?agent_id=main"))["items"]] == [approval["id"]]
    assert (await whole.ask("GET", "/approvals?agent_id=another"))["items"] == []


async def test_all_of_the_inbox_is_seen_at_once_and_only_ones_own(whole: Whole) -> None:
    await ask_for_memory(whole)
    await whole.ask("POST", "/inbox/seen", {}, token=STRANGER_TOKEN)
    assert (await whole.ask("GET", "/inbox"))["unseen"] == 1
    counts = await whole.ask("POST", "/inbox/seen", {})
    # What waits is counted until it is answered, seen or not.
    assert (counts["waiting"], counts["unseen"]) == (1, 0)
    assert all(item["seen"] for item in (await whole.ask("GET", "/inbox"))["items"])


async def test_half_a_name_of_an_item_is_refused(whole: Whole) -> None:
    refused = await whole.ask("POST", "/inbox/seen", {"kind": "approval"}, code=422)
    assert refused["errors"][0]["field"] == "id"


async def test_one_is_told_whether_one_may_answer_approvals(whole: Whole) -> None:
    assert (await whole.ask("GET", "/me"))["approve"] is True
    token = (await whole.ask("POST", "/tokens", {"name": "looks only"}, code=201))["token"]
    assert (await whole.ask("GET", "/me", token=token))["approve"] is False


async def test_a_tool_names_the_policies_that_it_can_have(whole: Whole) -> None:
    tools = {tool["name"]: tool for tool in (await whole.ask("GET", "/agents/main"))["tools_in_effect"]}
    assert tools["remember"]["policies"] == ["allow", "ask", "deny"]
    assert tools["recall"]["policies"] == ["allow", "deny"]
    assert tools["request_access"]["policies"] == ["ask", "deny"]
