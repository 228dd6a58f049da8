"""Logs of this process, set up once: plain lines on stderr, no values of variables in traces, no secrets."""

import logging
import os
import sys
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
            # A rich traceback would show local variables, and those hold tokens and people's words.
            structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=structlog.dev.plain_traceback),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if _debugging() else level),
        # stderr as it is at the time of each line: whoever captured it for a while has given it back by then.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(
        level=logging.WARNING, stream=sys.stderr, format="%(asctime)s [%(levelname)s] %(name)s: %(message)s", force=True
    )


def _drop_dull_requests(_logger: Any, _method: str, event: Any) -> Any:
    if event.get("action") == "request" and event.get("status", 0) < 500 and not _debugging():
        raise structlog.DropEvent
    return event


def _debugging() -> bool:
    return bool(os.environ.get(DEBUG))
