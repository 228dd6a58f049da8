"""The stub against the providers' own client libraries."""

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import anthropic
import openai
import pytest

from homing.testing import StubModelServer, tool_call
from homing.testing.replies import FaultKind

HELLO: Any = [{"role": "user", "content": "hello"}]


@pytest.fixture
def openai_client(stub: StubModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=stub.openai_url, api_key="sk-very-secret", max_retries=0, timeout=5) as client:
        yield client


@pytest.fixture
def anthropic_client(stub: StubModelServer) -> Iterator[anthropic.Anthropic]:
    url = stub.anthropic_url
    with anthropic.Anthropic(base_url=url, api_key="sk-very-secret", max_retries=0, timeout=5) as client:
        yield client


def ask_openai(client: openai.OpenAI, *, stream: bool = False) -> str:
    if not stream:
        answer = client.chat.completions.create(model="gpt-5", messages=HELLO)
        return answer.choices[0].message.content or ""
    with client.chat.completions.create(model="gpt-5", messages=HELLO, stream=True) as events:
        return "".join(event.choices[0].delta.content or "" for event in events)


def ask_anthropic(client: anthropic.Anthropic, *, stream: bool = False) -> str:
    if not stream:
        answer = client.messages.create(model="claude-stub", max_tokens=99, messages=HELLO)
        return "".join(block.text for block in answer.content if block.type == "text")
    with client.messages.stream(model="claude-stub", max_tokens=99, messages=HELLO) as events:
        return "".join(events.text_stream)


def test_openai_gets_text_usage_and_a_reason(stub: StubModelServer, openai_client: openai.OpenAI) -> None:
    stub.reply("Hello to you.")
    answer = openai_client.chat.completions.create(model="gpt-5", messages=HELLO)
    assert answer.choices[0].message.content == "Hello to you."
    assert (answer.choices[0].finish_reason, answer.model) == ("stop", "gpt-5")
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0


def test_openai_streams_chunks_tool_calls_in_pieces_and_usage_if_asked(
    stub: StubModelServer, openai_client: openai.OpenAI
) -> None:
    calls = [tool_call("a", {"text": "I like apples"}, call_id="call_1"), tool_call("b", {})]
    stub.reply("", chunks=["Hel", "lo"], tool_calls=calls)
    with openai_client.chat.completions.create(
        model="gpt-5", messages=HELLO, stream=True, stream_options={"include_usage": True}
    ) as stream:
        *chunks, last = list(stream)
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert [delta.content for delta in deltas if delta.content] == ["Hel", "lo"]
    pieces = [call for delta in deltas for call in delta.tool_calls or () if call.index == 0]
    assert len(pieces) > 2
    assert pieces[0].id == "call_1"
    arguments = "".join(piece.function.arguments or "" for piece in pieces if piece.function)
    assert arguments == '{"text": "I like apples"}'
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert last.choices == []
    assert last.usage is not None
    assert all(chunk.usage is None for chunk in chunks)


def test_openai_gets_several_tool_calls_in_one_response(stub: StubModelServer, openai_client: openai.OpenAI) -> None:
    stub.reply([tool_call("a", {"x": 1}), tool_call("b", {"y": 2})])
    message = openai_client.chat.completions.create(model="gpt-5", messages=HELLO).choices[0].message
    assert message.content is None
    calls = [call for call in message.tool_calls or () if call.type == "function"]
    assert [(call.function.name, call.function.arguments) for call in calls] == [("a", '{"x": 1}'), ("b", '{"y": 2}')]
    assert len({call.id for call in calls}) == 2


def test_anthropic_gets_text_usage_and_a_reason(stub: StubModelServer, anthropic_client: anthropic.Anthropic) -> None:
    stub.reply("Hello to you.")
    answer = anthropic_client.messages.create(model="claude-stub", max_tokens=99, messages=HELLO)
    assert [block.type for block in answer.content] == ["text"]
    assert answer.stop_reason == "end_turn"
    assert answer.usage.input_tokens > 0
    assert answer.usage.output_tokens > 1


def test_anthropic_streams_events_in_the_protocols_order(
    stub: StubModelServer, anthropic_client: anthropic.Anthropic
) -> None:
    stub.reply("", chunks=["Hel", "lo"], tool_calls=[tool_call("a", {"text": "I like apples"}), tool_call("b")])
    with anthropic_client.messages.create(model="claude-stub", max_tokens=99, messages=HELLO, stream=True) as stream:
        kinds = [event.type for event in stream]
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    distinct = [kind for kind, before in zip(kinds, [None, *kinds], strict=False) if kind != before]
    assert distinct == ["message_start", *block, *block, *block, "message_delta", "message_stop"]


def test_anthropic_puts_streamed_tool_calls_together(
    stub: StubModelServer, anthropic_client: anthropic.Anthropic
) -> None:
    stub.reply(["Let me see.", tool_call("a", {"text": "苹果"}), tool_call("b", {"y": [1, 2]})])
    with anthropic_client.messages.stream(model="claude-stub", max_tokens=99, messages=HELLO) as stream:
        answer = stream.get_final_message()
    assert answer.stop_reason == "tool_use"
    calls = [block for block in answer.content if block.type == "tool_use"]
    assert [(call.name, call.input) for call in calls] == [("a", {"text": "苹果"}), ("b", {"y": [1, 2]})]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (404, openai.NotFoundError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (529, openai.InternalServerError),
        ("drop", openai.APIConnectionError),
    ],
)
def test_openai_knows_each_fault_by_its_type(
    stub: StubModelServer, openai_client: openai.OpenAI, kind: FaultKind, error: type[Exception], stream: bool
) -> None:
    stub.fail(kind)
    with pytest.raises(error):
        ask_openai(openai_client, stream=stream)
    assert ask_openai(openai_client, stream=stream) == "You said: hello"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (401, anthropic.AuthenticationError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
        (529, anthropic.InternalServerError),
        ("drop", anthropic.APIConnectionError),
    ],
)
def test_anthropic_knows_each_fault_by_its_type(
    stub: StubModelServer, anthropic_client: anthropic.Anthropic, kind: FaultKind, error: type[Exception], stream: bool
) -> None:
    stub.fail(kind)
    with pytest.raises(error):
        ask_anthropic(anthropic_client, stream=stream)
    assert ask_anthropic(anthropic_client, stream=stream) == "You said: hello"


