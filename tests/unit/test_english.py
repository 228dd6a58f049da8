"""Plain English: some habits of this project's earlier prose have to be read twice. What people read is free of them.

Looked at: README and docs (not the ADRs, which are kept as they were decided, nor the requirements, which quote what
was asked for), and in src comments, docstrings and all texts, which are messages, log events and help.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HABITS = {
    r"\bshall\b": "must, should or will",
    r"\bwhoever\b": "anyone who, or name who it is",
    r"\banew\b": "again",
    r"\bfor ever\b": "forever",
    r"\bof ours\b": "our",
    # "There is no such file" and "it is no longer valid" are good English; "this is no list" is not.
    r"(?<!there\s)\b(?:is|are|was|were) no (?!longer\b|more\b)[a-z]+": "is not a",
    # "One open turn a lane" is; "one turn of a lane" is not.
    r"\b(?:one|two|three|\d+)(?: (?!of|in|on|to|for|by|with|as|is)[a-z]+){1,2} a (?:lane|worker|job|turn)\b": "per …",
}
PAPERS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "docs/howto").glob("*.md"),
    *(ROOT / "docs/reference").glob("*.md"),
]
READ = [path for path in PAPERS if path.name not in ("requirements.md", "CHANGELOG.md")]
SOURCE = [path for path in (ROOT / "src/homing").rglob("*.py") if "versions" not in path.parts]


def words_of(path: Path) -> Iterator[tuple[int, str]]:
    """Give a file's prose with the line it stands in: a paper's whole text, of a module its comments and texts."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        yield 1, text
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        # 3.12 tells f-strings by parts; before, they are texts as any other.
        if token.type in (tokenize.COMMENT, tokenize.STRING) or tokenize.tok_name[token.type] == "FSTRING_MIDDLE":
            yield token.start[0], token.string


def habits_in(text: str) -> Iterator[tuple[int, str]]:
    """Give each habit in a text: after how many lines it comes, and what to write instead."""
    for habit, better in HABITS.items():
        for match in re.finditer(habit.replace(" ", r"\s+"), text, re.IGNORECASE):
            yield text[: match.start()].count("\n"), f'"{" ".join(match[0].split())}"; write {better}'


def found(path: Path) -> list[str]:
    name = path.relative_to(ROOT).as_posix()
    return [f"{name}:{line + more}: {habit}" for line, text in words_of(path) for more, habit in habits_in(text)]


def test_readme_and_docs_are_written_in_plain_english() -> None:
    assert [line for path in sorted(READ) for line in found(path)] == []


def test_comments_messages_and_log_events_are_written_in_plain_english() -> None:
    assert [line for path in sorted(SOURCE) for line in found(path)] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "The tool shall stop.",
        "Whoever asks is told.",
        "It begins anew.",
        "It waits for ever.",
        "A bug of ours.",
        "This is no setting.",
        "one open turn a lane",
        "8 turns a worker",
    ],
)
def test_the_guard_finds_each_habit(sentence: str) -> None:
    assert list(habits_in(sentence))


@pytest.mark.parametrize(
    "sentence", ["There is no such file.", "It is no longer valid.", "one open turn per lane", "It took 3 turns."]
)
def test_the_guard_lets_plain_sentences_pass(sentence: str) -> None:
    assert not list(habits_in(sentence))
