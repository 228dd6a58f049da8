"""Questions: an agent asks the people of its conversation; the answer is the answering person's message (rule 56)."""

from collections.abc import Mapping, Sequence

from homing.model.approvals import (
    MAX_OPTION,
    MAX_OPTIONS,
    MAX_PENDING,
    MAX_TITLE,
    MIN_OPTIONS,
    OPEN_FOR,
    Question,
    visible_json,
)
from homing.model.errors import Conflict, Forbidden, Invalid, NotFound
from homing.model.ids import new_id
from homing.model.messages import NewMessage
from homing.model.sessions import Session
from homing.operations.context import Context
from homing.operations.shapes import cursors
from homing.operations.shapes.approval import AnswerQuestion, ListQuestions, QuestionShape
from homing.operations.shapes.base import Page
from homing.store import Tx, cards, deliveries, inbounds, lanes, questions, sessions, turns
from homing.store.inbounds import NewInbound

# Emoji and several scripts join letters by them.
_JOINERS = str.maketrans("", "", "\u200c\u200d\ufe0f")


def ask_people(ctx: Context, home: Session, *, title: str, options: Sequence[str] | None) -> Question:
    """Ask the people of a conversation, in the name of the caller's turn."""
    turn, tx = ctx.caller.turn, ctx.tx
    assert turn is not None
    title, read = _fitting(title, "title", MAX_TITLE), _read_options(options)
    lane_id = lanes.enter(tx, home, unified=ctx.settings.unified_session)
    # Guests have a limit of their own: they must not use up that of the conversation's user.
    guest = of_guest(tx, turn.id)
    if sum(of_guest(tx, pending.turn_id) == guest for pending in questions.pending_in(tx, home.id)) >= MAX_PENDING:
        raise Forbidden(f"This conversation already has {MAX_PENDING} open questions. Wait until one is answered.")
    now = ctx.now
    question = Question(
        id=new_id("q"),
        user_id=home.user_id,
        agent_id=turn.agent_id,
        session_id=home.id,
        session_key=home.key,
        turn_id=turn.id,
        call_key=turn.call_key,
        title=title,
        options=read,
        asked_at=now,
        expires_at=now + OPEN_FOR,
    )
    questions.add(tx, question)
    card = NewMessage(
        session_id=home.id,
        lane_id=lane_id,
        role="assistant",
        kind="question",
        text=as_text(question),
        meta={"question_id": question.id, "asking_turn_id": turn.id},
        unasked=True,
    )
    [seq], revisions = deliveries.post(tx, [card], cause="question")
    cards.add_card(tx, session_id=home.id, seq=seq, rev=revisions[home.id].rev, question_id=question.id)
    return question


def of_guest(tx: Tx, turn_id: str) -> bool:
    """Say whether a turn is a guest's (rule 60)."""
    turn = turns.get_turn(tx, turn_id)
    return turn is not None and turn.policy.guest


def as_text(question: Question) -> str:
    """Spell a question where there are no buttons: a number answers it."""
    lines = [f"{number}. {option}" for number, option in enumerate(question.options or (), 1)]
    return "\n".join([question.title, *lines])


def _read_options(options: Sequence[str] | None) -> tuple[str, ...] | None:
    if options is None:
        return None
    if not MIN_OPTIONS <= len(options) <= MAX_OPTIONS:
        raise Invalid(
            f"Give {MIN_OPTIONS} to {MAX_OPTIONS} options, or none for an answer in free text.",
            field="options",
            code="out_of_range",
        )
    read = tuple(_fitting(option, "options", MAX_OPTION) for option in options)
    if len({option.casefold() for option in read}) < len(read):
        raise Invalid("Two options are the same.", field="options", code="out_of_range")
    return read


def _fitting(text: str, field: str, longest: int) -> str:
    said = " ".join(text.split())
    each = "Each option" if field == "options" else field
    if not said or len(said) > longest:
        raise Invalid(f"{each} needs 1 to {longest} characters.", field=field, code="out_of_range")
    plain = said.translate(_JOINERS)
    if visible_json(plain) != plain:
        raise Invalid(
            f"{each} must be plain text, without control characters and others that no screen shows.",
            field=field,
            code="out_of_range",
        )
    return said


def list_questions(ctx: Context, ask: ListQuestions) -> Page[QuestionShape]:
    """List questions of one's own conversations, newest first."""
    session = ctx.session(ask.session_key) if ask.session_key is not None else None
    found = questions.listed(
        ctx.tx,
        user_id=ctx.caller.user_id,
        state=ask.state,
        session_id=session.id if session else None,
        before_n=cursors.decode_in("questions", ask.cursor),
        limit=ask.limit + 1,
    )
    page = found[: ask.limit]
    following = cursors.encode_in("questions", page[-1].n) if len(found) > ask.limit else None
    return Page(items=[QuestionShape.show(question) for question in page], next_cursor=following)


