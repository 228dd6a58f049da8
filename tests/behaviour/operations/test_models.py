"""Which model a job may have: one that can be asked from here, and that is the caller's to choose."""

from dataclasses import replace

import pytest

from homing.agent.choice import why_unusable
from homing.model.errors import Forbidden, UnknownModel
from homing.operations.job_changes import update_job
from homing.operations.shapes.base import read
from homing.operations.shapes.job import JobShape
from homing.operations.shapes.job_asks import UpdateJob
from support.asking import PERSON_TURN, add, agent, field_codes, refused
from support.site import open_site, problem
from support.worlds import STRANGER, World

ENV = {"OPENAI_API_KEY": "x"}


@pytest.fixture
def world(world: World) -> World:
    """A server that has a key for one provider."""
    judge = lambda name: why_unusable(name, ENV, default="offline")  # noqa: E731
    return replace(world, instance=replace(world.instance, why_unusable=judge))


def patch(world: World, job: JobShape, model: str | None) -> JobShape:
    return world.ask(update_job, read(UpdateJob, {"job_id": job.id, "payload": {"model": model}}))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "nope/never",
            "There is no model nope/never. A model is named provider:model; available here, for example: offline",
        ),
        ("openai/gpt-5", "Did you mean openai:gpt-5?"),
        ("offlin", "Did you mean offline?"),
        ("test", "There is no model test."),
        ("test:test", "There is no model test:test."),
        ("openai:", "There is no model openai:."),
        ("anthropic:claude-9", "ANTHROPIC_API_KEY is not set on this server."),
    ],
)
def test_a_model_that_cannot_be_asked_here_is_refused_when_it_is_named(world: World, name: str, said: str) -> None:
    error = refused(lambda: add(world, payload={"model": name}), UnknownModel)
    assert (error.code, field_codes(error)) == ("unknown_model", {"payload.model": "unknown_model"})
    assert said in error.detail
    job = add(world)
    assert said in refused(lambda: patch(world, job, name), UnknownModel).detail


def test_a_model_with_a_key_is_taken_and_one_that_lost_its_key_does_not_stop_other_changes(world: World) -> None:
    job = add(world, payload={"model": "openai-chat:gpt-5"})
    later = replace(world, instance=replace(world.instance, why_unusable=lambda name: "No key any more."))
    ask = read(UpdateJob, {"job_id": job.id, "name": "renamed", "payload": {"model": "openai-chat:gpt-5"}})
    assert later.ask(update_job, ask).name == "renamed"
    assert patch(later, job, "offline").payload.model == "offline"
    assert patch(later, job, None).payload.model is None


def test_only_an_admin_chooses_a_model_that_nothing_here_uses_yet(world: World) -> None:
    with pytest.raises(Forbidden, match="Only an admin may choose the model openai:o1-pro"):
        add(world, caller=STRANGER, session_key="web:theirs", payload={"model": "openai:o1-pro"})
    with pytest.raises(Forbidden):
        add(world, caller=agent(world, PERSON_TURN), payload={"model": "openai:o1-pro"})
    assert (
        add(world, caller=STRANGER, session_key="web:theirs", payload={"model": "offline"}).payload.model == "offline"
    )
    assert add(world, payload={"model": "openai:o1-pro"}).payload.model == "openai:o1-pro"


async def test_the_front_door_says_unknown_model(world: World) -> None:
    add(world)
    site = open_site(world)
    body = {"session_key": "web:abc", "when": "in 1 hour", "payload": {"message": "x", "model": "nope/never"}}
    answer = await site.owner.post("/api/jobs", json=body)
    assert answer.status_code == 422
    assert problem(answer)["code"] == "unknown_model"
    assert problem(answer)["errors"][0]["field"] == "payload.model"
