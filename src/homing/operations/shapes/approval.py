"""Approvals and questions: what may be asked about them, and how they are shown."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field

from homing.model.approvals import MAX_OPTIONS, Approval, ApprovalState, Audience, Ended, Question, QuestionState
from homing.model.errors import Invalid
from homing.model.people import Source
from homing.model.words import APPROVAL_ENDINGS, APPROVAL_STATES, QUESTION_STATES
from homing.operations.shapes.base import NOT_BOOL, Answer, Ask, PageAsk, Short
from homing.operations.shapes.job_asks import Id, Key
from homing.sandbox.hosts import inward

Note = Annotated[str, Field(max_length=1000)]


class ApprovalRef(Ask):
    """One approval."""

    approval_id: Id


class ListApprovals(PageAsk):
    """List what agents asked for, newest first."""

    state: ApprovalState | None = None
    session_key: Key | None = None
    agent_id: Id | None = None


class AnswerApproval(ApprovalRef):
    """Approve or deny what an agent asked for; the digest says what was looked at."""

    decision: Literal["approve", "deny"]
    digest: Short
    note: Note | None = None


class ApprovalShape(Answer):
    """What an agent asked a person to allow, and what became of it."""

    id: str
    tool: str
    title: str
    args: dict[str, Any]
    shown: str
    warnings: list[str]
    """What to know before a yes and what the arguments do not say by themselves."""
    digest: str
    reason: str | None
    agent_id: str
    session_key: str
    user_id: str
    turn_id: str | None
    """Null: an administrator's own change, which no turn asked for."""
    job_id: str | None
    asked_by: Source
    audience: Audience
    state: ApprovalState
    words: str
    asked_at: str
    expires_at: str
    answered_by: str | None
    answered_at: str | None
    note: str | None
    result: str | None
    error: str | None
    ended: Ended | None
    finished_at: str | None

    @classmethod
    def show(cls, approval: Approval) -> Self:
        words = APPROVAL_STATES[approval.state]
        if approval.state == "expired" and approval.ended is not None:
            words = f"{words}: {APPROVAL_ENDINGS[approval.ended]}"
        args = approval.arguments
        return cls.of(approval, args=args, words=words, warnings=warnings_about(approval.tool, args))


def warnings_about(tool: str, args: Mapping[str, Any]) -> list[str]:
    """Say what a person should know about a request before they answer it."""
    if tool == "run_command":
        return ["Files that this command runs or reads can change until it runs: you approve the command, not them."]
    hosts: list[object] = []
    if tool == "request_access":
        hosts = [args["host"]] if "host" in args else []
    elif tool == "add_mcp_server":
        hosts = [*args["hosts"], *([urlsplit(str(args["url"])).netloc] if args["url"] else [])]
    return [words for host in hosts if (words := _inward(str(host)))]


def _inward(host: str) -> str | None:
    try:
        return inward(host)
    except Invalid:
        return None


class ApprovalOnMessage(Answer):
    """The approval that a message shows."""

    id: str
    state: ApprovalState


class QuestionRef(Ask):
    """One question."""

    question_id: Id


class ListQuestions(PageAsk):
    """List what agents asked people, newest first."""

    state: QuestionState | None = None
    session_key: Key | None = None


class AnswerQuestion(QuestionRef):
    """Answer a question by the number of an option, or in words."""

    option: Annotated[int, Field(ge=1, le=MAX_OPTIONS), NOT_BOOL] | None = None
    text: Annotated[str, Field(min_length=1, max_length=4096)] | None = None


class QuestionOnMessage(Answer):
    """The question that a message asks."""

    id: str
    title: str
    options: list[str] | None
    state: QuestionState
    answer: str | None

    @classmethod
    def of(cls, thing: object, **more: Any) -> Self:
        options = getattr(thing, "options", None)
        return super().of(thing, **{"options": None if options is None else list(options), **more})


class QuestionShape(QuestionOnMessage):
    """A question with where it was asked and who answered it."""

    words: str
    agent_id: str
    session_key: str
    turn_id: str
    asked_at: str
    expires_at: str
    answered_by: str | None
    answered_at: str | None

    @classmethod
    def show(cls, question: Question) -> Self:
        return cls.of(question, words=QUESTION_STATES[question.state])
