"""The sentences with which a schedule is refused. Whoever reads one knows what to write instead."""

from homing.model.errors import Invalid

EXAMPLES = ("in 10 minutes", "every weekday at 8", "0 9 * * 1-5")


def unreadable(reason: str, *, field: str, examples: tuple[str, str, str] = EXAMPLES) -> Invalid:
    """Refuse a text outside the grammar, with three texts inside it."""
    shown = ", ".join(f"'{example}'" for example in examples)
    return Invalid(f"{reason} Write it like one of these: {shown}.", field=field, code="schedule_unreadable")


def renamed(refused: Invalid, field: str) -> Invalid:
    """Say the same of the field in which the person wrote it."""
    return Invalid(refused.detail, field=field, code=refused.field_code)


def shortened(text: str, limit: int = 80) -> str:
    """Quote what was read without repeating a novel."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
