"""Approvals: an agent asks, a person answers, and the agent is told how it ended (rules 46 to 49).

Asking writes row, step and cards in one transaction. The sessions that show an approval are locked before its row.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta

from homing.model.approvals import (
    DENIAL_HOLDS,
    MAX_ASKED,
    MAX_PENDING,
    MAX_REASON,
    OPEN_FOR,
    Approval,
    ApprovalState,
    Audience,
    Ended,
    canonical,
    digest_of,
    one_line,
    shown_args,
)
from homing.model.errors import Conflict, Forbidden, NotFound
from homing.model.ids import new_id
from homing.model.incoming import Contact
from homing.model.messages import NewMessage
from homing.model.sessions import Session, channel_of
from homing.operations.context import Context
from homing.operations.homes import home_of
from homing.operations.reach import may_use
from homing.operations.shapes import cursors
from homing.operations.shapes.approval import (
    AnswerApproval,
    ApprovalRef,
    ApprovalShape,
    ListApprovals,
    warnings_about,
)
from homing.operations.shapes.base import Page
from homing.store import (
    LookAgain,
    Tx,
    agents,
    approvals,
    cards,
    contacts,
    deliveries,
    inbounds,
    lanes,
    people,
    sessions,
    turns,
)
from homing.store.inbounds import NewInbound
from homing.store.sessions import is_screen

BELL = "approvals"
_DAY = timedelta(days=1)
_LONGEST_NAME = 80


@dataclass(frozen=True, kw_only=True)
class Request:
    """What an agent asks for."""

    tool: str
    args: Mapping[str, object]
    title: str
    reason: str | None = None
    audience: Audience = "owner"
    tool_sha256: str | None = None
    """Of the tool's definition, where it may change under the same name."""
    outside: str | None = None
    """The source, in words, of what the model was shown from outside (rule 41)."""
    replaces: str | None = None
    """The open request that ends with this one."""
    only_for_packages: bool = False
    """For packages an agent has one open request at a time."""


def ask(ctx: Context, home: Session, request: Request, *, call_key: str) -> str:
    """Ask a person to allow an action, in the name of the caller's turn; give the words for the model."""
    turn, tx = ctx.caller.turn, ctx.tx
    assert turn is not None
    args = canonical(request.args)
    shown = shown_args(args)
    digest = digest_of(agent_id=turn.agent_id, tool=request.tool, tool_sha256=request.tool_sha256, args=args)
    places = _places(tx, home, request.audience)
    outside = _outside(tx, home, request.audience)
    old = approvals.get(tx, request.replaces) if request.replaces else None
    replaced = lanes_of(tx, old, unified=ctx.settings.unified_session) if old else set[int]()
    lane_id = lanes.enter(tx, home, unified=ctx.settings.unified_session, also={*places, *replaced})
    base_url = ctx.settings.public_url or f"http://{ctx.settings.host}:{ctx.settings.port}"
    _check_home(sessions.get(tx, home.id), turn.agent_id)
    if known := approvals.pending_like(tx, home.id, digest):
        return f"This was asked before ({known.id}) and waits for an answer. Do not ask again; you will be told here."
    now = ctx.now
    if old is not None and not end_request(
        tx, old, ended="replaced", unified=ctx.settings.unified_session, wakes=False
    ):
        # It was answered between our look and our lock.
        raise LookAgain
    if denied := approvals.denied_since(tx, home.id, digest, now - DENIAL_HOLDS):
        said = f" They wrote: {one_line(denied.note, MAX_REASON)}" if denied.note else ""
        raise Forbidden(f"This was denied within the last day ({denied.id}), so it is not asked again.{said}")
    _check_limits(ctx, home, turn.agent_id)
    if request.only_for_packages and approvals.pending_packages(tx, turn.agent_id):
        # Another conversation asked since our look: only now, with the agent locked, can that be seen.
        raise LookAgain
    approval = Approval(
        id=new_id("appr"),
        user_id=home.user_id,
        agent_id=turn.agent_id,
        session_id=home.id,
        session_key=home.key,
        turn_id=turn.id,
        call_key=call_key,
        job_id=turn.job_id,
        asked_by=turn.source,
        depth=turn.depth,
        may_schedule=turn.may_schedule,
        outside=request.outside,
        tool=request.tool,
        args=args,
        tool_sha256=request.tool_sha256,
        digest=digest,
        title=one_line(request.title, MAX_REASON),
        shown=shown,
        reason=one_line(request.reason, MAX_REASON) if request.reason and request.reason.strip() else None,
        audience=request.audience,
        asked_at=now,
        expires_at=now + OPEN_FOR,
    )
    approvals.add(tx, approval)
    _show_cards(tx, approval, home, lane_id, places, turn_id=turn.id, base_url=base_url, outside=outside)
    who = "An administrator" if request.audience == "admin" else "The user"
    # V5: no administrator has a linked chat, so the card is on the page only.
    alone = request.audience == "admin" and outside is None and not may_decide(tx, home.user_id, approval)
    unreached = " Administrators see it only on the page, so it may take longer. Tell the user." if alone else ""
    return (
        f"Asked ({approval.id}). It is not done yet. {who} decides, and you will be told in this conversation."
        f"{unreached} Do not wait for it and do not ask again: finish this turn, and say what you asked for."
    )


