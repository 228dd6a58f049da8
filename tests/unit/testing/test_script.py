import re

import pytest
from pydantic import ValidationError

from homing.testing import Reply, Script, WireMessage, fault, tool_call
from homing.testing.script_file import ScriptFile


def said(*texts: str) -> list[WireMessage]:
    """A conversation in which the person and the model take turns."""
    return [WireMessage(role="user" if n % 2 == 0 else "assistant", text=text) for n, text in enumerate(texts)]


def test_replies_are_used_in_order_and_then_it_echoes() -> None:
    script = Script(["one", "two"])
    assert [script.choose(said("hi")).text for _ in range(3)] == ["one", "two", "You said: hi"]


def test_a_rule_answers_whoever_says_it_and_leaves_the_queue_alone() -> None:
    script = Script(["queued"])
    script.when("apples", "You like apples.")
    script.when(re.compile(r"^\d+ pears$"), "Pears!")
    assert script.choose(said("I like apples")).text == "You like apples."
    assert script.choose(said("12 pears")).text == "Pears!"
    assert script.choose(said("some pears")).text == "queued"


def test_the_second_answer_of_a_rule_is_to_what_the_tools_gave_back() -> None:
    script = Script()
    script.when("apples", tool_call("remember", {"text": "apples"}), "Noted.")
    asked = said("I like apples")
    called = [*asked, WireMessage(role="assistant", text=""), WireMessage(role="tool", text="ok")]
    assert script.choose(asked).tool_calls[0].name == "remember"
    assert script.choose(called).text == "Noted."
    assert script.choose(asked).tool_calls[0].name == "remember", "a repeated call gets the same answer"
    assert script.choose([*called, WireMessage(role="assistant", text="Noted.")]).text == "You said: I like apples"


def test_a_rule_with_a_count_runs_out() -> None:
    script = Script()
    script.when("apples", "once", times=1)
    assert script.choose(said("apples")).text == "once"
    assert script.choose(said("apples")).text == "You said: apples"


def test_faults_come_first_and_only_as_often_as_said() -> None:
    script = Script(["fine"])
    script.fail(429, times=2, retry_after_seconds=3)
    first, second, third = (script.choose(said("hi")) for _ in range(3))
    assert first == second == fault(429, retry_after_seconds=3)
    assert third.text == "fine"


def test_a_fault_can_be_for_one_conversation_only() -> None:
    script = Script()
    script.fail(500, match="apples")
    assert script.choose(said("pears")).fault is None
    assert script.choose(said("apples")).fault is not None


def test_a_function_sees_the_messages_and_decides() -> None:
    script = Script([lambda messages: f"{len(messages)} messages"])
    assert script.choose(said("a", "b", "c")).text == "3 messages"


def test_several_parts_make_one_response() -> None:
    reply = Script([["Let me see.", tool_call("a"), tool_call("b")]]).choose(said("hi"))
    assert (reply.text, [call.name for call in reply.tool_calls]) == ("Let me see.", ["a", "b"])


def test_a_rule_without_a_reply_and_a_function_with_options_are_refused() -> None:
    with pytest.raises(ValueError, match="needs a reply"):
        Script().when("apples")
    with pytest.raises(TypeError, match="decides everything"):
        Script().reply(lambda _: "x", hold=True)


@pytest.mark.parametrize("text", ["", "one", "two words", " leading", "trailing ", "a  b", "多个 词"])
def test_pieces_of_a_text_add_up_to_it(text: str) -> None:
    assert "".join(Reply(text=text).pieces) == text


def test_a_script_can_be_written_in_json() -> None:
    script = Script(["forgotten"])
    ScriptFile.model_validate(
        {
            "reset": True,
            "rules": [
                {"when": "apples", "replies": [{"tool_calls": [{"name": "a", "arguments": {"x": 1}}]}, "done"]},
                {"regex": "^p", "replies": [{"chunks": ["x", "y"], "delay_seconds": 0.5, "hold": "gate"}]},
            ],
            "faults": [{"fault": 429, "times": 1, "retry_after_seconds": 2, "when": "never said"}],
            "replies": ["queued", {"fault": "cut"}],
            "default": "default",
        }
    ).write_to(script)
    assert script.choose(said("apples")).tool_calls == [tool_call("a", {"x": 1})]
    paced = script.choose(said("pears"))
    assert (paced.chunks, paced.delay_seconds, paced.hold) == (["x", "y"], 0.5, "gate")
    assert script.choose(said("-")).text == "queued"
    broken = script.choose(said("-")).fault
    assert broken is not None
    assert broken.kind == "cut"
    assert script.choose(said("-")).text == "default"
    assert script.choose(said("never said")).fault is not None


def test_a_misspelt_script_is_refused_by_the_name_of_the_field() -> None:
    with pytest.raises(ValidationError, match="delay_secs"):
        ScriptFile.model_validate({"replies": [{"text": "x", "delay_secs": 1}]})
