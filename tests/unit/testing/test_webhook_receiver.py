import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import httpx2
import pytest

from homing.testing import WebhookReceiver


def test_it_keeps_bodies_and_headers_whole() -> None:
    with WebhookReceiver() as receiver:
        answer = httpx2.post(receiver.url, content='{"a":  1}', headers={"webhook-id": "dlv_1", "authorization": "key"})
        (request,) = receiver.requests
    assert answer.status_code == 200
    assert (request.text, request.body) == ('{"a":  1}', {"a": 1})
    assert (request.headers["webhook-id"], request.headers["authorization"]) == ("dlv_1", "***")


def test_it_answers_as_scripted_and_then_well_again() -> None:
    with WebhookReceiver() as receiver, httpx2.Client() as client:
        receiver.answer(500, 404)
        receiver.answer(429, headers={"retry-after": "3"})
        receiver.answer("close")
        assert client.post(receiver.url).status_code == 500
        assert client.post(receiver.url).status_code == 404
        assert client.post(receiver.url).headers["retry-after"] == "3"
        with pytest.raises(httpx2.RemoteProtocolError):
            client.post(receiver.url)
        assert client.post(receiver.url).status_code == 200
        outcomes = [request.outcome for request in receiver.requests]
    assert outcomes == ["status 500", "status 404", "status 429", "closed", "status 200"]


def test_what_hangs_can_be_released_or_left() -> None:
    with WebhookReceiver() as receiver:
        receiver.answer("hang", times=2)
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.post(receiver.url, timeout=0.1)
        receiver.wait_for(lambda seen: seen[0].outcome == "disconnected")
        answers: list[int] = []
        sender = threading.Thread(target=lambda: answers.append(httpx2.post(receiver.url).status_code))
        sender.start()
        receiver.wait_for_requests(2)
        receiver.release()
        sender.join(10)
    assert answers == [200]


def test_as_a_process_it_logs_and_is_steered(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    command = [sys.executable, "-m", "homing.testing.webhook_receiver", "--log", str(log), "--answers", "500,close"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process, httpx2.Client() as client:
        try:
            assert process.stdout
            url = json.loads(process.stdout.readline())["url"]
            control = url.replace("/hook", "/__receiver__")
            assert client.post(url, content="not json").status_code == 500
            with pytest.raises(httpx2.RemoteProtocolError):
                client.post(url)
            assert client.post(f"{control}/answers", json=[404]).status_code == 200
            assert client.post(f"{control}/answers", json=["nonsense"]).status_code == 400
            assert client.post(url).status_code == 404
            seen = client.get(f"{control}/log?wait_for=3").json()["requests"]
            assert [request["outcome"] for request in seen] == ["status 500", "closed", "status 404"]
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
        finally:
            process.kill()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == 6
    assert lines[0]["text"] == "not json"
