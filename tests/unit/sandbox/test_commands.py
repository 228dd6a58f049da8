"""What the sandbox shows of this machine for a program that an administrator names."""

from pathlib import Path

import pytest

from homing.model.errors import Invalid
from homing.sandbox.bubblewrap import SEARCHED
from homing.sandbox.commands import find_command


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_program_of_the_system_needs_nothing_more() -> None:
    found = find_command("sh", private=[])

    assert found.reads == ()
    assert found.search_path == SEARCHED


def test_a_program_of_a_virtual_environment_is_shown_with_it_and_the_python_it_was_made_from(tmp_path: Path) -> None:
    python = program(tmp_path / "pythons/3.13/bin/python3.13")
    server = program(tmp_path / "env/bin/mcp-server-time")
    (tmp_path / "env/pyvenv.cfg").touch()
    (tmp_path / "env/bin/python").symlink_to(python)
    found = find_command(str(server), private=[tmp_path / "home"])

    assert found.path == server
    assert found.reads == (tmp_path / "env", tmp_path / "pythons/3.13")
    assert found.search_path == f"{tmp_path}/env/bin:{SEARCHED}"


def test_a_program_of_node_is_shown_with_its_packages(tmp_path: Path) -> None:
    script = program(tmp_path / "app/node_modules/server/dist/index.js")
    link = tmp_path / "app/node_modules/.bin/server"
    link.parent.mkdir()
    link.symlink_to("../server/dist/index.js")

    assert find_command(str(link), private=[]).reads == (tmp_path / "app/node_modules",)
    assert script.exists()


def test_any_other_program_is_shown_alone(tmp_path: Path) -> None:
    server, link = program(tmp_path / "bin/server"), tmp_path / "links/server"
    link.parent.mkdir()
    link.symlink_to(server)

    assert find_command(str(server), private=[]).reads == (server,)
    assert find_command(str(link), private=[]).reads == (link, server)


@pytest.mark.parametrize("home", ["env", "env/home", "."])
def test_nothing_around_homings_own_files_is_shown(tmp_path: Path, home: str) -> None:
    server = program(tmp_path / "env/bin/server")
    (tmp_path / "env/pyvenv.cfg").touch()

    with pytest.raises(Invalid, match="Install it into a folder of its own"):
        find_command(str(server), private=[tmp_path / home])


@pytest.mark.parametrize("name", ["no-such-program", "/no/such/program", "./sh", ""])
def test_a_program_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match=r"There is no program|not a whole path"):
        find_command(name, private=[])
