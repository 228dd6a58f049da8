"""`questions list` and `answer`: what agents want to know."""

from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, connected
from homing.cli.format import QUESTION_GLYPHS
from homing.cli.resources import Limit, OfSession, Resource, at, find_among_newest, list_by_state
from homing.model.contract import Json


def _sign(question: Json) -> Any:
    from homing.cli import widgets

    return widgets.sign(QUESTION_GLYPHS, question["state"])


def _options(question: Json) -> str:
    options = question["options"]
    return "in words" if options is None else "\n".join(f"{n} {option}" for n, option in enumerate(options, 1))


_QUESTIONS = Resource(
    noun="question",
    prefix="q",
    none="No agent has asked a question.",
    columns={
        "": _sign,
        "id": "id",
        "question": "title",
        "answers": _options,
        "asked ({zone})": at("asked_at"),
        "in": "session_key",
        "state": lambda one: one["answer"] or one["words"],
    },
    gives=("question", "answers", "state", "in"),
    fold=True,
)


def list_questions(
    state: Annotated[str | None, typer.Option(help="pending, answered or expired.")] = None,
    session: OfSession = None,
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """List what agents asked people, newest first."""
    list_by_state(_QUESTIONS, "questions", state, session, limit, as_json=as_json)


def answer(
    question_id: Annotated[str, typer.Argument(metavar="ID", help="An id or a unique beginning of one.")],
    given: Annotated[str, typer.Argument(metavar="ANSWER", help="The number of an option, or words.")],
    as_json: AsJson = False,
) -> None:
    """Answer a question; the answer is your message in its conversation."""
    with connected(as_json) as connection:
        question = find_among_newest(connection, _QUESTIONS, "questions", question_id)
        number = int(given) if question["options"] and given.isascii() and given.isdecimal() else None
        said: Json = {"text": given} if number is None else {"option": number}
        answered = connection.server.ask("answer_question", question_id=question["id"], **said)
        connection.screen.show(answered, lambda: f'{answered["id"]}: answered "{answered["answer"]}".')