def test_an_error_has_the_providers_own_body(
    stub: StubModelServer, openai_client: openai.OpenAI, anthropic_client: anthropic.Anthropic
) -> None:
    stub.fail(401, times=2)
    with pytest.raises(openai.AuthenticationError) as one:
        ask_openai(openai_client)
    assert one.value.code == "invalid_api_key"
    with pytest.raises(anthropic.AuthenticationError) as other:
        ask_anthropic(anthropic_client)
    assert other.value.type == "authentication_error"


def test_a_rate_limit_says_when_to_come_back(stub: StubModelServer, openai_client: openai.OpenAI) -> None:
    stub.fail(429, retry_after_seconds=7)
    with pytest.raises(openai.RateLimitError) as caught:
        ask_openai(openai_client)
    assert caught.value.response.headers["retry-after"] == "7"


def test_a_client_that_retries_gets_through_after_two_faults(stub: StubModelServer) -> None:
    stub.fail(429, times=2, retry_after_seconds=0.01)
    with openai.OpenAI(base_url=stub.openai_url, api_key="k", max_retries=2) as client:
        assert ask_openai(client) == "You said: hello"
    assert [request.outcome for request in stub.requests] == ["status 429", "status 429", "answered"]


def test_a_cut_stream_gives_some_text_and_then_an_error(
    stub: StubModelServer, openai_client: openai.OpenAI, anthropic_client: anthropic.Anthropic
) -> None:
    stub.fail("cut", times=2)
    seen: list[str] = []
    with pytest.raises(openai.APIConnectionError), client_stream(openai_client) as events:
        seen.extend(event.choices[0].delta.content or "" for event in events)
    assert "".join(seen).startswith("This answer")
    with pytest.raises(Exception, match="incomplete chunked read"):
        ask_anthropic(anthropic_client, stream=True)
    assert [request.outcome for request in stub.requests] == ["cut", "cut"]


def client_stream(client: openai.OpenAI) -> openai.Stream[Any]:
    return client.chat.completions.create(model="gpt-5", messages=HELLO, stream=True)


def test_a_slow_first_byte_and_a_reply_that_never_comes_time_out(stub: StubModelServer) -> None:
    stub.reply("late", first_byte_seconds=60)
    stub.fail("hang")
    with openai.OpenAI(base_url=stub.openai_url, api_key="k", max_retries=0, timeout=0.2) as client:
        for _ in range(2):
            with pytest.raises(openai.APITimeoutError):
                ask_openai(client)
    done = stub.wait_for(lambda seen: all(request.outcome for request in seen))
    assert [request.outcome for request in done] == ["disconnected", "disconnected"]


def test_chunks_keep_their_distance(stub: StubModelServer, openai_client: openai.OpenAI) -> None:
    stub.reply("", chunks=["a", "b", "c"], delay_seconds=0.03)
    began = time.monotonic()
    assert ask_openai(openai_client, stream=True) == "abc"
    assert time.monotonic() - began >= 0.09


def test_malformed_tool_arguments_arrive_as_they_are(stub: StubModelServer, openai_client: openai.OpenAI) -> None:
    stub.reply(tool_call("a", '{"x": 1, "y'))
    calls = openai_client.chat.completions.create(model="gpt-5", messages=HELLO).choices[0].message.tool_calls or []
    assert [call.function.arguments for call in calls if call.type == "function"] == ['{"x": 1, "y']


def test_what_the_stub_cannot_read_is_refused_and_not_logged(
    stub: StubModelServer, openai_client: openai.OpenAI
) -> None:
    with pytest.raises(openai.BadRequestError, match="cannot read this request"):
        openai_client.post("/chat/completions", body={"model": "gpt-5"}, cast_to=object)
    with pytest.raises(openai.NotFoundError, match="The stub speaks"):
        openai_client.embeddings.create(model="e", input="hello")
    assert stub.requests == []


def test_a_function_that_fails_is_heard_of(stub: StubModelServer, openai_client: openai.OpenAI) -> None:
    stub.reply(lambda messages: messages[99].text)
    with pytest.raises(openai.InternalServerError, match="IndexError"):
        ask_openai(openai_client)


def test_no_key_is_ever_kept(
    stub: StubModelServer, openai_client: openai.OpenAI, anthropic_client: anthropic.Anthropic
) -> None:
    ask_openai(openai_client)
    ask_anthropic(anthropic_client)
    assert [request.protocol for request in stub.requests] == ["openai", "anthropic"]
    assert "secret" not in str(stub.requests)


def test_a_client_that_leaves_is_seen_to_have_left(stub: StubModelServer) -> None:
    stub.reply("never read", hold=True)
    with (
        openai.OpenAI(base_url=stub.openai_url, api_key="k", max_retries=0, timeout=0.1) as client,
        suppress(openai.APITimeoutError),
    ):
        ask_openai(client)
    stub.wait_for(lambda seen: seen[0].outcome == "disconnected")