def add_answered(ctx: Context, agent_id: str, request: Request, place: tuple[Session, int]) -> Approval:
    """Write what an admin does themselves as a request that they answered; its card is in their home, which is locked.

    What no turn asked for wakes nobody when it ends.
    """
    tx, now, (home, lane_id) = ctx.tx, ctx.now, place
    args = canonical(request.args)
    approval_id = new_id("appr")
    approval = Approval(
        id=approval_id,
        user_id=home.user_id,
        agent_id=agent_id,
        session_id=home.id,
        session_key=home.key,
        turn_id=None,
        call_key=f"own:{approval_id}",
        job_id=None,
        asked_by="person",
        depth=0,
        may_schedule=False,
        tool=request.tool,
        args=args,
        tool_sha256=None,
        digest=digest_of(agent_id=agent_id, tool=request.tool, tool_sha256=None, args=args),
        title=one_line(request.title, MAX_REASON),
        shown=shown_args(args),
        reason=None,
        audience=request.audience,
        state="approved",
        asked_at=now,
        expires_at=now + OPEN_FOR,
        answered_by=ctx.caller.user_id,
        answered_with=ctx.caller.token_id,
        answered_at=now,
    )
    approvals.add(tx, approval)
    _show_cards(tx, approval, home, lane_id, [], turn_id=None)
    detail = {"decision": "approve", "tool": approval.tool, "digest": approval.digest}
    people.audit(tx, user_id=home.user_id, action="answer_approval", object_id=approval.id, detail=detail)
    return approval


def _check_home(home: Session, agent_id: str) -> None:
    """Refuse what would end as soon as it is approved; the session is locked."""
    if home.deleted_at is not None:
        raise Forbidden("The conversation was deleted, so nobody can be asked in it.")
    if home.agent_id != agent_id:
        raise Forbidden("The conversation got another agent, so this one asks for nothing in it any more.")


def _check_limits(ctx: Context, home: Session, agent_id: str) -> None:
    if approvals.count_pending(ctx.tx, home.id) >= MAX_PENDING:
        raise Forbidden(f"This conversation already has {MAX_PENDING} open requests. Wait until one is answered.")
    # Conversations of one agent ask at the same time: each counts when the one before it is written.
    agents.lock(ctx.tx, agent_id)
    if approvals.count_asked(ctx.tx, agent_id, ctx.now - _DAY) >= MAX_ASKED:
        raise Forbidden(f"This agent asked {MAX_ASKED} times within a day; it may ask again later.")


def _places(tx: Tx, home: Session, audience: Audience) -> list[int]:
    """Name the sessions beside the asking one that show a card: the homes of those who may answer (rule 59)."""
    if audience == "owner":
        return []
    # Their own conversation shows it to its user already.
    return [home_of(tx, admin).id for admin in people.admins(tx) if admin.id != home.user_id]


def _outside(tx: Tx, home: Session, audience: Audience) -> tuple[str, str] | None:
    """Choose the one other admin whom a request reaches outside, and where (rule 59): the first who has a direct chat,
    in a channel of the asking conversation before others. None where the asking user decides and hears of it there.
    """
    if audience == "owner":
        return None
    asked_in = {
        channel_of(address)
        for address in sessions.addresses(tx, [home.id])[home.id]
        if not is_screen(address) and may_use(tx, home.user_id, address)
    }
    admins = people.admins(tx)
    if asked_in and home.user_id in {admin.id for admin in admins}:
        return None
    chats = [
        contact
        for admin in admins
        if admin.id != home.user_id
        for contact in contacts.of_user(tx, admin.id)
        if contact.kind == "person" and not contact.blocked
    ]
    # Of equal ones the first stays first.
    chats.sort(key=lambda contact: contact.channel not in asked_in)
    return (chats[0].user_id, chats[0].address) if chats else None


