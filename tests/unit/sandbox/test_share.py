"""The shared folder has an id that the database keeps too, and a workspace for any ids there are."""

from pathlib import Path

import pytest

from homing.sandbox.errors import NoSandbox
from homing.sandbox.share import make_share_id, open_share, read_share_id


def test_the_first_use_of_a_folder_gives_it_its_id(tmp_path: Path) -> None:
    share_id = make_share_id(tmp_path / "share")

    assert len(share_id) == 32
    assert make_share_id(tmp_path / "share") == read_share_id(tmp_path / "share") == share_id
    assert [path.name for path in (tmp_path / "share").iterdir()] == ["share-id"]
    assert open_share(tmp_path / "share", share_id).folder == tmp_path / "share"


def test_another_folder_is_refused_and_says_how_to_go_on(tmp_path: Path) -> None:
    make_share_id(tmp_path / "other")

    with pytest.raises(NoSandbox, match="its share-id differs"):
        open_share(tmp_path / "other", "a" * 32)
    with pytest.raises(NoSandbox, match=r"has no share-id file.*To start with empty workspaces"):
        open_share(tmp_path / "missing", "a" * 32)
    assert not (tmp_path / "missing").exists()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(NoSandbox, match="Workspaces are off here"):
        make_share_id(tmp_path / "file" / "share")


def test_each_agent_and_user_has_a_workspace_whatever_their_ids_are(tmp_path: Path) -> None:
    share = open_share(tmp_path, make_share_id(tmp_path))
    owners = [("main", "default"), ("main", "../../etc"), ("main", "."), ("main", "a/b"), ("main", "Ä" * 200)]
    owners += [("main-a", "b"), ("main", "a-b"), ("main", "A-b"), ("main", ""), ("", "main"), ("main", "\ud800\0\n")]
    folders = {share.workspace(*owner).folder for owner in owners}

    assert len(folders) == len(owners)
    assert {folder.parent for folder in folders} == {tmp_path / "workspaces"}
    assert all(folder.is_dir() and len(folder.name) < 128 for folder in folders)
    assert share.workspace("main", "default").folder.name.startswith("main-default-")
    assert share.workspace("main", "default") == share.workspace("main", "default")
