"""What the sandbox shows of this machine for a program that an administrator names."""

import pwd
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
    for folder in (
        "pythons/3.13/lib/python3.13",
        "pythons/3.13/lib/other",
        "pythons/3.13/secrets",
        "env/lib/python3.13",
    ):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "pythons/3.13/lib/libpython3.13.so.1.0").touch()
    (tmp_path / "env/bin/python").symlink_to(python)
    found = find_command(str(server), private=[tmp_path / "home"])

    assert found.path == server
    base = tmp_path / "pythons/3.13"
    assert found.reads == (
        tmp_path / "env",
        base / "bin/python3.13",
        base / "lib/python3.13",
        base / "lib/libpython3.13.so.1.0",
    )
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


@pytest.mark.parametrize("environment", ["", "ann", "ann/.local"])
def test_no_folder_that_is_or_holds_a_home_or_its_local_folder_is_shown(
    tmp_path: Path, environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "ann"))
    server = program(tmp_path / environment / "bin/server")
    (tmp_path / environment / "pyvenv.cfg").touch()

    with pytest.raises(Invalid, match="in Homing's or a user's private folder"):
        find_command(str(server), private=[])


def test_the_home_of_any_user_of_the_machine_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = pwd.struct_passwd(("bob", "x", 1234, 1234, "", str(tmp_path / "srv/bob"), "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwall", lambda: [entry])
    server = program(tmp_path / "srv/bob/bin/server")
    (tmp_path / "srv/bob/pyvenv.cfg").touch()

    with pytest.raises(Invalid, match="in Homing's or a user's private folder"):
        find_command(str(server), private=[])


def test_an_environment_in_a_home_made_from_a_python_in_local_shows_only_that_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    python = program(tmp_path / ".local/bin/python3.13")
    program(tmp_path / ".local/bin/other")
    server = program(tmp_path / "env/bin/server")
    (tmp_path / "env/pyvenv.cfg").touch()
    (tmp_path / "env/bin/python").symlink_to(python)

    assert find_command(str(server), private=[]).reads == (tmp_path / "env", python)


@pytest.mark.parametrize("name", ["no-such-program", "/no/such/program", "./sh", ""])
def test_a_program_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match=r"There is no program|not a whole path"):
        find_command(name, private=[])


def test_where_there_are_secrets_a_package_stands_in_for_no_program_of_the_system(tmp_path: Path) -> None:
    own = program(tmp_path / "bin/owl-server")
    program(tmp_path / "bin/sh")
    first = find_command("sh", private=[], environment=tmp_path)
    assert first.path == tmp_path / "bin/sh"
    assert first.search_path.startswith(f"{tmp_path}/bin:")
    guarded = find_command("sh", private=[], environment=tmp_path, system_first=True)
    assert not guarded.path.is_relative_to(tmp_path)
    assert guarded.search_path == f"{SEARCHED}:{tmp_path}/bin:{tmp_path}/node_modules/.bin"
    # What only the package has is still found.
    assert find_command("owl-server", private=[], environment=tmp_path, system_first=True).path == own
