"""Terms of a text that both databases can index: words, and bigrams where a language writes no spaces."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

# Han, kana, Hangul, Thai, Lao, Khmer, Myanmar: scripts that run words together (or, for Hangul, glue endings on).
_RUNNING = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_RUN = re.compile(f"[{_RUNNING}]+")
_WORD = re.compile(r"[^\W_]+")
_TOKEN = re.compile(rf"[{_RUNNING}]+|[^\W_{_RUNNING}]+")
_SPACED_WORD = re.compile(rf"[^\W_{_RUNNING}]+")
_STOP = frozenset(
    "a an and are as at be but by did do does for from had has have i in is it its me my of on or our so that the them"
    " they this to was we were what when where which who why will with you your about say said tell".split()
)
MAX_TERMS = 64


def index_terms(text: str) -> str:
    """Spell a text as the terms under which it is found again."""
    return " ".join(_terms(text, whole=True))


def query_terms(text: str) -> list[str]:
    """Name the terms to look for: those that mean something, or all when none does."""
    terms = list(dict.fromkeys(_terms(text, whole=False)))
    telling = [term for term in terms if term not in _STOP]
    return (telling or terms)[:MAX_TERMS]


def _terms(text: str, *, whole: bool) -> list[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    terms: list[str] = []
    for run in _RUN.findall(folded):
        pairs = [run[i : i + 2] for i in range(len(run) - 1)]
        # One character is often a whole word: each is indexed, and asked for only when it stands alone.
        terms += [*pairs, *run] if whole else pairs or [run]
    for word in _WORD.findall(_RUN.sub(" ", folded)):
        terms.append(_stem(word))
    return terms


def _stem(word: str) -> str:
    """Let apples find apple: the plain English plural is cut, nothing else."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


LONGEST_INDEXED = 20_000
"""Characters of one text that are found again; what comes after them is not."""
_BEFORE, _AFTER = 60, 160


@dataclass(frozen=True, kw_only=True)
class Query:
    """What somebody looks for: all of these terms; the last one may only have been begun."""

    terms: tuple[str, ...]
    begun: str | None


def read_query(text: str) -> Query:
    """Read what was typed. Operators and quotes mean nothing here: they separate words, as every other sign does."""
    terms = query_terms(text)
    tokens = _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())
    last = tokens[-1] if tokens else ""
    begun = _stem(last)
    if begun not in terms or len(begun) < 2 or _RUN.match(last) or text[-1:].isspace():
        return Query(terms=tuple(terms), begun=None)
    return Query(terms=tuple(term for term in terms if term != begun), begun=begun)


def excerpt(text: str, query: Query) -> tuple[str, list[tuple[int, int]]]:
    """Give the words around the first hit, and where the hits are in them, counted in characters."""
    text = text[:LONGEST_INDEXED]
    hits = _hits(text, query)
    start = max(0, hits[0][0] - _BEFORE) if hits else 0
    if start:
        start = text.find(" ", start, hits[0][0]) + 1 or start
    end = min(len(text), (hits[0][1] if hits else 0) + _AFTER)
    ahead, behind = ("…" if start else ""), ("…" if end < len(text) else "")
    # One sign for one sign: the marks stay where they are.
    words = "".join(char if char.isprintable() else " " for char in text[start:end])
    shift = len(ahead) - start
    return f"{ahead}{words}{behind}", [(a + shift, b + shift) for a, b in hits if a >= start and b <= end]


def _hits(text: str, query: Query) -> list[tuple[int, int]]:
    """Find the hits from the first one on, as far as an excerpt reaches."""
    wanted = _Wanted.of(query)
    first = min((next(spans, None) for spans in wanted.spans(text, 0, len(text))), key=lambda span: span or _NOWHERE)
    if first is None:
        return []
    # Longer than any word that could be cut here, which an excerpt would leave out anyway.
    until = min(len(text), first[1] + 2 * _AFTER)
    return _joined(sorted(span for spans in wanted.spans(text, first[0], until) for span in spans))


_NOWHERE = (2**31, 2**31)


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """What to mark: words as a whole, and pieces of runs, of which several may overlap."""

    words: frozenset[str]
    begun: str | None
    pieces: re.Pattern[str] | None

    @classmethod
    def of(cls, query: Query) -> "_Wanted":
        pieces = [term for term in query.terms if _RUN.match(term)]
        return cls(
            words=frozenset(query.terms),
            begun=query.begun,
            pieces=re.compile(f"(?=({'|'.join(map(re.escape, pieces))}))") if pieces else None,
        )

    def spans(self, text: str, start: int, end: int) -> tuple[Iterator[tuple[int, int]], Iterator[tuple[int, int]]]:
        """Give the spans of words and those of pieces, each in order."""
        of_words = (word.span() for word in _SPACED_WORD.finditer(text, start, end) if self._is_wanted(word[0]))
        of_pieces = (hit.span(1) for hit in self.pieces.finditer(text, start, end)) if self.pieces else iter(())
        return of_words, of_pieces

    def _is_wanted(self, word: str) -> bool:
        term = _stem((word if word.isascii() else unicodedata.normalize("NFKC", word)).casefold())
        return term in self.words or (self.begun is not None and term.startswith(self.begun))


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join spans that touch: pairs of a longer word overlap."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
