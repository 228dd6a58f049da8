"""The agent's journal, kept as step rows. Each write first holds the turn under its fence: no row, no write."""

import json
from collections.abc import Callable, Mapping, Sequence

from homing.agent.history import dump_response, load_response
from homing.agent.journal import KeptStep, LiveStep, LiveText, Response, ToolCall
from homing.agent.prices import usage_of_call
from homing.agent.sources import outside_result
from homing.engine.attribution import shown
from homing.engine.claims import Claim
from homing.engine.opening import Opened
from homing.model.errors import Lost, ModelFailed, OverBudget
from homing.model.messages import NewMessage
from homing.model.turns import (
    MODEL_CALLS,
    CalledTool,
    CallUsage,
    Inbound,
    Step,
    Turn,
    about_call,
    called_tools,
    may_inject,
    usage_of,
)
from homing.model.usage import NO_JOB, CallKey, day_of
from homing.model.words import RETRY_CAUSES
from homing.operations.budgets import Ceilings, find_beyond
from homing.settings import Settings
from homing.store import Store, Tx, inbounds, sessions, steps, turns, usage
from homing.store.steps import Done

QUIET = "nothing_to_report"


class StepJournal:
    """Keeps one turn's steps for as long as its claim lasts."""

    def __init__(self, store: Store, opened: Opened, claim: Claim, kept: Sequence[Step], settings: Settings) -> None:
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
        self._calls = sum(step.kind in MODEL_CALLS for step in kept)
        self.zone = settings.timezone
        """Of the user, whose day a call counts for."""
        self._settings = settings
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

    async def check_budget(self) -> None:
        """Rule 37: look at the ceilings before each model call, unless a person asked for this turn."""
        turn = self.opened.turn
        if turn.acts_as == "person":
            return
        job_usd, user_usd = turn.policy.max_cost_usd_per_day, self._settings.budget_usd_per_day
        ceilings = Ceilings(job_usd=job_usd, user_usd=user_usd)
        if not ceilings.any:
            return
        # One call without a price is one too many: what it cost is not in the sums.
        unpriced = turn.model if self.usage.cost_nano_usd is None else None
        beyond = await self._store.read(
            lambda tx: find_beyond(
                tx, ceilings, self._settings, user_id=turn.user_id, job_id=turn.job_id, unpriced=unpriced
            )
        )
        if beyond is not None:
            raise OverBudget(beyond.words, permanent=True)

    async def model_done(self, response: Response, *, name: str, duration_ms: int) -> None:
        used = usage_of_call(response, name)
        result = dump_response(response)
        n = self._next()

        def work(tx: Tx) -> None:
            turn = self._hold(tx)
            steps.add_step(
                tx,
                self.turn_id,
                n,
                kind="model",
                name=name,
                key=str(n),
                result=result,
                duration_ms=duration_ms,
                usage=used,
            )
            steps.made_progress(tx, turn)
            self._add_up(tx, used)

        await self._store.write(work)
        self._used(used)

    async def model_retried(
        self, failed: ModelFailed, *, name: str, n: int, duration_ms: int, wait_seconds: float
    ) -> None:
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
                result=failed.detail,
                failed=True,
                duration_ms=duration_ms,
            )

        await self._store.write(work)
        why = RETRY_CAUSES.get(failed.cause, RETRY_CAUSES[None])
        # Without the provider's words: those are for the turn's own page, not for a chat (rule 26).
        self._say("retry", {"n": n, "name": name, "wait_seconds": wait_seconds, "why": why})

    async def summary_done(self, used: CallUsage, keep: Callable[[Tx], object] | None) -> None:
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
                usage=used,
            )
            self._add_up(tx, used)

        await self._store.write(work)
        self._used(used)

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
            turn = self._hold(tx)
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
            steps.made_progress(tx, turn, outside=outside_result(call.name, result))

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
            turn = self._hold(tx)
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
            steps.made_progress(tx, turn, outside=outside_result(call.name, done.text))
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
            said = [_injected(turn, inbound) for inbound in taken]
            sessions.append_messages(tx, said)
            texts = [shown(message, self.opened.participants)[1] for message in said]
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

    def _add_up(self, tx: Tx, used: CallUsage) -> None:
        """Add a call to the sums, together with its step: neither is there without the other."""
        turn = self.opened.turn
        key = CallKey(
            user_id=turn.user_id,
            job_id=turn.job_id or NO_JOB,
            session_id=self.opened.parent_id or turn.session_id,
            agent_id=turn.agent_id,
            model=turn.model,
        )
        day = day_of(tx.now(), self.zone)
        usage.add_call(tx, key, day, used, first=self._calls == 0, run=turn.run_id is not None)

    def _used(self, used: CallUsage) -> None:
        self.usage += used
        self._calls += 1

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


def _injected(turn: Turn, inbound: Inbound) -> NewMessage:
    sender: dict[str, object] = {"sender_id": inbound.sender_id} if inbound.sender_id else {}
    return NewMessage(
        session_id=turn.session_id,
        lane_id=turn.lane_id,
        role="user",
        kind="chat",
        text=inbound.text,
        turn_id=turn.id,
        inbound_id=inbound.id,
        meta={**inbound.meta, "injected": True, **sender},
        files=inbound.files,
    )
