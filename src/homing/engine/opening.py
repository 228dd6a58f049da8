"""Open: the head of a free lane becomes a running turn, with its opening, run and prompt, in one transaction."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Literal, cast

from homing.agent.frames import TRIGGERED
from homing.agent.sources import GUEST, is_approval, outside_source
from homing.engine.attribution import Participants, has_names, notes_shown, participants_of
from homing.engine.claims import Claim
from homing.engine.prompts import about_night, about_run, prompt_text, run_prompt
from homing.model.agents import Agent
from homing.model.dreams import KEY as DREAM
from homing.model.ids import new_id
from homing.model.messages import Kind, NewMessage
from homing.model.people import Source
from homing.model.runs import Rendered
from homing.model.sessions import Session
from homing.model.trials import TRIAL, is_trial, trial_turn_id
from homing.model.turns import Inbound, Policy, Turn
from homing.operations.budgets import Ceilings, StoppedRun, find_beyond, tell_person
from homing.operations.context import Instance
from homing.operations.dreams import Night, look_back
from homing.operations.firing import GATE
from homing.operations.models import default_model
from homing.operations.shapes.base import utc
from homing.store import Tx, agents, inbounds, jobs, lanes, maintenance, people, runs, sessions, turns
from homing.store.lanes import Head
from homing.store.runs import RunSpec

_KINDS: Mapping[str, Kind] = {"person": "chat", "run": "scheduled", "report": "report"}
_PROVENANCE = "cron_turn"


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A turn this worker holds now, fresh or taken up again."""

    turn: Turn
    session_key: str
    parent_id: int | None
    """The bound session of an isolated run."""
    opening: str
    """As people see it; the turn's prompt is what the model gets instead."""
    notes: tuple[str, ...]
    """What was inserted into the conversation before, and this turn includes."""
    participants: Participants
    meta: Mapping[str, object]
    taken_up: bool = False
    now: datetime

    @property
    def text(self) -> str:
        """All that the turn began with, in plain words."""
        return "\n\n".join([*self.notes, self.opening])


Found = Opened | StoppedRun | Literal["empty", "held"]


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """All that is known of a turn before its rows are written."""

    turn_id: str
    head: Head
    session: Session
    agent: Agent
    task: RunSpec | None
    rendered: Rendered | None
    messages: tuple[NewMessage, ...]
    meta: Mapping[str, object]
    participants: Participants
    until_n: int | None
    """Of memory upkeep: the last message that it is shown."""

    @property
    def run(self) -> RunSpec | None:
        """The run that opens with it: a trial has the same task, and no run."""
        return None if is_trial(self.head.inbound.meta) else self.task


def open_lanes(tx: Tx, wants: Sequence[tuple[int, Claim]], instance: Instance) -> list[Found]:
    """Open the head of each lane, or take up its open turn whose claim ran out."""
    # Of several who ask for one lane at once the first gets it.
    claims = dict(reversed(wants))
    involved = set(claims) | lanes.touched_by_opening(tx, list(claims))
    sessions.lock(tx, involved)
    now = tx.now()
    found: dict[int, Found] = {}
    stale = lanes.stale_among(tx, list(claims))
    # Rule 62: an outside engine takes up its own turns at once, others only when none of its workers beats any more.
    deserted = any(vouched and claims[lane_id].seconds is not None for lane_id, vouched in stale) and not (
        maintenance.outside_engine_beats(tx)
    )
    for lane_id, vouched in stale:
        if vouched and claims[lane_id].seconds is not None and not deserted:
            continue
        if taken := _take_up(tx, lane_id, claims[lane_id], now, vouched=vouched):
            found[lane_id] = taken
    heads = lanes.take_heads(tx, [lane_id for lane_id in claims if lane_id not in found])
    # A chat that came in after our look is not locked by us: the next look has it.
    heads = [_within(head, involved) for head in heads if head.inbound.session_id in involved]
    found |= _open(tx, heads, claims, instance, now)
    busy = lanes.busy(tx, [lane_id for lane_id in claims if lane_id not in found])
    return [
        found.get(lane_id, "held" if lane_id in busy else "empty")
        if claims[lane_id] is claim or lane_id not in found
        else "held"
        for lane_id, claim in wants
    ]


def _within(head: Head, involved: Collection[int]) -> Head:
    return Head(inbound=head.inbound, notes=[note for note in head.notes if note.session_id in involved])


