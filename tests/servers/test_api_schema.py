"""The document is the truth: whatever fits it or breaks it, the server answers as it says, and never with a 5xx.

Schemathesis makes the requests, the same ones in every run; some name things that are there.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)

from homing.model.clock import SystemClock
from homing.operations.runs import run_job
from homing.operations.shapes.job_asks import JobRef
from homing.store import Store
from homing.testing import PostgresServer
from homing.web.openapi import document
from support.asking import add
from support.serving import ServerProcess
from support.site import OWNER_TOKEN, kill, open_site, owe
from support.worlds import World, make_instance

EXAMPLES = 12
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
NOTHING_TO_BREAK = {("sign_out", GenerationMode.NEGATIVE)}
TIMED = {"POST /api/jobs", "POST /api/schedules/preview"}
STREAMS = {"watch_session", "watch_events"}

DOCUMENT = document()
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = {
    one["operationId"]: (path, method)
    for path, methods in DOCUMENT["paths"].items()  # type: ignore[attr-defined]
    for method, one in methods.items()
    if one["operationId"] not in STREAMS
}


class Served:
    """A server over a furnished database, and the names of what is in it."""

    def __init__(self, server: ServerProcess, world: World) -> None:
        self.url = server.url
        self.server = server
        job = add(world, name="fruit watch")
        run = world.ask(run_job, JobRef(job_id=job.id))
        [dead] = owe(world, "web:abc", "lost", ["webhook:wh_gone"])
        kill(world, dead)
        self.there = {"jobs": job.id, "sessions": "web:abc", "deliveries": dead, "runs": run.id}

    def real(self, case: Case) -> Case:
        """Let every second request be about something that is there; nobody waits for an engine there is none of."""
        nouns = [noun for noun in self.there if f"/{noun}/" in case.path + "/"]
        for name, value in dict(case.path_parameters or {}).items():
            if nouns and case.method != "DELETE" and len(str(value)) % 2:
                case.path_parameters[name] = self.there[nouns[0]]
        if (case.query or {}).get("wait"):
            case.query["wait"] = 1
        if isinstance(case.body, dict) and case.operation.label in TIMED and len(case.body) % 2:
            # A text that nobody made up is hardly ever a time or a zone.
            for name in ("schedule", "timezone", "starts_at", "ends_at", "after", "text", "payload"):
                case.body.pop(name, None)
            job = {"session_key": "web:abc", "message": "look"} if "jobs" in nouns else {}
            case.body |= {"when": "every 2h"} | job
        return case


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    if request.param == "sqlite":
        template: Path = request.getfixturevalue("sqlite_template")
        shutil.copy(template, folder / "homing.db")
        database = f"sqlite:///{folder / 'homing.db'}"
    else:
        postgres: PostgresServer = request.getfixturevalue("postgres_server")
        database = postgres.fresh("homing_template")
    store = Store(database, SystemClock(), fsync=False)
    world = World(store=store, clock=SystemClock(), instance=make_instance())  # type: ignore[arg-type] # the machine's
    open_site(world)
    with ServerProcess(database, folder) as server:
        yield Served(server, world)
    store.engine.dispose()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("name", "mode"),
    [(name, mode) for name in sorted(OPERATIONS) for mode in GenerationMode if (name, mode) not in NOTHING_TO_BREAK],
    ids=lambda value: value.value if isinstance(value, GenerationMode) else value,
)
def test_every_address_answers_as_documented(served: Served, name: str, mode: GenerationMode) -> None:
    path, method = OPERATIONS[name]
    operation = SCHEMA[path][method.upper()]

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType]
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def walk(case: Case) -> None:
        answer(served, case)

    walk()


def answer(served: Served, case: Case) -> int:
    response = served.real(case).call(base_url=served.url, headers={"Authorization": f"Bearer {OWNER_TOKEN}"})
    case.validate_response(response, checks=CHECKS)
    return response.status_code