def answer_question(ctx: Context, ask: AnswerQuestion) -> QuestionShape:
    """Answer a question; the answer is a message of the one who answers."""
    seen = questions.get(ctx.tx, ask.question_id)
    if seen is None or seen.user_id != ctx.caller.user_id:
        raise NotFound(f"There is no question {ask.question_id}. List them with list_questions.")
    text = _chosen(seen, ask)
    session = sessions.get(ctx.tx, seen.session_id)
    lane_id = lanes.enter(ctx.tx, session, unified=ctx.settings.unified_session)
    answered = take_answer(ctx.tx, seen, session, lane_id, by=ctx.caller.user_id, text=text)
    now = questions.get(ctx.tx, seen.id)
    assert now is not None
    if answered is None:
        said = f': the answer was "{now.answer}"' if now.answer else ""
        raise Conflict(
            f"This question cannot be answered any more{said}.",
            code="wrong_state",
            extra={"current": QuestionShape.show(now).plain()},
        )
    return QuestionShape.show(now)


def _chosen(question: Question, ask: AnswerQuestion) -> str:
    if (ask.option is None) == (ask.text is None):
        raise Invalid("Give option (a number) or text, one of them.", field="option", code="missing")
    if ask.option is None:
        text = (ask.text or "").strip()
        if not text:
            raise Invalid("text is empty; write an answer.", field="text", code="missing")
        return question.meant_by(text) or text
    if ask.option > len(question.options or ()):
        count = len(question.options or ())
        detail = f"It has {count} options." if count else "It has no options: answer it with text."
        raise Invalid(detail, field="option", code="out_of_range")
    return (question.options or ())[ask.option - 1]


def answered_by_message(tx: Tx, session: Session, text: str) -> tuple[Question, str] | None:
    """Find the question that a message answers: the only open one, by exactly a number or an option of it."""
    # Most messages are told by their length, so they need no look.
    if len(text) > MAX_OPTION or len(pending := questions.pending_in(tx, session.id)) != 1:
        return None
    meant = pending[0].meant_by(text)
    return None if meant is None else (pending[0], meant)


def take_answer(
    tx: Tx,
    question: Question,
    session: Session,
    lane_id: int,
    *,
    by: str,
    text: str,
    sender_id: str | None = None,
    mode: str = "inject",
    address: str | None = None,
    external_id: str | None = None,
    meta: Mapping[str, object] | None = None,
) -> str | None:
    """Write an answer and put it into the locked lane as that person's message; None if it came too late.

    `address` and `external_id` are of the message that brought it, where it came through a channel.
    """
    if session.deleted_at is not None or not questions.answer(tx, question.id, by=by, text=text):
        return None
    cards.touch_cards(tx, question_id=question.id)
    sender_id = sender_id or by
    sessions.note_sender(tx, session, sender_id)
    [inbound_id] = inbounds.take_in(
        tx,
        [
            NewInbound(
                session_id=session.id,
                lane_id=lane_id,
                user_id=session.user_id,
                source="person",
                # Without the question: those are the agent's words, and only the person's may count as theirs. An
                # option is the agent's too: its number is what the person said.
                text=text,
                line="people",
                mode=mode,
                sender_id=sender_id,
                address=address or session.key,
                external_id=external_id,
                meta={
                    **(meta or {}),
                    "question_id": question.id,
                    "question_title": question.title,
                    **_chosen_number(question, text),
                },
            )
        ],
    )
    return inbound_id


def _chosen_number(question: Question, text: str) -> dict[str, object]:
    options = question.options or ()
    return {"question_option": options.index(text) + 1} if text in options else {}


def end_all_of_session(tx: Tx, session_id: int) -> None:
    """A deleted session asks nothing any more."""
    for question in questions.pending_in(tx, session_id):
        if questions.expire(tx, question.id, ended="session_deleted"):
            cards.touch_cards(tx, question_id=question.id)


def expire_overdue(tx: Tx, *, unified: bool) -> bool:
    """End one question that nobody answered in time, with a note that wakes nobody; says whether there was one."""
    found = questions.overdue(tx, tx.now(), 1)
    if not found:
        return False
    [question] = found
    session = sessions.get(tx, question.session_id)
    lane_id = lanes.enter(tx, session, unified=unified)
    if not questions.expire(tx, question.id, ended="time"):
        return False
    cards.touch_cards(tx, question_id=question.id)
    note = NewInbound(
        session_id=session.id,
        lane_id=lane_id,
        user_id=session.user_id,
        source="system",
        text=f'Nobody answered the question "{question.title}" ({question.id}) in time.',
        line="note",
        meta={"question_id": question.id},
    )
    inbounds.take_in(tx, [note])
    return True
