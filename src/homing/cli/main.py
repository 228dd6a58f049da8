"""The rim of every command: whatever goes wrong becomes one sentence and an exit code, never a trace."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

import typer

from homing.cli.output import abandon_stdout
from homing.cli.problems import DEBUG, Problem, exit_code, failed, hint_of, refused, told
from homing.cli.tree import tree
from homing.cli.visible import visible
from homing.model.errors import Error, Refused


def run(args: Sequence[str]) -> int:
    """Run one command; return its exit code."""
    as_json = "--json" in args
    _forgive_narrow_encodings(sys.stdout, sys.stderr)
    try:
        code = tree().main(args=list(args), prog_name="homing", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_stdout()
        return 0
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("\nStopped.\n")
        return 130
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        return _tell(_as_problem(error), as_json=as_json)
    return code if isinstance(code, int) else 0


def _as_problem(error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case typer.TyperException():
            return refused(error.format_message(), code="usage", hint=_usage(error))
        case Refused():
            return refused(error.detail, code=error.code)
        case Error():
            return failed(str(error))
        case OSError() if error.filename:
            return failed(f"{error.filename}: {error.strerror}.")
        case _:
            given = str(error).strip().partition("\n")[0]
            return failed(
                f"Something went wrong that should not: {type(error).__name__}{f': {given}' if given else ''}.",
                code="internal",
                hint=f"This is a bug in Homing. {DEBUG}=1 shows where; `homing doctor` looks for the usual causes.",
            )


def _usage(error: typer.TyperException) -> str | None:
    context = getattr(error, "ctx", None)
    return f"Try `{context.command_path} --help`." if context is not None else None


def _tell(problem: Problem, *, as_json: bool) -> int:
    sys.stderr.write(f"{visible(told(problem, as_json=as_json))}\n")
    if not as_json and (hint := hint_of(problem)):
        sys.stderr.write(f"{visible(hint)}\n")
    return exit_code(problem)


def _forgive_narrow_encodings(*streams: TextIO) -> None:
    for stream in streams:
        with suppress(AttributeError, ValueError):
            # A terminal that cannot show a glyph shows a question mark instead of failing.
            stream.reconfigure(errors="replace")  # type: ignore[attr-defined]
