"""Secrets in URLs: the HTTP client logs URLs once a program sets its level to INFO."""

import logging
from collections.abc import Callable


class _Hide(logging.Filter):
    def __init__(self, hide: Callable[[str], str]) -> None:
        super().__init__()
        self._hide = hide

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        shown = self._hide(said)
        if shown != said:
            record.msg, record.args = shown, ()
        return True


def hide_in_http_log(hide: Callable[[str], str]) -> None:
    """Let this change every line that the HTTP client logs, from now on; called once, where a module begins."""
    logging.getLogger("httpx2").addFilter(_Hide(hide))
