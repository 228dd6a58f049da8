"""What an index or a resolver said, made fit to be shown: short, without addresses, credentials and our paths."""

import re
from pathlib import Path

from homing.model.errors import Failed, shortened

NO_UV = "Installing packages from pip needs uv: pip install 'homing[packages]', or put uv into PATH."
NO_PYTHON = (
    "Installing packages needs a python3 in /usr/bin or /usr/local/bin:"
    " sudo apt install python3 (dnf, pacman likewise)."
)
NO_NPM = (
    "Installing packages from npm needs node and npm in /usr/bin or /usr/local/bin:"
    " sudo apt install nodejs npm (dnf, pacman likewise)."
)
AWAY = "The packages could not be looked up now. Try again later."
_MAX_WORDS = 600
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:/{2,3}[^\s`'\")]+", re.IGNORECASE)
_HOST = re.compile(r"(?<=ENOTFOUND )\S+|(?<=EAI_AGAIN )\S+|\S+:\d+(?=\s|$)|\d+(\.\d+){3}:\d+")
_PATH = re.compile(r"(?<![\w@.])/[\w.~-]+(/[^\s`'\":,)]*)?")
_DECORATION = re.compile(r"[×╰─▶├│╮╭]+|^(error|warning|hint|npm error|npm warn):?\s", re.MULTILINE)
# What uv and npm advise is about their own options and logs, which nobody has here.
_ADVICE = re.compile(
    r"^\W*hint:.*?(?=\n\s*\n|\Z)|^npm error A complete log of this run[^\n]*", re.MULTILINE | re.DOTALL | re.IGNORECASE
)
_CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


class IndexAway(Failed):
    """The index could not be asked; nothing is known about the packages. `error` is what was said, for a log."""

    def __init__(self, error: str) -> None:
        super().__init__(AWAY)
        self.error = error


class BuildFailed(Failed):
    """An environment could not be built; nothing has changed."""


def words_of(printed: str, *folders: Path) -> str:
    """Give what a program printed as one short text."""
    text = _ADVICE.sub("", _CONTROL.sub("", printed))
    for folder in folders:
        text = text.replace(str(folder), "")
    text = _HOST.sub("the index", _ADDRESS.sub("the index", text))
    text = _PATH.sub("a file", _DECORATION.sub(" ", text))
    return shortened(" ".join(text.split()), _MAX_WORDS)
