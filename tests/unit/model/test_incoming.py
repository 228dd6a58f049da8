"""What is a code, and what is only a word."""

import pytest

from homing.model.incoming import code_shown_in, link_code_in, new_link_code

CODE = "hm-abcdefgh234567ab"


def test_a_new_code_has_the_shape_that_is_looked_for() -> None:
    code = new_link_code()
    assert link_code_in(f"link {code}") == code


@pytest.mark.parametrize(
    "words",
    [
        "link {}",
        "Link: {}",
        "/link {}",
        "/link@my_bot {}",
        "/start {}",
        "/start@my_bot {}",
        "@my_bot link {}",
        " link {}\n",
    ],
)
def test_a_code_is_read_after_its_word_also_behind_a_mention(words: str) -> None:
    assert link_code_in(words.format(CODE)) == CODE
    assert link_code_in(words.format(CODE.upper())) == CODE
    assert code_shown_in(words.format(CODE)) == CODE


@pytest.mark.parametrize(
    "text",
    ["start responsibilities", "link responsibilities", "/start responsibilities", "link abcdefgh234567ab", "/start"],
)
def test_ordinary_words_are_no_codes(text: str) -> None:
    assert (link_code_in(text), code_shown_in(text)) == (None, None)


@pytest.mark.parametrize("text", [f"start {CODE}", CODE, f"@my_bot please link {CODE}", f"what is ({CODE})?"])
def test_among_other_words_a_code_links_nobody_but_is_seen(text: str) -> None:
    assert (link_code_in(text), code_shown_in(text)) == (None, CODE)


@pytest.mark.parametrize("text", [f"{CODE}x", f"x{CODE}", f"a-{CODE}", "hm-abcdefgh234567a1"])
def test_what_only_resembles_a_code_is_a_message(text: str) -> None:
    assert code_shown_in(text) is None
