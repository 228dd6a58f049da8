"""`ask_question`: the agent asks the people of its conversation. The answer comes later, as a person's message."""

from collections.abc import Mapping
from typing import cast

from homing.model.approvals import MAX_OPTION, MAX_OPTIONS, MAX_TITLE, MIN_OPTIONS
from homing.model.errors import Invalid
from homing.model.sessions import Session
from homing.operations.context import Context
from homing.operations.questions import ask_people
from homing.store.steps import Done
from homing.tools.tool import ToolSpec

_EXAMPLE = '{"title": "Which day suits you?", "options": ["Monday", "Tuesday"]}'


def ask_question(ctx: Context, session: Session, arguments: Mapping[str, object]) -> Done:
    """Ask; give the words for the model."""
    if arguments.get("to") is not None:
        raise Invalid(
            "to is not understood yet: a question goes to the people of this conversation. Leave it out.",
            field="to",
            code="out_of_range",
        )
    title = arguments.get("title")
    if not isinstance(title, str):
        raise Invalid(f"title is missing. A correct call: {_EXAMPLE}", field="title", code="missing")
    question = ask_people(ctx, session, title=title, options=_options(arguments.get("options")))
    how = "chooses one of the options" if question.options else "answers in their own words"
    return Done(
        text=f"Asked ({question.id}). The user {how}, maybe much later, and the answer comes as their message in this"
        " conversation. Do not wait for it and do not ask again: finish this turn."
    )


def _options(given: object) -> list[str] | None:
    if given is None:
        return None
    if isinstance(given, list) and all(isinstance(option, str) for option in cast(list[object], given)):
        # Some models write an empty list where they mean none.
        return cast(list[str], given) or None
    raise Invalid(f"options is a list of texts. A correct call: {_EXAMPLE}", field="options", code="wrong_type")


OFFER = ToolSpec(
    name="ask_question",
    description="Ask the user something you need to know, as a card with buttons. It does not wait: the answer comes"
    " as the user's message, in a later turn.",
    parameters={
        "type": "object",
        "required": ["title"],
        "properties": {
            "title": {"type": "string", "description": f"The question, at most {MAX_TITLE} characters"},
            "options": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": MIN_OPTIONS,
                "maxItems": MAX_OPTIONS,
                "description": f"{MIN_OPTIONS} to {MAX_OPTIONS} answers to choose from, each at most {MAX_OPTION}"
                " characters; left out, the user answers in their own words",
            },
        },
    },
    function=ask_question,
)
