"""Which encodings of text from outside are read. Pure."""

import codecs
import re

# Encodings of the web and of mail. Python knows more, and some of those take very long.
_ENCODING = re.compile(
    r"utf-(8|16|16-le|16-be)|ascii|iso8859-\d+|cp(1\d\d\d|866|874|932|949)|koi8-[rut]|mac-\w+|gb\w+|big5\w*|euc_\w+|shift_jis\w*|iso2022_\w+|johab|tis-620"
)


def known_encoding(name: str) -> str | None:
    """Give Python's name of an encoding; None for one that is not read."""
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    # What calls itself Latin-1 is Windows', nearly always.
    return {"iso8859-1": "cp1252", "ascii": "cp1252"}.get(known, known) if _ENCODING.fullmatch(known) else None
