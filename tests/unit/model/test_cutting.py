"""A long text is cut into what a platform takes, as it counts and where a reader would cut."""

import random

import pytest

from homing.model.cutting import LengthUnit, cut, length_of

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
FLAG = "\U0001f1e9\U0001f1ea"
THUMB = "\U0001f44d\U0001f3fd"
HEBREW = "שָׁלוֹם עוֹלָם. "
ARABIC = "مرحبا بالعالم؟ "
UNITS: list[LengthUnit] = ["characters", "utf16", "bytes"]


def words(text: str) -> list[str]:
    return text.split()


def test_a_text_that_fits_stays_as_it_is_also_an_empty_one() -> None:
    assert cut("  hello \n", 20) == ["  hello \n"]
    assert cut("", 20) == [""]
    assert cut("x" * 100_000, None) == ["x" * 100_000]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    "sentence", ["It is nine o'clock. ", HEBREW, ARABIC, f"Good {FAMILY} and {FLAG}! ", "日本語の文。"]
)
def test_twenty_thousand_characters_lose_nothing_and_no_piece_is_too_long(sentence: str, unit: LengthUnit) -> None:
    text = (sentence * 20_000)[:20_000].strip()
    pieces = cut(text, 4096, unit)
    assert len(pieces) > 4
    assert max(length_of(piece, unit) for piece in pieces) <= 4096
    assert "".join(words("".join(pieces))) == "".join(words(text))
    whole = sentence.strip()
    assert all(piece.endswith(whole) for piece in pieces[:-1]), "each ends with a sentence"


def test_a_cut_falls_between_paragraphs_before_lines_before_sentences_before_words() -> None:
    assert cut("One. Two.\nThree.\n\nFour. Five.", 25) == ["One. Two.\nThree.", "Four. Five."]
    assert cut("One. Two.\nThree. Four. Five.", 18) == ["One. Two.", "Three. Four. Five."]
    assert cut("One two. Three four five.", 16) == ["One two.", "Three four five."]
    assert cut("one two three four", 10) == ["one two", "three four"]
    assert cut("3.14159265 is pi", 12) == ["3.14159265", "is pi"]


def test_a_good_place_near_the_beginning_does_not_make_a_tiny_piece() -> None:
    pieces = cut("Hi.\n\n" + "word " * 100, 200)
    assert len(pieces[0]) > 100


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("seen", [FAMILY, FLAG, THUMB, "e\u0301", "שָׁ", "🍎"])
def test_a_word_without_end_is_cut_between_characters_as_a_reader_sees_them(seen: str, unit: LengthUnit) -> None:
    pieces = cut(seen * 100, 64, unit)
    assert "".join(pieces) == seen * 100
    assert all(piece == seen * (len(piece) // len(seen)) for piece in pieces)
    assert max(length_of(piece, unit) for piece in pieces) <= 64


def test_marks_without_end_are_cut_anyway() -> None:
    pieces = cut("e" + "\u0301" * 500, 100)
    assert "".join(pieces) == "e" + "\u0301" * 500
    assert max(map(len, pieces)) <= 100


def test_a_cut_code_block_is_closed_and_opened_again_with_its_language() -> None:
    code = "\n".join(f"    print({number})" for number in range(200))
    pieces = cut(f"Look:\n\n```python\n{code}\n```\nDone.", 500)
    assert max(map(len, pieces)) <= 500
    assert all(piece.count("```") % 2 == 0 for piece in pieces)
    assert all(piece.startswith("```python\n    print(") for piece in pieces[1:-1])
    kept = [line for piece in pieces for line in piece.splitlines() if not line.startswith("```")]
    assert kept == ["Look:", "", *code.splitlines(), "Done."]


def test_marks_inside_a_code_block_of_other_marks_do_not_end_it() -> None:
    text = "~~~\n```\n" + "line\n" * 200 + "```\n~~~"
    assert all(piece.startswith("~~~\n") for piece in cut(text, 300))


def test_any_text_keeps_its_order_and_its_limit() -> None:
    dice = random.Random(14)
    alphabet = [
        "a",
        "b ",
        "\n",
        "\n\n",
        ". ",
        "\n```\n",
        "\n~~~\n",
        "é",
        "e\u0301",
        FAMILY,
        FLAG,
        "ש",
        "\u200d",
        "  ",
        "\ud800",
    ]
    for _ in range(300):
        text = "".join(dice.choices(alphabet, k=dice.randrange(1, 400)))
        most = dice.choice([1, 2, 7, 40, 255, 300])
        unit = dice.choice(UNITS)
        pieces = cut(text, max(most, 8) if unit != "characters" else most, unit)
        assert pieces
        assert all(length_of(piece, unit) <= max(most, 8) for piece in pieces)
        plain = [c for c in "".join(pieces) if c not in "`~\n "]
        assert plain == [c for c in text if c not in "`~\n "]
