"""What a provider's error means."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import pytest
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelConnectionError,
    ModelHTTPError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRequestTimeout,
    UserError,
)
from pydantic_ai.messages import ModelResponse, TextPart

from homing.agent.failures import MAX_MASKED, mask_keys, model_failed
from homing.agent.model_calls import refuse_half_answers
from homing.model.errors import ModelFailed


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_refused_request_stays_refused(status):
    assert model_failed(ModelHTTPError(status, "m")).permanent


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_a_busy_or_broken_provider_may_recover(status):
    assert not model_failed(ModelHTTPError(status, "m")).permanent


@pytest.mark.parametrize(
    "error",
    [
        ModelConnectionError("m", "reset"),
        ModelOverloadedError("m", "overloaded", in_stream=True),
        ModelRequestTimeout("m", 5),
        httpx2.ReadTimeout("slow"),
        ConnectionResetError(),
        TimeoutError(),
    ],
)
def test_a_network_may_recover(error):
    failure = model_failed(error)
    assert not failure.permanent
    assert failure.detail


@pytest.mark.parametrize("error", [ContentFilterError("no"), UserError("no key"), TypeError("a bug")])
def test_what_waiting_cannot_change_is_permanent(error):
    assert model_failed(error).permanent


def test_an_empty_purse_is_permanent_even_as_a_429():
    error = ModelHTTPError.for_category(ModelQuotaExceededError, status_code=429, model_name="m")
    assert model_failed(error).permanent


def test_retry_after_is_read_as_seconds_and_as_a_date():
    assert model_failed(ModelHTTPError(429, "m", headers={"Retry-After": "12"})).retry_after == 12
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    until = model_failed(ModelHTTPError(429, "m", headers={"Retry-After": later})).retry_after
    assert until is not None
    assert 90 <= until <= 100
    assert model_failed(ModelHTTPError(429, "m")).retry_after is None


def test_a_filtered_answer_is_a_permanent_failure():
    with pytest.raises(ModelFailed, match="content filter") as failure:
        refuse_half_answers(ModelResponse(parts=[], finish_reason="content_filter"))
    assert failure.value.permanent


def test_an_error_instead_of_an_answer_may_pass():
    with pytest.raises(ModelFailed) as failure:
        refuse_half_answers(ModelResponse(parts=[], finish_reason="error"))
    assert not failure.value.permanent


def test_an_answer_that_says_why_it_ended_is_whole():
    whole = ModelResponse(
        parts=[TextPart("hi")], provider_name="openai", provider_details={"finish_reason": "stop"}, finish_reason="stop"
    )
    refuse_half_answers(whole)
    refuse_half_answers(ModelResponse(parts=[], finish_reason="stop"))
    with pytest.raises(ModelFailed, match="broke off"):
        refuse_half_answers(ModelResponse(parts=[TextPart("hi")], provider_name="openai", finish_reason="stop"))


@pytest.mark.parametrize(
    ("said", "masked"),
    [
        ("Incorrect API key provided: sk-proj-abc*****xyz.", "Incorrect API key provided: sk-***"),
        ("bad key AIzaSyD-1234567890", "bad key AIza***"),
        ("Authorization: Bearer eyJhbGciOi.x.y was refused", "Authorization: Bearer *** was refused"),
        ('{"api_key": "abc123def456"}', '{"api_key": "***"}'),
        ("my own key is in-the-environment", "my own key is ***"),
        ("The token limit: 128000 tokens", "The token limit: 128000 tokens"),
        ("Task sk-1 of risk-averse pk_x", "Task sk-1 of risk-averse pk_x"),
    ],
)
def test_keys_that_a_provider_repeats_are_masked(said: str, masked: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOME_API_KEY", "in-the-environment")
    assert mask_keys(said) == masked


@pytest.mark.parametrize("said", ["key=" * 100_000, "key= " * 100_000, f"{'x ' * 9000}sk-proj-abcdef{' y' * 9000}"])
def test_of_a_very_long_explanation_only_its_ends_are_looked_at_and_kept(said: str):
    assert len(mask_keys(said)) <= MAX_MASKED + 3


def test_a_key_at_the_edge_of_what_is_kept_does_not_stay_in_part(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOME_API_KEY", "correct-horse-battery")
    masked = mask_keys(" ".join(["correct-horse-battery"] * 1000))
    assert set(masked.split()) == {"***", "…"}


def test_the_providers_own_sentence_is_found_in_its_body():
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert model_failed(ModelHTTPError(529, "m", body)).detail == "Overloaded (529 from m)"
    assert model_failed(ModelHTTPError(502, "m", None)).detail == "No explanation (502 from m)"
    assert model_failed(ModelHTTPError(500, "m", "x" * 5000)).detail.endswith("x…")
