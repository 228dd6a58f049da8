"""A journal in memory that keeps what the engine would keep, and can die at any of its writes."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from pydantic_ai.messages import ModelResponse

from homing.agent.history import dump_response, load_response
from homing.agent.journal import Ask, KeptStep, LiveStep, LiveText, Tool, ToolCall
from homing.model.errors import ModelFailed


class Dead(BaseException):
    """The process is gone."""


class MemoryJournal:
    def __init__(self, kept: Sequence[KeptStep] = (), *, die_at: int | None = None, die_after: bool = False) -> None:
        self.steps = list(kept)
        self.inbox: list[str] = []
        self.told: list[LiveText | LiveStep] = []
        self.retries: list[tuple[str, float]] = []
        self.open = True
        self.writes = 0
        self._die_at = die_at
        self._die_after = die_after

    async def model_done(self, response: ModelResponse, *, name: str, duration_ms: int) -> None:
        # Kept as text, as a database would.
        kept = load_response(dump_response(response))
        await self._write(lambda: self._add("model", name, key=str(len(self.steps)), response=kept))

    async def model_retried(
        self, failed: ModelFailed, *, name: str, n: int, duration_ms: int, wait_seconds: float
    ) -> None:
        self.retries.append((failed.detail, wait_seconds))

    async def tool_begun(self, call: ToolCall) -> None:
        await self._write(lambda: self._add("tool", call.name, key=call.key, done=False))

    async def tool_done(self, call: ToolCall, result: str, *, failed: bool, duration_ms: int) -> None:
        await self._write(lambda: self.finish(call, result, failed=failed))

    async def check_budget(self) -> None:
        pass

    async def take_injected(self) -> Sequence[str]:
        taken: list[str] = []

        def take() -> None:
            while self.inbox:
                taken.append(self.inbox.pop(0))
                self._add("inject", "inject", key=str(len(self.steps)), result=taken[-1])

        await self._write(take)
        return taken

    async def tell(self, live: LiveText | LiveStep) -> None:
        self.told.append(live)

    def may_call(self) -> bool:
        return self.open

    async def write_own(self, deed: Callable[[], None]) -> None:
        """Commit an operation together with its step."""
        await self._write(deed)

    def finish(self, call: ToolCall, result: str, *, failed: bool = False) -> None:
        for i, step in enumerate(self.steps):
            if step.kind == "tool" and step.key == call.key:
                assert not step.done, "a finished step was written twice"
                self.steps[i] = KeptStep(
                    n=step.n, kind="tool", name=call.name, key=call.key, done=True, result=result, failed=failed
                )
                return
        self._add("tool", call.name, key=call.key, result=result, failed=failed)

    @property
    def live_texts(self) -> list[LiveText]:
        return [live for live in self.told if isinstance(live, LiveText)]

    def shown(self) -> str:
        """What a listener sees in the end."""
        text = ""
        for live in self.live_texts:
            text = live.text if live.whole else text + live.text
        return text

    def result_of(self, name: str) -> str | None:
        return next((step.result for step in self.steps if step.kind == "tool" and step.name == name), None)

    def _add(self, kind, name, *, key, done=True, response=None, result=None, failed=False) -> None:
        self.steps.append(
            KeptStep(
                n=len(self.steps) + 1,
                kind=kind,
                name=name,
                key=key,
                done=done,
                response=response,
                result=result,
                failed=failed,
            )
        )

    async def _write(self, deed: Callable[[], None]) -> None:
        # Every real journal lets other tasks run here.
        await asyncio.sleep(0)
        self.writes += 1
        if self.writes == self._die_at and not self._die_after:
            raise Dead
        deed()
        if self.writes == self._die_at:
            raise Dead


def tool(name: str, run: Callable[[ToolCall], Awaitable[str]] | str = "done", **options) -> Tool:
    async def answer(call: ToolCall) -> str:
        return run if isinstance(run, str) else await run(call)

    return Tool(
        name=name, description=f"Does {name}.", parameters={"type": "object", "properties": {}}, run=answer, **options
    )


def ask(prompt: str = "hello", **options) -> Ask:
    given = {"model": "scripted", "instructions": "Be brief.", "history": (), "tools": ()}
    return Ask(prompt=prompt, **{**given, **options})
