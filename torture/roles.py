"""What a forked process becomes: the command `homing` as it is, a sick one, the model, or a receiver of webhooks."""

import argparse
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

_LOADED = (
    "alembic.command", "psycopg", "pydantic_ai.models.openai", "pydantic_ai.providers.openai", "homing.cli.instance",
    "homing.cli.logs", "homing.engine.restate", "homing.cli.main", "homing.cli.process", "homing.cli.serving",
    "homing.testing.stub_server", "homing.testing.webhook_receiver", "torture.model", "torture.sick",
)  # fmt: skip


def preload() -> None:
    """Load what any role needs, so that no fork has to. Nothing here may start a thread."""
    for name in _LOADED:
        import_module(name)


def homing(arguments: list[str]) -> None:
    """Be `homing …`, exactly."""
    from homing.cli.main import run

    sys.exit(run(arguments))


def sick(arguments: list[str]) -> None:
    """Be `homing up` or `homing work` with a clock that jumps, a disk that fills and two tools more."""
    from torture.sick import live

    command, panel, deeds = arguments
    live(command, Path(panel), Path(deeds))


def model(arguments: list[str]) -> None:
    """Be the model server."""
    from homing.testing import Script, StubModelServer
    from homing.testing.process import run_until_told
    from torture.model import play

    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--log", type=Path, required=True)
    options = parser.parse_args(arguments)
    script = Script()
    script.otherwise(play)
    with StubModelServer(port=options.port, log=options.log, script=script) as stub:
        run_until_told({"url": stub.url})


def receiver(arguments: list[str]) -> None:
    """Be the receiver of webhooks."""
    from homing.testing.webhook_receiver import main

    sys.argv = ["receiver", *arguments]
    main()


ROLES: Mapping[str, Callable[[list[str]], None]] = {
    "homing": homing,
    "sick": sick,
    "model": model,
    "receiver": receiver,
}
