"""What every test stands on: no setting of the developer's leaks in, and in CI nothing is skipped."""

import os
import signal
from collections.abc import Iterator

import pytest
import structlog

pytest_plugins = ["support.counting", "support.scheduling", "support.statements", "support.worlds"]

# structlog's own formatter draws every variable of every frame with rich: one logged exception takes a second or more.
_PLAIN = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Give the tests a home of their own, and no other HOMING_* variable but the one of CI."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("HOMING_") and name != "HOMING_CI"]:
            patch.delenv(name)
        patch.setenv("HOMING_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _heard_ctrl_c() -> None:  # pyright: ignore[reportUnusedFunction]
    """Let every process that a test starts hear Ctrl-C: a suite run in the background, as in CI, hands on deaf ears."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _plain_logs() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Let no command that a test runs in its own process decide where the next test's logs go."""
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], _PLAIN])
    yield
    structlog.reset_defaults()
