"""Whether a URL was named by somebody, letter by letter, in what a model was shown (rule 41)."""

import re
from collections.abc import Iterator

from homing.agent.journal import Shown

_URL = re.compile(r"(?P<scheme>https?)://(?P<host>[^/?#]+)(?P<rest>[^#]*)", re.IGNORECASE)
# What may stand before and behind a URL in a text. A fragment is not sent, so it may stand there too.
_BEFORE = r"(?<![\w.@-])(?:https?://)?"
_BEHIND = r"(?=[.,;:!?'\")\]}>*_|`~]*(?:[\s<>()\[\]{}\"'|#`]|[^\x00-\x7f]|\Z))"

_IN_TEXT = re.compile(r"https?://[^\s<>\"'`|\\^{}\[\]]+", re.IGNORECASE)


def urls_in(text: str) -> Iterator[str]:
    """Find the whole URLs of a text, without the punctuation behind them."""
    for found in _IN_TEXT.finditer(text):
        url = found[0].rstrip(".,;:!?*_~")
        while url.endswith(")") and url.count(")") > url.count("("):
            url = url[:-1].rstrip(".,;:!?*_~")
        yield url


def host_of(url: str) -> str:
    """Give the host of a URL, in small letters."""
    read = _URL.match(url)
    return read["host"].casefold() if read else ""


def stands(url: str, shown: Shown) -> bool:
    """Say whether a URL stands in what was shown letter by letter; only the scheme may be left out there."""
    read = _URL.fullmatch(url.strip().partition("#")[0])
    if read is None:
        return False
    host, rest = read["host"], read["rest"]
    # A slash at the very end says nothing.
    plain = rest if "?" in rest else rest.rstrip("/")
    closing = "" if "?" in rest else "/?"
    pattern = re.compile(f"{_BEFORE}(?i:{re.escape(host)}){re.escape(plain)}{closing}{_BEHIND}")
    return any(plain in text and pattern.search(text) for text in shown.texts)
