"""A workspace's owner is its uid: as root each has one of its own."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from homing.sandbox.bubblewrap import UIDS
from homing.sandbox.errors import NoSandbox
from homing.sandbox.workspaces import make_workspace


def test_a_workspace_is_its_owners_alone(tmp_path: Path) -> None:
    make_workspace(tmp_path / "workspaces" / "main")

    assert (tmp_path / "workspaces" / "main").stat().st_mode & 0o777 == 0o700


def test_as_root_each_workspace_has_a_uid_of_its_own_and_keeps_it(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("need root")
    folders = [tmp_path / "workspaces" / str(n) for n in range(20)]
    with ThreadPoolExecutor(8) as together:
        list(together.map(make_workspace, folders))
    uids = [folder.stat().st_uid for folder in folders]
    for folder in folders:
        make_workspace(folder)

    assert len(set(uids)) == len(uids)
    assert set(uids) <= set(UIDS)
    assert uids == [folder.stat().st_uid for folder in folders]


def test_as_root_a_folder_with_somebody_elses_files_stays_theirs(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("need root")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "notes.txt").write_text("x")
    with pytest.raises(NoSandbox, match="was not made as a workspace, and it is not empty"):
        make_workspace(tmp_path / "project")

    assert (tmp_path / "project").stat().st_uid == 0
