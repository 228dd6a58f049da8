"""The agent's journal, kept as step rows. Each write first holds the turn under its fence: no row, no write."""

import json
from collections.abc import Callable, Mapping, Sequence

from homing.agent.history import dump_response, load_response
from homing.agent.journal import KeptStep, LiveStep, LiveText, Response, ToolCall
from homing.agent.prices import usage_of_call
from homing.agent.sources import outside_result
from homing.engine.attribution import words
from homing.engine.claims import Claim
from homing.engine.opening import Opened
from homing.model.errors import Lost
from homing.model.messages import NewMessage
from homing.model.turns import CalledTool, Step, Turn, Usage, about_call, called_tools, may_inject, usage_of
from homing.store import Store, Tx, inbounds, sessions, steps, turns
from homing.store.steps import Done

QUIET = "nothing_to_report"


class StepJournal:
    """Keeps one turn's steps for as long as its claim lasts."""

    def __init__(self, store: Store, opened: Opened, claim: Claim, kept: Sequence[Step]) -> None:
        self.opened = opened
        self.claim = claim
        self.cards: list[Mapping[str, object]] = [card for step in kept for card in step.cards]
        self._quiet = [json.loads(step.args or "{}") for step in kept if step.kind == "tool" and step.name == QUIET]
        self.failures: dict[str, str] = {}
        """Tools whose last call failed, with what they said."""
        for step in kept:
            if step.kind == "tool" and step.state == "done":
                self._note(step.name, step.result or "", failed=step.failed)
        self.called = called_tools(kept)
        """Every tool call of this turn in a line, also those that did not work."""
        self.kept = kept_steps(kept)
        self.usage = usage_of(kept)
        """What this turn's model calls used so far."""
        self._store = store
        self._n = max((step.n for step in kept), default=0)
        self._told = 0

    @property
    def turn_id(self) -> str:
        return self.opened.turn.id

    @property
    def quiet_note(self) -> str | None:
        """What the agent said with `nothing_to_report`; None when it did not call it."""
        return str(self._quiet[-1].get("note") or "") if self._quiet else None

    def may_call(self) -> bool:
        return self.claim.alive()

    async def model_done(self, response: Response, *, name: str, duration_ms: int) -> None:
        usage = usage_of_call(response, name)
        result = dump_response(response)
        n = self._next()

        def work(tx: Tx) -> None:
            self._hold(tx)
            steps.add_step(
                tx,
                self.turn_id,
                n,
                kind="model",
                name=name,
                key=str(n),
                result=result,
                duration_ms=duration_ms,
                usage=usage,
            )
            steps.made_progress(tx, self.turn_id)

        await self._store.write(work)
        self.usage += usage

    async def model_retried(self, said: str, *, name: str, n: int, duration_ms: int, wait_seconds: float) -> None:
        kept_as = self._next()
        wait = json.dumps({"wait_seconds": wait_seconds})

        def work(tx: Tx) -> None:
            self._hold(tx)
            steps.add_step(
                tx,
                self.turn_id,
                kept_as,
                kind="retry",
                name=name,
                key=str(kept_as),
                args=wait,
                result=said,
                failed=True,
                duration_ms=duration_ms,
            )

        await self._store.write(work)
        # Without the provider's words: those are for the turn's own page, not for a chat (rule 26).
        self._say("retry", {"n": n, "name": name, "wait_seconds": wait_seconds})

    async def summary_done(self, usage: Usage, keep: Callable[[Tx], object] | None) -> None:
        """Keep what a summary of the earlier conversation used, together with the summary itself, if it was one."""
        n = self._next()

        def work(tx: Tx) -> None:
            if keep is not None:
                keep(tx)
            self._hold(tx)
            steps.add_step(
                tx,
                self.turn_id,
                n,
                kind="summary",
                name=self.opened.turn.model,
                key=str(n),
                result="",
                failed=keep is None,
                usage=usage,
            )

        await self._store.write(work)
        self.usage += usage

    async def tool_begun(self, call: ToolCall) -> None:
        n = self._next()

        def work(tx: Tx) -> None:
            self._hold(tx)
            steps.begin_step(
                tx, self.turn_id, n, kind="tool", name=call.name, key=call.key, args=json.dumps(dict(call.args))
            )

        await self._store.write(work)
        self._count(call, n, failed=None)

    async def tool_done(self, call: ToolCall, result: str, *, failed: bool, duration_ms: int) -> None:
        n = self._next()

        def work(tx: Tx) -> None:
            self._hold(tx)
            known = steps.finish_step(
                tx, self.turn_id, kind="tool", key=call.key, result=result, failed=failed, duration_ms=duration_ms
            )
            if not known:
                steps.add_step(
                    tx,
                    self.turn_id,
                    n,
                    kind="tool",
                    name=call.name,
                    key=call.key,
                    args=json.dumps(dict(call.args)),
                    result=result,
                    failed=failed,
                    duration_ms=duration_ms,
                )
            steps.made_progress(tx, self.turn_id, outside=outside_result(call.name, result))

        await self._store.write(work)
        self._note(call.name, result, failed=failed)
        self._count(call, n, failed=failed, duration_ms=duration_ms)

    async def commit(self, call: ToolCall, work: Callable[[Tx], Done]) -> str:
        """Run one of our own operations together with its step: it can neither double nor be unknown.

        A refusal undoes all of it; the agent then keeps the refusal as the step.
        """
        n = self._next()

        def both(tx: Tx) -> Done:
            before = steps.find(tx, self.turn_id, kind="tool", key=call.key)
            if before is not None and before.state == "done":
                return Done(text=before.result or "")
            done = work(tx)
            # Last, for the order of locks: the work takes jobs and sessions. A lost turn undoes it all the same.
            self._hold(tx)
            steps.add_step(
                tx,
                self.turn_id,
                n,
                kind="tool",
                name=call.name,
                key=call.key,
                args=json.dumps(dict(call.args)),
                result=done.text,
                cards=done.cards,
            )
            steps.made_progress(tx, self.turn_id, outside=outside_result(call.name, done.text))
            return done

        done = await self._store.write(both)
        self._count(call, n, failed=False)
        if call.name == QUIET:
            self._quiet.append(dict(call.args))
        self.cards += done.cards
        return done.text

    async def take_injected(self) -> Sequence[str]:
        """Rule 2: what a person says meanwhile becomes this turn's, on record, before the call that shows it."""
        turn = self.opened.turn
        if turn.source != "person":
            return ()

        def look(tx: Tx) -> bool:
            return any(may_inject(inbound, turn) for inbound in inbounds.injectable(tx, turn))

        if not await self._store.read(look):
            return ()

        def take(tx: Tx) -> list[str]:
            sessions.lock(tx, {turn.lane_id, turn.session_id})
            held = self._hold(tx)
            taken = [
                inbound
                for inbound in inbounds.injectable(tx, turn)
                if may_inject(inbound, held) and inbounds.take_into(tx, turn, inbound)
            ]
            sessions.append_messages(
                tx,
                [
                    NewMessage(
                        session_id=turn.session_id,
                        lane_id=turn.lane_id,
                        role="user",
                        kind="chat",
                        text=inbound.text,
                        turn_id=turn.id,
                        inbound_id=inbound.id,
                        meta={"injected": True} | ({"sender_id": inbound.sender_id} if inbound.sender_id else {}),
                    )
                    for inbound in taken
                ],
            )
            texts = [words(inbound.text, inbound.sender_id, self.opened.participants) for inbound in taken]
            for inbound, text in zip(taken, texts, strict=True):
                steps.add_step(tx, turn.id, self._next(), kind="inject", name="message", key=inbound.id, result=text)
            return texts

        return await self._store.write(take)

    async def tell(self, live: LiveText | LiveStep) -> None:
        self._told += 1
        if isinstance(live, LiveText):
            self.claim.shown = live.text if live.whole else self.claim.shown + live.text
            self._say("text", {"attempt": self.opened.turn.attempts, "n": self._told, **vars(live)})
        else:
            at_work = f"waiting for the {live.kind} {live.name}"
            self.claim.doing = at_work if live.state == "started" else "between two calls"
            self._say("step", vars(live))

    def _say(self, event: str, data: Mapping[str, object]) -> None:
        turn = self.opened.turn
        topics = (f"session:{turn.session_id}", f"user:{turn.user_id}")
        said = {"session_key": self.opened.session_key, "turn_id": turn.id, **data}
        self._store.bell.say(topics, {"event": event, "data": said})

    def _note(self, name: str, result: str, *, failed: bool) -> None:
        self.failures.pop(name, None)
        if failed:
            self.failures[name] = result

    def _count(self, call: ToolCall, n: int, *, failed: bool | None, duration_ms: int | None = None) -> None:
        begun = self.called.get(call.key)
        line = CalledTool(
            n=begun.n if begun else n,
            name=call.name,
            about=about_call(call.args),
            failed=failed,
            duration_ms=duration_ms,
        )
        self.called[call.key] = line

    def _hold(self, tx: Tx) -> Turn:
        if self.claim.reason == "lost":
            raise Lost(f"{self.turn_id} is not mine any more")
        return turns.hold(tx, self.turn_id, self.opened.turn.fence)

    def _next(self) -> int:
        self._n += 1
        return self._n


def kept_steps(kept: Sequence[Step]) -> list[KeptStep]:
    """Give a turn's rows as the mind knows them, without what is only for the record."""
    return [
        KeptStep(
            n=step.n,
            kind=step.kind,
            name=step.name,
            key=step.key,
            done=step.state == "done",
            response=load_response(step.result) if step.kind == "model" and step.result else None,
            result=None if step.kind == "model" else step.result,
            failed=step.failed,
        )
        for step in kept
        if step.kind not in ("summary", "retry")
    ]