def _take_up(tx: Tx, lane_id: int, claim: Claim, now: datetime, *, vouched: bool) -> Opened | None:
    turn = turns.take_over(tx, lane_id, claim.worker_id, _until(claim, now), vouched=vouched)
    if turn is None:
        return None
    opening = turns.opening_of(tx, turn)
    session = sessions.get(tx, turn.session_id)
    notes = tuple(inbound.text for inbound in inbounds.inbound_of_turn(tx, turn.id) if inbound.line == "note")
    # Its steps are read only after this transaction has committed our fence: until then the old worker may add one.
    return Opened(
        turn=turn,
        session_key=session.key,
        parent_id=session.parent_id,
        opening=opening.text,
        notes=notes,
        participants=_company(tx, session, turn.policy.history_lane),
        meta=opening.meta,
        taken_up=True,
        now=now,
    )


def _until(claim: Claim, now: datetime) -> datetime | None:
    return None if claim.seconds is None else now + timedelta(seconds=claim.seconds)


def _open(
    tx: Tx, heads: Sequence[Head], claims: Mapping[int, Claim], instance: Instance, now: datetime
) -> dict[int, Opened | StoppedRun]:
    if not heads:
        return {}
    plans = _plan(tx, heads, instance, now)
    stopped = {plan.head.inbound.lane_id: run for plan in plans if (run := _stopped(tx, plan, instance))}
    plans = [plan for plan in plans if plan.head.inbound.lane_id not in stopped]
    if not plans:
        return dict(stopped)
    seqs, revisions = sessions.append_messages(
        tx,
        [message for plan in plans for message in plan.messages],
        # A run is a row of the bound session, also while it works in a session of its own.
        also={plan.run.session_id for plan in plans if plan.run is not None},
    )
    opening_seqs = [seqs[end - 1] for end in accumulate(len(plan.messages) for plan in plans)]
    new_turns = [
        _new_turn(plan, claims[plan.head.inbound.lane_id], instance, now, seq)
        for plan, seq in zip(plans, opening_seqs, strict=True)
    ]
    turns.open_turns(tx, [(turn, plan.head) for turn, plan in zip(new_turns, plans, strict=True)])
    runs.open_runs(
        tx,
        [
            (turn, plan.rendered, revisions[plan.run.session_id].rev)
            for plan, turn in zip(plans, new_turns, strict=True)
            if plan.run is not None and plan.rendered is not None
        ],
    )
    opened = [_opened(plan, new, now) for plan, new in zip(plans, new_turns, strict=True)]
    if instance.settings.budget_usd_per_day is not None:
        # By user, as everybody who may wait here for another's announcement.
        for plan in sorted(plans, key=lambda plan: plan.session.user_id):
            if plan.head.inbound.source == "person":
                tell_person(
                    tx,
                    instance.settings,
                    user_id=plan.session.user_id,
                    session=plan.session,
                    lane_id=plan.head.inbound.lane_id,
                )
    tx.ring(*{f"user:{plan.session.user_id}" for plan in plans})
    return {**stopped, **{one.turn.lane_id: one for one in opened}}


def _stopped(tx: Tx, plan: _Plan, instance: Instance) -> StoppedRun | None:
    """Rule 37: a run beyond a ceiling does not open. It is skipped in a transaction that locks its job first."""
    task, settings = plan.run, instance.settings
    if task is None:
        return None
    ceilings = Ceilings(job_usd=task.max_cost_usd_per_day, user_usd=settings.budget_usd_per_day)
    if not ceilings.any:
        return None
    user_id, model = plan.head.inbound.user_id, _model(plan, instance)
    unpriced = None if instance.has_price(model) else model
    beyond = find_beyond(tx, ceilings, settings, user_id=user_id, job_id=task.job_id, unpriced=unpriced)
    if beyond is None:
        return None
    return StoppedRun(run_id=task.run_id, job_id=task.job_id, user_id=user_id, beyond=beyond)


def _model(plan: _Plan, instance: Instance) -> str:
    """The one precedence: the automation's, the conversation's, the agent's, the server's."""
    named = (plan.task.model if plan.task else None) or plan.session.model or plan.agent.model
    return named or default_model(instance, plan.agent.server_model)


