"""The Python client: the same operations by name, over HTTP and in this process; its how-to works as written."""

import re
import socket
import threading
from pathlib import Path

import pytest

from homing.client import Client, Problem
from homing.client.base import BaseClient
from homing.client.local import LocalClient
from homing.model.people import OWNER, Caller
from homing.settings import load
from homing.wiring import prepare, wire

HOWTO = Path(__file__).parents[3] / "docs/howto/python.md"
[ASKING, HERE] = re.findall(r"```python\n(.*?)```", HOWTO.read_text("utf-8"), re.DOTALL)


def test_the_how_to_works_as_written(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(ASKING, HOWTO, "exec"), {})
    lines = capsys.readouterr().out.strip().splitlines()
    assert any("Offline mode" in line for line in lines)
    assert lines[-1].startswith("404 not_found There is no ")
    assert lines[-2].startswith("Read me the news ")


def test_the_how_to_works_without_a_server(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(HERE, HOWTO, "exec"), {})
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*\n", capsys.readouterr().out)


def local() -> LocalClient:
    homing = wire(load())
    prepare(homing)
    owner = Caller(user_id=OWNER, role="admin", door="api", approve=True)
    return LocalClient(homing, lambda _: owner)


@pytest.fixture(params=["http", "local"])
def client(request: pytest.FixtureRequest, home: Path) -> BaseClient:
    if request.param == "local":
        return local()
    request.getfixturevalue("server")
    return Client()


def test_both_clients_answer_and_refuse_alike(client: BaseClient) -> None:
    with client as homing:
        homing.ask("add_session", key="api:ä@b")
        job = homing.ask("add_job", session_key="api:ä@b", when="every day at 9", message="x", name="fruit")
        assert homing.ask("update_job", job_id=job["id"], name=None)["name"] == "x", "null is the default again"
        assert [one["id"] for one in homing.pages("list_jobs", session_key="api:ä@b", q=None)] == [job["id"]]
        assert [one["user_id"] for one in homing.pages("list_users")] == ["default"]
        assert homing.ask("list_runs", job_id=job["id"], **{"from": "2026-01-01"})["items"] == []
        problems = {
            (404, "not_found"): ("get_job", {"job_id": "job_nothing"}),
            (422, "invalid"): ("add_job", {"session_key": "api:ä@b", "wen": "every day"}),
        }
        for told, (name, fields) in problems.items():
            with pytest.raises(Problem) as refused:
                homing.ask(name, **fields)
            assert (refused.value.status, refused.value.code) == told
            assert refused.value.body["request_id"].startswith("req_")


def test_a_missing_id_and_an_unknown_operation_are_refused_before_anything_is_sent(client: BaseClient) -> None:
    with client as homing:
        with pytest.raises(Problem, match="job_id is missing"):
            homing.ask("get_job")
        with pytest.raises(Problem, match="There is no operation get_jbo"):
            homing.ask("get_jbo", job_id="x")


def test_without_a_server_a_client_says_what_to_do(home: Path) -> None:
    with pytest.raises(Problem) as problem:
        Client()
    assert (problem.value.code, problem.value.hint) == ("unreachable", "Start it: `homing up`.")


@pytest.mark.parametrize(
    "url", ["localhost:4664", "127.0.0.1:4664", "http://", "http://127.0.0.1:abc", "ftp://127.0.0.1"]
)
def test_an_address_that_is_not_a_servers_is_refused_before_a_token_is_sent(url: str) -> None:
    with pytest.raises(Problem, match="is not the address of a server"):
        Client(url, "a-token")


@pytest.mark.parametrize("ending", ["silence", "close"])
def test_a_change_that_was_not_answered_is_not_sent_again(ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homing.client.remote.ANSWER_SECONDS", 0.2)
    seen: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                seen.append(peer.recv(65536))
                if ending == "silence":
                    peer.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener,), daemon=True)
        server.start()
        client = Client(f"http://127.0.0.1:{listener.getsockname()[1]}")
        client.connect()
        with pytest.raises(Problem):
            client.ask("update_job", job_id="job_a", name="x")
        assert len([one for one in seen if one.startswith(b"PATCH")]) == 1
        listener.shutdown(socket.SHUT_RDWR)
        server.join(5)
