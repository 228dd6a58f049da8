"""A long text becomes pieces that a platform takes: counted as the platform counts, and cut where a reader would."""

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

LengthUnit: TypeAlias = Literal["characters", "utf16", "bytes"]

# From the best place for a cut to the worst; each gives the end of what stays before it.
_PLACES = tuple(
    re.compile(pattern)
    for pattern in (
        r"\n[ \t]*\n+",  # between paragraphs
        r"\n",  # between lines
        r"[.!?…。！？؟।](?:[\"'”’)\]]*)(?=\s|$)\s?|[。！？]",  # after a sentence
        r"\s",  # between words
    )
)
# A cut further to the front than this leaves too little in the piece: a worse place near its end is better.
_FULL = 0.5
_FENCE = re.compile(r"^ {0,3}(`{3,8}(?!`)|~{3,8}(?!~))[ \t]*(\S{0,20})[^\n]*$", re.MULTILINE)
# In shorter pieces the marks would take the place of the text.
_LEAST_FOR_FENCES = 250
_BREAK = "\n"
_JOINER = "\u200d"
_JOINED = re.compile(
    # What belongs to the character before it: marks, variation selectors, skin tones, tags, joiners.
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0903\u093a-\u094f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f"
    "\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef]"
)
_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]")


def length_of(text: str, unit: LengthUnit) -> int:
    """Count a text as a platform does. A lone surrogate counts as the character that replaces it."""
    match unit:
        case "characters":
            return len(text)
        case "utf16":
            return len(text) + sum(char > "\uffff" for char in text)
        case "bytes":
            return len(text.encode("utf-8", "replace"))


def cut(text: str, most: int | None, unit: LengthUnit = "characters") -> list[str]:
    """Cut a text into pieces of at most `most` units; a text that fits stays as it is, and there is always one piece.

    Cuts fall between paragraphs, lines, sentences or words, in that order, and inside a word only where it is longer
    than a piece. A code block that is cut is closed in one piece and opened again in the next.
    """
    if most is None or length_of(text, unit) <= most:
        return [text]
    pieces = [piece for piece in _pieces(text.strip(), most, unit) if piece.strip()]
    return pieces or [text[: _fitting(text, most, unit)]]


def _pieces(text: str, most: int, unit: LengthUnit) -> Iterator[str]:
    opening = ""
    while length_of(opening + text, unit) > most:
        room = most - length_of(opening, unit)
        end = _place(text, _fitting(text, room, unit))
        fence = _open_fence(opening + text[:end]) if most >= _LEAST_FOR_FENCES else None
        if fence:
            # Again, with room for the end of the code block; the cut may then fall before its beginning.
            end = _place(text, _fitting(text, room - length_of(f"\n{fence[0]}", unit), unit))
            fence = _open_fence(opening + text[:end])
        piece = opening + text[:end]
        yield f"{piece.rstrip(_BREAK)}\n{fence[0]}" if fence else piece.rstrip()
        opening = "".join(fence) + "\n" if fence else ""
        # Indentation means something in code; elsewhere a piece does not begin with white space.
        text = text[end:].removeprefix("\n") if fence else text[end:].lstrip()
    yield opening + text


def _open_fence(text: str) -> tuple[str, str] | None:
    """Give the marks and the language of the code block that a text leaves open."""
    open_: tuple[str, str] | None = None
    for found in _FENCE.finditer(text):
        marks, language = found[1], found[2]
        if open_ is None:
            open_ = marks, language
        elif not language and marks[0] == open_[0][0] and len(marks) >= len(open_[0]):
            open_ = None
    return open_


def _place(text: str, most: int) -> int:
    """Say where to cut a text that has more than `most` characters: at the last good place of the best kind."""
    head = text[:most]
    for pattern in _PLACES:
        # One character more is looked at: what ends a sentence may be followed by the cut.
        ends = [found.end() for found in pattern.finditer(head)]
        if ends and ends[-1] >= most * _FULL:
            return ends[-1]
    return _between_characters(text, most)


def _between_characters(text: str, most: int) -> int:
    """Move a cut to the front until it falls between two characters as a reader sees them, where that is possible."""
    end = most
    while end > 1 and _belongs(text, end):
        end -= 1
    return end if end > 1 or most <= 1 else most


def _belongs(text: str, end: int) -> bool:
    """Say whether the character at `end` is part of what stands before it."""
    if end >= len(text):
        return False
    if _JOINED.match(text[end]) or text[end - 1] == _JOINER:
        return True
    if not _FLAG.match(text[end]):
        return False
    flags = 0
    while flags < end and _FLAG.match(text[end - 1 - flags]):
        flags += 1
    return flags % 2 == 1


def _fitting(text: str, most: int, unit: LengthUnit) -> int:
    """Say how many characters of a text fit, at least one."""
    if unit == "characters":
        return max(1, min(len(text), most))
    count = used = 0
    for char in text[:most]:
        used += length_of(char, unit)
        if used > most:
            break
        count += 1
    return max(1, count)