def _plan(tx: Tx, heads: Sequence[Head], instance: Instance, now: datetime) -> list[_Plan]:
    chats = sessions.get_many(tx, {head.inbound.session_id for head in heads})
    known = agents.get_many(tx, {chat.agent_id for chat in chats.values()})
    tasks = runs.run_specs(tx, [head.inbound.run_id for head in heads if head.inbound.run_id])
    plans: list[_Plan] = []
    for head in heads:
        inbound = head.inbound
        session = chats[inbound.session_id]
        task = tasks.get(inbound.run_id) if inbound.run_id else _tried(tx, inbound)
        participants = _company(tx, session, _history_lane(inbound))
        agent = known[session.agent_id]
        night = look_back(tx, inbound.user_id) if task and task.system_key == DREAM else None
        rendered = _rendered(task, inbound, participants, agent, now, night) if task else None
        turn_id = trial_turn_id(inbound.id) if is_trial(inbound.meta) else new_id("turn")
        meta = _meta(inbound, task, rendered)
        plans.append(
            _Plan(
                turn_id=turn_id,
                head=head,
                session=session,
                agent=agent,
                task=task,
                rendered=rendered,
                meta=meta,
                participants=participants,
                until_n=night.until_n if night else None,
                messages=(
                    *(_note_message(note, turn_id) for note in head.notes),
                    _opening_message(inbound, task, turn_id, meta),
                ),
            )
        )
    return plans


def _tried(tx: Tx, inbound: Inbound) -> RunSpec | None:
    """Give what a trial does: the job's work, as if it ran by hand now, with the words that are tried."""
    job = jobs.get(tx, inbound.job_id) if is_trial(inbound.meta) and inbound.job_id else None
    if job is None:
        return None
    payload = job.payload
    return RunSpec(
        run_id="",
        job_id=job.id,
        session_id=job.session_id,
        trigger="manual",
        scheduled_for=inbound.queued_at,
        queued_at=inbound.queued_at,
        missed_count=0,
        revision=job.revision,
        tz=job.timing.schedule.tz,
        job_name=job.name,
        message=inbound.text,
        context=payload.context,
        model=payload.model,
        thinking=payload.thinking,
        timeout_seconds=payload.timeout_seconds,
        quiet=job.quiet,
        may_schedule=job.may_schedule,
        max_cost_usd_per_day=job.max_cost_usd_per_day,
        last_status=job.last_status,
        last_run_at=job.last_run_at,
        last_error=job.last_error,
        last_note=job.last_note,
        last_note_at=job.last_note_at,
        isolated=job.isolated,
        system_key=None,
    )


def _rendered(
    task: RunSpec, inbound: Inbound, participants: Participants, agent: Agent, now: datetime, night: Night | None
) -> Rendered:
    found = cast(Mapping[str, object], inbound.meta.get(GATE, {})).get("data")
    about = about_run(task, now, participants.asked_by(inbound.sender_id), found)
    if night is not None:
        return run_prompt(task, about_night(task, now, night))
    # Of a checklist counts what its agent says now, as for the rest of the turn.
    return run_prompt(task, about | {"checklist": agent.heartbeat.get("checklist")} if task.system else about)


def _meta(inbound: Inbound, task: RunSpec | None, rendered: Rendered | None) -> dict[str, object]:
    """Rule 25: what a scheduled opening and its closing carry; others say where they came from."""
    sender: dict[str, object] = {"sender_id": inbound.sender_id} if inbound.sender_id else {}
    if task is not None and rendered is not None:
        return {
            _PROVENANCE: True,
            "cron_job_id": task.job_id,
            "cron_job_name": task.job_name,
            "cron_run_id": task.run_id,
            "cron_prompt_ref": rendered.ref,
            "cron_trigger": task.trigger,
            "cron_due_at": utc(task.scheduled_for),
        } | sender
    meta = {key: value for key, value in inbound.meta.items() if key != "count"}
    if inbound.source != "person":
        meta |= {"source": inbound.source}
    return meta | sender


def _opening_message(inbound: Inbound, task: RunSpec | None, turn_id: str, meta: Mapping[str, object]) -> NewMessage:
    text = _triggered(task) if task else inbound.text
    return NewMessage(
        session_id=inbound.session_id,
        lane_id=inbound.lane_id,
        role="user",
        kind=_KINDS.get("run" if is_trial(inbound.meta) else inbound.source, "note"),
        text=text,
        turn_id=turn_id,
        inbound_id=inbound.id,
        job_id=inbound.job_id,
        run_id=inbound.run_id,
        meta=meta,
        files=inbound.files,
    )


