"""The card of an approval: it shows everything that runs, and nothing that a screen would hide (rule 48)."""

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from homing.model.approvals import (
    MAX_REASON,
    MAX_SHOWN_BYTES,
    canonical,
    digest_of,
    one_line,
    shown_args,
    visible_json,
)
from homing.model.errors import Invalid

BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
WIDTHLESS = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u180e\u2061\u115f\u3164\uffa0\u2800\U000e0041\ufe0f\U000e0100"
CONTROLS = "".join(map(chr, [*range(32), *range(0x7F, 0xA0), 0x2028, 0x2029]))
SPACES = "\u00a0\u2000\u2003\u202f\u205f\u3000"
ANSI = "\x1b[2K\x1b[1A\x1b]8;;http://x\x07"
HOSTILE = [BIDI, WIDTHLESS, CONTROLS, SPACES, ANSI, "z" + "\u0301" * 40, '"\u0338', "a\u20dd", "\ue000", "\U0001d159"]
MARKUP = [
    "**bold** [x](javascript:1)",
    "<img src=x onerror=alert(1)>",
    "```\n}\n```",
    "</pre><script>",
    "\\u202e",
    "\\\\",
]

_letters = st.one_of(
    st.characters(exclude_categories=["Cs"]), st.sampled_from("".join(HOSTILE)), st.sampled_from('"\\/{}[]:,<>&`*_\n')
)
_text = st.text(_letters, max_size=60)
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | _text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_text, inner, max_size=4),
    max_leaves=12,
)


def check_visible(shown: str) -> None:
    """Nothing of it is invisible, moves what is around it, or is drawn over something else."""
    marks = 3
    for before, letter in zip(f" {shown}", shown, strict=False):
        category = unicodedata.category(letter)
        assert letter == "\n" or category not in {"Cc", "Cf", "Cn", "Co", "Cs", "Me", "Zl", "Zp"}, f"{letter!r}"
        assert letter in " \n" or not letter.isspace(), f"{letter!r}"
        assert letter not in WIDTHLESS
        marks = marks + 1 if category == "Mn" else 0
        assert marks <= 3
        if category == "Mn":
            assert unicodedata.category(before)[0] in "LM", f"{before!r} {letter!r}"


@given(st.dictionaries(_text, _values, max_size=6))
@example({text: text for text in HOSTILE})
@example({text: [text, {text: None}] for text in MARKUP})
def test_a_card_reads_back_to_exactly_the_arguments_and_hides_nothing(args: dict[str, Any]) -> None:
    stored = canonical(args)
    shown = shown_args(stored)
    assert json.loads(stored) == args
    # Spelled out, so that 1, 1.0 and true differ.
    assert json.dumps(json.loads(shown), sort_keys=True) == json.dumps(args, sort_keys=True)
    check_visible(shown)
    assert canonical(json.loads(shown)) == stored


@given(_text)
@example("".join(HOSTILE))
def test_titles_and_reasons_are_one_visible_line(text: str) -> None:
    shown = one_line(text, MAX_REASON)
    check_visible(shown)
    assert "\n" not in shown
    assert len(shown) <= MAX_REASON


def test_living_languages_stay_as_they_are() -> None:
    for words in (
        "Grüße, façade",
        "e\u0301tude",
        "नमस्ते दुनिया",
        "שָׁלוֹם",
        "สวัสดีชาวโลก",
        "مرحبا",
        "日本語",
        "👋🌍",
        "Việt Nam",
    ):
        assert visible_json(words) == words


@pytest.mark.parametrize("letter", ["x", "ä", "\u202e"])
def test_64_kilobytes_are_shown_whole_and_more_is_refused(letter: str) -> None:
    each = len(visible_json(letter).encode())
    frame = len(shown_args(canonical({"text": ""})))
    most = (MAX_SHOWN_BYTES - frame) // each
    whole = shown_args(canonical({"text": letter * most}))
    assert len(whole.encode()) <= MAX_SHOWN_BYTES
    assert json.loads(whole) == {"text": letter * most}
    with pytest.raises(Invalid, match="too large to be shown"):
        shown_args(canonical({"text": letter * (most + 1)}))


@given(st.dictionaries(_text, _values, max_size=3), st.dictionaries(_text, _values, max_size=3))
def test_other_arguments_have_another_digest(one: dict[str, Any], other: dict[str, Any]) -> None:
    digests = [digest_of(agent_id="main", tool="deed", tool_sha256=None, args=canonical(args)) for args in (one, other)]
    assert (digests[0] == digests[1]) == (canonical(one) == canonical(other))


def test_a_digest_names_agent_tool_and_the_tools_words() -> None:
    same = {"agent_id": "main", "tool": "deed", "tool_sha256": None, "args": "{}"}
    others = [same, *(same | {name: "x"} for name in same)]
    assert len({digest_of(**one) for one in others}) == len(others)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), object(), 10**5000], ids=["nan", "inf", "object", "huge"]
)
def test_what_is_no_json_value_is_refused(value: object) -> None:
    with pytest.raises(Invalid, match="not plain JSON"):
        canonical({"value": value})
