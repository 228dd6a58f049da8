"""What the side door offers: the same names as every other door."""

from homing.mcp.tool_list import offered
from homing.model.contract import OPERATIONS
from homing.tools import schedule_task

FEW = {tool.name: tool for tool in offered(every=False)}
ALL = {tool.name: tool for tool in offered(every=True)}


def test_three_tools_are_offered_unless_all_are_asked_for() -> None:
    assert list(FEW) == ["schedule_task", "send_message", "list_messages"]


def test_every_operation_is_a_tool_by_its_name_and_no_tool_is_anything_else() -> None:
    held = {"sign_in", "sign_out", "call_hook", "list_users", "list_tokens", "create_token", "revoke_token"}
    assert not {name for name in ALL if "token" in name or ("grant" in name and not name.startswith("list_"))}
    operations = [operation.name for operation in OPERATIONS if operation.mcp]
    assert {operation.name for operation in OPERATIONS} - set(operations) >= held
    assert sorted(ALL) == sorted([*operations, "schedule_task"])
    assert len(offered(every=True)) == len(ALL)


def test_what_widens_an_agents_reach_is_no_tool() -> None:
    assert not {"list_grants", "add_grant", "remove_grant"} & set(ALL)
    assert not {"get_agent", "add_agent", "update_agent", "remove_agent"} & set(ALL)


def test_schedule_task_is_the_agents_own_with_the_session_as_an_argument() -> None:
    tool = FEW["schedule_task"]
    properties = dict(tool.input_schema["properties"])
    assert properties.pop("session_key")["type"] == "string"
    assert properties == schedule_task.PARAMETERS["properties"]
    assert tool.input_schema["required"] == ["session_key", "action"]
    assert tool.description == schedule_task.DESCRIPTION


def test_send_message_and_list_messages_name_the_session_and_what_the_contract_says() -> None:
    send, read = FEW["send_message"].input_schema, FEW["list_messages"].input_schema
    assert send["required"] == ["session_key", "text"]
    assert {"session_key", "text", "wait"} <= set(send["properties"])
    assert read["required"] == ["session_key"]
    assert {"session_key", "after", "limit"} <= set(read["properties"])


def test_every_schema_is_an_object_that_takes_no_unknown_argument_and_wastes_no_titles() -> None:
    for name, tool in ALL.items():
        assert tool.input_schema["type"] == "object", name
        assert name == "schedule_task" or tool.input_schema["additionalProperties"] is False, name
        assert not any("title" in field for field in tool.input_schema.get("properties", {}).values()), name
        assert tool.description, name


def test_public_names_are_spelled_as_in_the_api() -> None:
    assert "from" in ALL["list_runs"].input_schema["properties"]
    assert "continue" in ALL["add_job"].input_schema["properties"]


def test_a_tool_says_whether_it_only_reads() -> None:
    hints = {name: tool.annotations.read_only_hint for name, tool in ALL.items() if tool.annotations}
    assert hints["list_jobs"]
    assert not hints["add_job"]
