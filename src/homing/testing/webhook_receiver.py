"""A receiver of webhooks on loopback: keeps every request whole and answers as it was told.

In process: `with WebhookReceiver() as receiver`. As a process:
`python -m homing.testing.webhook_receiver --log FILE --answers 500,500,hang`, steered through `/__receiver__/`.
"""

import argparse
import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, cast

from homing.testing.control import refuse_unknown, show_log
from homing.testing.logged_server import LoggedServer
from homing.testing.loopback import Exchange
from homing.testing.process import run_until_told

How: TypeAlias = int | Literal["hang", "close"]
"""An HTTP status; or say nothing until released (then 200); or close the connection without a word."""

_CONTROL = "/__receiver__/"


@dataclass(frozen=True, kw_only=True)
class _Answer:
    how: How
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class WebhookReceiver(LoggedServer):
    """Answers 200 unless told otherwise."""

    def __init__(self, *, port: int = 0, log: Path | None = None) -> None:
        super().__init__(self._serve, port=port, log=log)
        self._lock = threading.Lock()
        self._answers: list[_Answer] = []
        self._default = _Answer(how=200)

    @property
    def url(self) -> str:
        """Where to send; any path below it is taken as well."""
        return f"{self._server.url}/hook"

    def answer(self, *hows: How, times: int = 1, headers: Mapping[str, str] | None = None) -> None:
        """Say how the next requests are answered, one after the other."""
        with self._lock:
            self._answers.extend([_Answer(how=how, headers=headers or {}) for how in hows] * times)

    def otherwise(self, how: How) -> None:
        """Say how requests are answered when nothing else is scripted."""
        with self._lock:
            self._default = _Answer(how=how)

    def release(self) -> None:
        """Answer what hangs."""
        self._server.call(self._gates.release)

    async def _serve(self, exchange: Exchange) -> None:
        request = exchange.request
        if request.path.startswith(_CONTROL):
            await self._control(exchange, request.path.removeprefix(_CONTROL))
            return
        answer = self._next_answer()
        gate = self._gates.enter(answer.how == "hang")
        number = self._log.arrive(
            protocol="webhook", path=request.path, headers=request.headers, text=request.body.decode()
        )
        outcome = "disconnected"
        try:
            await gate.wait()
            outcome = _send(exchange, answer)
        finally:
            self._gates.leave(gate)
            self._log.finish(number, outcome)

    def _next_answer(self) -> _Answer:
        with self._lock:
            return self._answers.pop(0) if self._answers else self._default

    async def _control(self, exchange: Exchange, verb: str) -> None:
        request = exchange.request
        match request.method, verb:
            case "POST", "answers":
                self._take_answers(exchange)
            case "POST", "release":
                self._gates.release()
                exchange.answer_json(200, {"released": True})
            case "GET", "log":
                await show_log(exchange, self._log)
            case _:
                refuse_unknown(exchange, "POST answers", "POST release", "GET log")

    def _take_answers(self, exchange: Exchange) -> None:
        """The body is a list such as `[500, "hang", 200]`."""
        try:
            self.answer(*_read_hows(cast("list[object]", json.loads(exchange.request.body))))
        except (ValueError, TypeError) as error:
            exchange.answer_json(400, {"detail": str(error)})
        else:
            exchange.answer_json(200, {"taken": True})


def _send(exchange: Exchange, answer: _Answer) -> str:
    match answer.how:
        case "close":
            exchange.cut()
            return "closed"
        case "hang":
            exchange.answer(200, b"", answer.headers)
            return "status 200"
        case int(status):
            exchange.answer(status, b"", answer.headers)
            return f"status {status}"


def _read_hows(words: Iterable[object]) -> list[How]:
    return [_read_how(str(word)) for word in words]


def _read_how(word: str) -> How:
    if word in ("hang", "close"):
        return word
    if word.isdigit() and 200 <= int(word) <= 599:
        return int(word)
    raise ValueError(f"A receiver answers with an HTTP status from 200 to 599, with hang or with close, not {word!r}.")


def main() -> None:
    """Run the receiver until it is told to end; print one line that says where it is."""
    parser = argparse.ArgumentParser(prog="python -m homing.testing.webhook_receiver", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--log", type=Path, help="append every request to this file, as JSON lines")
    parser.add_argument("--answers", default="", help="how to answer the first requests: 500,404,hang,close")
    options = parser.parse_args()
    hows = _read_hows(word for word in options.answers.split(",") if word)
    with WebhookReceiver(port=options.port, log=options.log) as receiver:
        receiver.answer(*hows)
        run_until_told({"url": receiver.url})


if __name__ == "__main__":
    main()
