"""Logs of this process, set up once: plain lines on stderr, no values of variables in traces, no secrets.

A line that cannot be written is lost, and nothing else: a full disk must not turn an answer into an error.
"""

import logging
import os
import sys
from contextlib import suppress
from typing import Any

import structlog

from homing.cli.problems import DEBUG


def set_up_logs() -> None:
    """Log what happens to stderr; requests that went well only while debugging."""
    _configure(logging.INFO)


def quiet_logs() -> None:
    """Log only what is wrong: a command's stderr is for its own words."""
    _configure(logging.WARNING)


def _configure(level: int) -> None:
    colours = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    structlog.configure(
        processors=[
            _drop_dull_requests,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _escape_controls,
            # A rich traceback would show local variables, and those hold tokens and people's words.
            structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=structlog.dev.plain_traceback),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if _debugging() else level),
        # stderr as it is at the time of each line: a capture that replaced it has ended by then.
        logger_factory=lambda *_: _Lines(sys.stderr),
        cache_logger_on_first_use=False,
    )
    others = logging.StreamHandler(sys.stderr)
    others.setFormatter(_Escaping("%(asctime)s [%(levelname)s] %(name)s: %(message)s"))
    # A line that cannot be written is not reported either.
    others.handleError = lambda record: None
    logging.basicConfig(level=logging.WARNING, handlers=[others], force=True)


class _Lines(structlog.PrintLogger):
    """Prints lines, where they can be printed."""

    def msg(self, message: str) -> None:
        with suppress(OSError, ValueError):
            super().msg(message)

    log = debug = info = warn = warning = msg
    fatal = failure = err = error = critical = exception = msg


class _Escaping(logging.Formatter):
    """Formats lines of libraries; what came from outside cannot steer a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return _escaped(super().format(record), but="\n\t")


def _escape_controls(_logger: Any, _method: str, event: Any) -> Any:
    return {
        name: _escaped(value, but="\n\t" if name == "exception" else "") if isinstance(value, str) else value
        for name, value in event.items()
    }


def _escaped(text: str, *, but: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in but else char.encode("unicode_escape").decode("ascii") for char in text
    )


def _drop_dull_requests(_logger: Any, _method: str, event: Any) -> Any:
    if event.get("event") == "request" and event.get("status", 0) < 500 and not _debugging():
        raise structlog.DropEvent
    return event


def _debugging() -> bool:
    return bool(os.environ.get(DEBUG))
