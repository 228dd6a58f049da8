"""A model server for tests: speaks OpenAI's and Anthropic's real protocols on loopback and says what it is told to.

In process: `with StubModelServer() as stub`. As a process: `python -m homing.testing.stub_server --log FILE`, steered
through `/__stub__/`. Every request is kept whole, so that a test can prove what the model was shown, and how often.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from homing.testing.answering import answer
from homing.testing.anthropic_wire import AnthropicWire
from homing.testing.control import refuse_unknown, show_log
from homing.testing.logged_server import LoggedServer
from homing.testing.loopback import Exchange
from homing.testing.openai_wire import OpenAIWire
from homing.testing.process import run_until_told
from homing.testing.replies import Fault, Reply, WireMessage
from homing.testing.script import Script
from homing.testing.script_file import ScriptFile
from homing.testing.wires import Wire

_CONTROL = "/__stub__/"


class StubModelServer(LoggedServer):
    """The stub. `reply`, `when`, `fail` and `otherwise` are the script's own."""

    def __init__(self, *, port: int = 0, log: Path | None = None, script: Script | None = None) -> None:
        self.script = script or Script()
        self.reply = self.script.reply
        self.when = self.script.when
        self.fail = self.script.fail
        self.otherwise = self.script.otherwise
        super().__init__(self._serve, port=port, log=log)
        self.key: str | None = None
        """The only key that it takes; None takes any."""
        self.models = ("stub-small", "stub-large")
        """What it lists as its models; it answers for any."""
        self._wires: Mapping[str, Wire] = {"/v1/chat/completions": OpenAIWire(), "/v1/messages": AnthropicWire()}

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def openai_url(self) -> str:
        """The base URL for an OpenAI client."""
        return f"{self.url}/v1"

    @property
    def anthropic_url(self) -> str:
        """The base URL for an Anthropic client."""
        return self.url

    def environment(self) -> dict[str, str]:
        """Give the variables that send another process's model calls here."""
        return {
            "OPENAI_BASE_URL": self.openai_url,
            "OPENAI_API_KEY": "stub",
            "ANTHROPIC_BASE_URL": self.anthropic_url,
            "ANTHROPIC_API_KEY": "stub",
        }

    def release(self, gate: str | None = None) -> None:
        """Let held replies go: those at a named gate, now and later, or all that are held now."""
        self._server.call(lambda: self._gates.release(gate))

    async def _serve(self, exchange: Exchange) -> None:
        path = exchange.request.path
        if path.startswith(_CONTROL):
            await self._control(exchange, path.removeprefix(_CONTROL))
        elif path == "/v1/models" and exchange.request.method == "GET":
            exchange.answer_json(200, {"object": "list", "data": [{"id": model} for model in self.models]})
        elif wire := self._wires.get(path):
            await self._serve_model(exchange, wire)
        else:
            known = ", ".join(self._wires)
            exchange.answer_json(404, {"error": {"message": f"The stub speaks {known}, not {path}."}})

    async def _serve_model(self, exchange: Exchange, wire: Wire) -> None:
        request = exchange.request
        try:
            body = json.loads(request.body)
            messages = wire.read(body)
        except (ValueError, KeyError, TypeError) as error:
            broken = Fault(kind=400, message=f"The stub cannot read this request: {error!r}")
            exchange.answer_json(400, wire.error(400, broken))
            return
        reply = self._choose(messages) if (refused := self._wrong_key(request.headers)) is None else refused
        # The gate is there before anybody can learn of the request: a release right after that finds it.
        gate = self._gates.enter(reply.hold)
        number = self._log.arrive(
            protocol=wire.name,
            path=request.path,
            headers=request.headers,
            text=request.body.decode(),
            messages=messages,
        )
        outcome = "disconnected"
        try:
            outcome = await answer(exchange, wire, body, reply, gate)
        finally:
            self._gates.leave(gate)
            self._log.finish(number, outcome)

    def _wrong_key(self, headers: Mapping[str, str]) -> Reply | None:
        given = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        if self.key is None or given == self.key:
            return None
        return Reply(fault=Fault(kind=401, message=f"Incorrect API key provided: {given}."))

    def _choose(self, messages: Sequence[WireMessage]) -> Reply:
        try:
            return self.script.choose(messages)
        except Exception as error:  # noqa: BLE001 - a test's own function may raise anything; the client must hear of it
            return Reply(fault=Fault(kind=500, message=f"The script's function failed: {error!r}"))

    async def _control(self, exchange: Exchange, verb: str) -> None:
        request = exchange.request
        match request.method, verb:
            case "POST", "script":
                self._take_script(exchange)
            case "POST", "release":
                self._gates.release(json.loads(request.body or b"{}").get("gate"))
                exchange.answer_json(200, {"released": True})
            case "GET", "log":
                await show_log(exchange, self._log)
            case _:
                refuse_unknown(exchange, "POST script", "POST release", "GET log")

    def _take_script(self, exchange: Exchange) -> None:
        try:
            ScriptFile.model_validate_json(exchange.request.body).write_to(self.script)
        except ValueError as error:
            exchange.answer_json(400, {"detail": f"This is not a script: {error}"})
        else:
            exchange.answer_json(200, {"taken": True})


def main() -> None:
    """Run the stub until it is told to end; print one line that says where it is."""
    parser = argparse.ArgumentParser(prog="python -m homing.testing.stub_server", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--log", type=Path, help="append every request to this file, as JSON lines")
    parser.add_argument("--script", type=Path, help="what to answer, as JSON")
    options = parser.parse_args()
    script = Script()
    if options.script:
        ScriptFile.model_validate_json(options.script.read_bytes()).write_to(script)
    with StubModelServer(port=options.port, log=options.log, script=script) as stub:
        run_until_told({"url": stub.url, "openai_url": stub.openai_url, "anthropic_url": stub.anthropic_url})


if __name__ == "__main__":
    main()