def _triggered(task: RunSpec) -> str:
    """Rule 25. What a system job asks of the model is nobody's message, so the chat does not show it."""
    return f"{TRIGGERED}{task.job_name}" + ("" if task.system else f"\n\n{task.message}")


def _note_message(note: Inbound, turn_id: str) -> NewMessage:
    return NewMessage(
        session_id=note.session_id,
        lane_id=note.lane_id,
        role="user",
        kind="note",
        text=note.text,
        turn_id=turn_id,
        inbound_id=note.id,
        job_id=note.job_id,
        meta={**note.meta, "source": note.source},
        files=note.files,
    )


def _new_turn(plan: _Plan, claim: Claim, instance: Instance, now: datetime, opening_seq: int) -> Turn:
    task, inbound = plan.task, plan.head.inbound
    ceiling = task.timeout_seconds if task else instance.settings.turn_seconds
    *notes, opening = plan.messages
    body = plan.rendered.text if plan.rendered else prompt_text(inbound, opening, plan.participants)
    return Turn(
        id=plan.turn_id,
        lane_id=inbound.lane_id,
        session_id=inbound.session_id,
        user_id=inbound.user_id,
        agent_id=plan.agent.id,
        agent_revision=plan.agent.revision,
        source=inbound.source,
        run_id=inbound.run_id,
        job_id=inbound.job_id,
        worker_id=claim.worker_id,
        claimed_until=_until(claim, now),
        deadline_at=now + timedelta(seconds=ceiling) if ceiling else None,
        address=inbound.address,
        sender_id=inbound.sender_id,
        depth=_depth(plan.head),
        model=_model(plan, instance),
        thinking=(task.thinking if task else None) or plan.agent.thinking,
        prompt="\n\n".join([*notes_shown(notes, plan.participants), body]),
        policy=_tried_policy(replace(_policy(task, inbound, plan.messages), until_n=plan.until_n), inbound),
        opening_seq=opening_seq,
        opened_at=now,
    )


def _depth(head: Head) -> int:
    """As deep as the deepest of what it takes; notes make no person's turn deeper (rule 35)."""
    if head.inbound.source == "person":
        return head.inbound.depth
    return max(inbound.depth for inbound in (head.inbound, *head.notes))


def _policy(task: RunSpec | None, inbound: Inbound, messages: Sequence[NewMessage]) -> Policy:
    outside = next(filter(None, map(outside_source, reversed(messages))), None)
    if task is None:
        # Rule 46: the end of an approval opens a turn with the rights of the one that asked.
        rights = cast("Source | None", inbound.meta.get("rights")) if is_approval(messages[-1]) else None
        may_schedule = rights is not None and inbound.meta.get("may_schedule") is True
        guest = inbound.meta.get(GUEST) is True
        return Policy(outside=outside, rights=rights, may_schedule=may_schedule, guest=guest)
    return Policy(
        revision=task.revision,
        trigger=task.trigger,
        quiet=task.quiet,
        may_schedule=task.may_schedule,
        max_cost_usd_per_day=task.max_cost_usd_per_day,
        context=task.context,
        job_name=task.job_name,
        message=None if task.system else task.message,
        system=task.system_key,
        outside=outside,
        gated=GATE in inbound.meta,
    )


def _tried_policy(policy: Policy, inbound: Inbound) -> Policy:
    """A trial has the rights of the run that it stands for."""
    if not is_trial(inbound.meta):
        return policy
    return replace(policy, rights="run", trial=True, history_lane=_history_lane(inbound))


def _history_lane(inbound: Inbound) -> int | None:
    return cast("Mapping[str, int | None]", inbound.meta.get(TRIAL, {})).get("history_lane")


def _opened(plan: _Plan, turn: Turn, now: datetime) -> Opened:
    return Opened(
        turn=turn,
        session_key=plan.session.key,
        parent_id=plan.session.parent_id,
        opening=plan.messages[-1].text,
        notes=tuple(note.text for note in plan.head.notes),
        participants=plan.participants,
        meta=plan.meta,
        now=now,
    )


def heard_in(tx: Tx, session: Session, history_lane: int | None) -> Session:
    """Find the session whose people a turn hears: of a trial that sees a conversation, that conversation's."""
    return session if history_lane is None or session.parent_id is None else sessions.get(tx, session.parent_id)


def _company(tx: Tx, chat: Session, history_lane: int | None) -> Participants:
    session = heard_in(tx, chat, history_lane)
    return participants_of(session, people.get_user(tx, session.user_id) if has_names(session) else None)