def _show_cards(
    tx: Tx,
    approval: Approval,
    home: Session,
    lane_id: int,
    places: Collection[int],
    *,
    turn_id: str | None,
    base_url: str = "",
    outside: tuple[str, str] | None = None,
) -> None:
    """Write a card into the asking conversation, and one into the home of each other approver: outside, those go to at
    most one of them.
    """
    for place in [home, *sessions.get_many(tx, places).values()]:
        asking = place.id == home.id
        asked = {"asking_turn_id": turn_id} if asking and turn_id else {}
        card = NewMessage(
            session_id=place.id,
            lane_id=lane_id if asking else place.id,
            role="assistant",
            kind="approval",
            text=f"{approval.title}. {_how(tx, approval, place.user_id, base_url)}",
            turn_id=None,
            meta={"approval_id": approval.id, "asked_in": home.key} | asked,
            unasked=True,
        )
        only = None
        if not asking:
            screens = [address for address in sessions.addresses(tx, [place.id])[place.id] if is_screen(address)]
            only = [*screens, *([outside[1]] if outside and outside[0] == place.user_id else [])]
        [seq], revisions = deliveries.post(tx, [card], cause="question", only=only)
        cards.add_card(tx, session_id=place.id, seq=seq, rev=revisions[place.id].rev, approval_id=approval.id)


def _how(tx: Tx, approval: Approval, user_id: str, base_url: str) -> str:
    """Say how a request is answered, where no button does it."""
    if approval.state != "pending":
        return f"How it goes: homing approvals get {approval.id}"
    if not may_decide(tx, user_id, approval):
        return f"An administrator decides. How it goes: homing approvals get {approval.id}"
    return f"Answer at {base_url}/approvals/{approval.id}, or with: homing approvals approve {approval.id}"


def card_text(approval: Approval) -> str:
    """Show a request whole where people press buttons: monospace, so that nothing of it is read as markup.

    No line of it can begin with the fence: each line of the agent's text begins with a label that Homing wrote, or is
    JSON.
    """
    where = f"{approval.session_key}, agent {one_line(approval.agent_id, _LONGEST_NAME)}"
    lines = [f"Request: {approval.title}", f"Tool: {approval.tool}", f"Asked in: {where}", "Arguments:", approval.shown]
    lines += [f"Note: {warning}" for warning in warnings_about(approval.tool, approval.arguments)]
    lines += [f"Reason, in the agent's own words: {approval.reason}"] if approval.reason else []
    text = "\n".join(lines)
    fence = "`" * (max([2, *map(len, re.findall("`+", text))]) + 1)
    return f"An agent asks you to allow this:\n{fence}\n{text}\n{fence}"


def settled_text(tx: Tx, approval: Approval) -> str:
    """Say what became of a request, in the place of its card."""
    by = f" by {name_of(tx, approval.answered_by)}" if approval.answered_by else ""
    words = "Denied" if approval.state == "denied" else "Approved" if approval.answered_by else "Expired, not done"
    return f"{approval.title}\n{words}{by}."


def lanes_of(tx: Tx, approval: Approval, *, unified: bool) -> set[int]:
    """Name the sessions that change when an approval ends."""
    home = sessions.get(tx, approval.session_id)
    shown = cards.places_of(tx, approval.id)
    return {home.id, lanes.lane_of(tx, home, unified=unified), *shown}


def hold_places(
    tx: Tx, approval: Approval, *, unified: bool, asks_again: bool = False, also: Collection[int] = ()
) -> None:
    """Lock the sessions that change when an approval ends, and `also` others that its action needs, before what it
    locks itself.

    With `asks_again` also those that a further request is shown in: since the first, others may have become admins.
    """
    again = _places(tx, sessions.get(tx, approval.session_id), approval.audience) if asks_again else []
    sessions.lock(tx, {*lanes_of(tx, approval, unified=unified), *again, *also})


def list_approvals(ctx: Context, ask: ListApprovals) -> Page[ApprovalShape]:
    """List approvals, newest first: one's own, and for admins those that admins answer."""
    session = ctx.session(ask.session_key) if ask.session_key is not None else None
    before = cursors.decode_in("approvals", ask.cursor)
    found = approvals.listed(
        ctx.tx,
        user_id=ctx.caller.user_id,
        all_admin=ctx.caller.admin,
        state=ask.state,
        session_id=session.id if session else None,
        agent_id=ask.agent_id,
        before_n=before,
        limit=ask.limit + 1,
    )
    page = found[: ask.limit]
    following = cursors.encode_in("approvals", page[-1].n) if len(found) > ask.limit else None
    return Page(items=[ApprovalShape.show(approval) for approval in page], next_cursor=following)


