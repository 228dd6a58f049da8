"""Terms of a text that both databases can index: words, and bigrams where a language writes no spaces."""

import re
import unicodedata

# Han, kana, Hangul, Thai, Lao, Khmer, Myanmar: scripts that run words together (or, for Hangul, glue endings on).
_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+")
_WORD = re.compile(r"[^\W_]+")
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
