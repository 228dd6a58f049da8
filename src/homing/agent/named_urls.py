"""Whether a URL was named by somebody, letter by letter, in what a model was shown (rule 41)."""

import re
from collections.abc import Iterator

from homing.agent.journal import Shown

_URL = re.compile(r"(?P<scheme>https?)://(?P<host>[^/?#]+)(?P<rest>[^#]*)", re.IGNORECASE)
# What may stand before and behind a URL in a text. A fragment is not sent, so it may stand there too.
_BEFORE = r"(?<![\w.@-])(?P<scheme>(?i:https?://))?"
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


def named(url: str, shown: Shown) -> str | None:
    """Give a URL as it stands in what was shown; None where it stands there only otherwise.

    The host's case, the scheme where it is left out there and one slash at the end may differ. What stood there is what
    may be sent: an own spelling could tell something.
    """
    read = _read(url)
    if read is None:
        return None
    rest = read["rest"]
    spellings = [rest] if "?" in rest else [rest, rest.removesuffix("/"), f"{rest}/"]
    # The same spelling first: both may stand there.
    for spelling in dict.fromkeys(spellings):
        pattern = re.compile(f"{_BEFORE}(?P<url>(?i:{re.escape(read['host'])}){re.escape(spelling)}){_BEHIND}")
        for text in shown.texts:
            if spelling in text and (found := pattern.search(text)):
                return f"{found['scheme'] or read['scheme'] + '://'}{found['url']}"
    return None


def stands(url: str, shown: Shown) -> bool:
    """Say whether a text may have this URL in it from now on: as it was shown, or without its last slash.

    With a slash more it would be a new spelling, and one after the other could be made of it.
    """
    found = named(url, shown)
    read, there = _read(url), _read(found) if found else None
    return read is not None and there is not None and (read["rest"] == "/" or len(read["rest"]) <= len(there["rest"]))


def _read(url: str) -> re.Match[str] | None:
    # A fragment and an empty query say nothing.
    return _URL.fullmatch(url.strip().partition("#")[0].removesuffix("?"))