def get_approval(ctx: Context, ask: ApprovalRef) -> ApprovalShape:
    """Show one approval whole: everything that will run, and what became of it."""
    return ApprovalShape.show(_visible(ctx, ask.approval_id))


def answer_approval(ctx: Context, ask: AnswerApproval) -> ApprovalShape:
    """Approve or deny what an agent asked for. Only a person may; the first answer counts."""
    tx = ctx.tx
    seen = _visible(ctx, ask.approval_id)
    _check_may_answer(ctx, seen)
    home = sessions.get(tx, seen.session_id)
    places = cards.places_of(tx, seen.id)
    lane_id = lanes.enter(tx, home, unified=ctx.settings.unified_session, also=places)
    by, note = ctx.caller.user_id, (ask.note or "").strip() or None
    answered = _write_answer(
        tx,
        seen,
        home,
        lane_id,
        approve=ask.decision == "approve",
        digest=ask.digest,
        by=by,
        answered_with=ctx.caller.token_id,
        note=note,
    )
    approval = approvals.get(tx, seen.id)
    assert approval is not None
    return ApprovalShape.show(approval) if answered else _repeated(approval, ask, by, note)


def decide_by_button(
    tx: Tx, approval: Approval, *, approve: bool, digest: str, contact: Contact, unified: bool
) -> bool:
    """Take the answer of a contact who pressed a button; False when it came too late, or is not theirs to give."""
    if not may_decide(tx, contact.user_id, approval):
        return False
    home = sessions.get(tx, approval.session_id)
    lane_id = lanes.enter(tx, home, unified=unified, also=cards.places_of(tx, approval.id))
    return _write_answer(
        tx, approval, home, lane_id, approve=approve, digest=digest, by=contact.user_id, answered_with=contact.id
    )


def may_decide(tx: Tx, user_id: str, approval: Approval) -> bool:
    """Rule 47: its owner for a call in their own conversation, an administrator for what administrators decide."""
    if approval.audience == "owner":
        return user_id == approval.user_id
    user = people.get_user(tx, user_id)
    return user is not None and user.role == "admin"


def _write_answer(
    tx: Tx,
    seen: Approval,
    home: Session,
    lane_id: int,
    *,
    approve: bool,
    digest: str,
    by: str,
    answered_with: str | None,
    note: str | None = None,
) -> bool:
    """Write an answer into locked places, if it is the first and about what was seen."""
    state: ApprovalState = "approved" if approve else "denied"
    if not approvals.answer(tx, seen.id, digest=digest, state=state, by=by, answered_with=answered_with, note=note):
        return False
    approval = approvals.get(tx, seen.id)
    assert approval is not None
    cards.touch_cards(tx, approval_id=approval.id)
    if not approve:
        tell(tx, approval, home=home, lane_id=lane_id, text=_denied(tx, approval))
    detail = {"decision": "approve" if approve else "deny", "tool": approval.tool, "digest": approval.digest}
    people.audit(tx, user_id=by, action="answer_approval", object_id=approval.id, detail=detail)
    return True


def _repeated(approval: Approval, ask: AnswerApproval, by: str, note: str | None) -> ApprovalShape:
    """Answer somebody who was not the first: their own answer again is not an error, with another note it is."""
    shape = ApprovalShape.show(approval)
    denied = approval.state == "denied"
    same = denied == (ask.decision == "deny") and note in (None, approval.note)
    if approval.answered_by == by and same and approval.digest == ask.digest:
        return shape
    if approval.digest != ask.digest:
        detail = "This is not what you looked at: the digest differs. Look at the approval again, then answer."
    elif approval.state == "pending":
        detail = "This request has expired."
    else:
        who = f" (answered by {approval.answered_by})" if approval.answered_by else ""
        detail = f"It cannot be answered any more: {shape.words}{who}."
    raise Conflict(detail, code="wrong_state", extra={"current": shape.plain()})


def _denied(tx: Tx, approval: Approval) -> str:
    note = f" They wrote: {approval.note}" if approval.note else ""
    return f"{approval.title}: denied by {name_of(tx, approval.answered_by)}.{note}"


def name_of(tx: Tx, user_id: str | None) -> str:
    """Name a user for people."""
    user = people.get_user(tx, user_id) if user_id else None
    return one_line(user.name, _LONGEST_NAME) if user else user_id or "nobody"


def tell(
    tx: Tx,
    approval: Approval,
    *,
    home: Session,
    lane_id: int,
    text: str,
    wakes: bool = True,
    outside: str | None = None,
) -> None:
    """Tell the asking conversation how a request ended: one inbound, with the rights of the turn that asked."""
    if home.deleted_at is not None:
        return
    meta: dict[str, object] = {"approval_id": approval.id, "approval_tool": approval.tool, "rights": approval.asked_by}
    meta |= {"may_schedule": True} if approval.may_schedule else {}
    meta |= {"outside": outside} if outside else {}
    asking = turns.get_turn(tx, approval.turn_id) if approval.turn_id is not None else None
    if asking is not None and asking.policy.guest:
        # Whatever became of it, a guest asked.
        meta |= {"guest": True, "sender_id": asking.sender_id}
    inbounds.take_in(
        tx,
        [
            NewInbound(
                session_id=home.id,
                lane_id=lane_id,
                user_id=home.user_id,
                source="system",
                text=text,
                line="machines" if wakes else "note",
                job_id=approval.job_id,
                depth=approval.depth,
                meta=meta,
            )
        ],
    )


def end_request(tx: Tx, approval: Approval, *, ended: Ended, unified: bool, wakes: bool) -> bool:
    """End a request that nobody answered, and tell the agent why; says whether it was still open."""
    home = sessions.get(tx, approval.session_id)
    places = cards.places_of(tx, approval.id)
    lane_id = lanes.enter(tx, home, unified=unified, also=places)
    if not approvals.expire(tx, approval.id, ended=ended):
        return False
    cards.touch_cards(tx, approval_id=approval.id)
    now = approvals.get(tx, approval.id)
    assert now is not None
    words = ApprovalShape.show(now).words
    tell(tx, now, home=sessions.get(tx, home.id), lane_id=lane_id, text=f"{now.title}: {words}.", wakes=wakes)
    return True


def end_all_of_session(tx: Tx, session_id: int) -> None:
    """Rule 49: what a deleted session asked for is not done. Its sessions, and those with its cards, are locked."""
    for approval in approvals.open_in(tx, session_id):
        if approvals.expire(tx, approval.id, ended="session_deleted", answered=True):
            cards.touch_cards(tx, approval_id=approval.id)


def expire_overdue(tx: Tx, *, unified: bool) -> bool:
    """End one request that nobody answered in time, with a note that wakes nobody; says whether there was one."""
    found = approvals.overdue(tx, tx.now(), 1)
    return any(end_request(tx, approval, ended="time", unified=unified, wakes=False) for approval in found)


def may_see(ctx: Context, approval: Approval) -> bool:
    """Say whether an approval is the caller's, or one that admins answer and the caller is one."""
    return approval.user_id == ctx.caller.user_id or (ctx.caller.admin and approval.audience == "admin")


def _visible(ctx: Context, approval_id: str) -> Approval:
    approval = approvals.get(ctx.tx, approval_id)
    if approval is None or not may_see(ctx, approval):
        raise NotFound(f"There is no approval {approval_id}. List them with list_approvals.")
    return approval


def check_decides(ctx: Context) -> None:
    """Refuse who may not decide what administrators do."""
    _check_person(ctx)
    _check_admin(ctx)


def check_links(ctx: Context) -> None:
    """Refuse who may not link a chat or an address: it answers approvals as its user, with all of their rights."""
    if ctx.caller.turn is not None or ctx.caller.door in ("tool", "mcp"):
        raise Forbidden("Only a person may link a chat or an address.")
    user = people.get_user(ctx.tx, ctx.caller.user_id)
    lacks = "" if ctx.caller.admin or user is None or user.role != "admin" else " --role admin"
    if not ctx.caller.approve or lacks:
        raise Forbidden(
            "What is linked may answer approvals as you, and this token may not. Link it on the page (homing open), or"
            f" with a token that may: homing tokens create --approve{lacks}"
        )


def _check_may_answer(ctx: Context, approval: Approval) -> None:
    _check_person(ctx)
    if approval.audience == "admin":
        _check_admin(ctx)


def _check_person(ctx: Context) -> None:
    """Rule 47: only a person answers."""
    if ctx.caller.turn is not None or ctx.caller.door in ("tool", "mcp"):
        raise Forbidden("Only a person may answer an approval.")
    if not ctx.caller.approve:
        raise Forbidden(
            "This token may not answer approvals. Answer on the page, or create one that may: homing tokens create"
            " --approve"
        )


def _check_admin(ctx: Context) -> None:
    user = people.get_user(ctx.tx, ctx.caller.user_id)
    # Both, as when the action begins: the token of a user who is none would be told yes, and nothing would be done.
    if not ctx.caller.admin or user is None or user.role != "admin":
        raise Forbidden("An administrator answers this one: token and user both need the role admin.")
