"""`homing files`: with a server and without one, a file goes in and comes back as it was."""

from pathlib import Path

import pytest

from support.commands import Homing

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 2000


@pytest.fixture(params=["server", "no server"])
def anywhere(request: pytest.FixtureRequest, homing: Homing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homing:
    if request.param == "server":
        request.getfixturevalue("server")
    monkeypatch.chdir(tmp_path)
    return homing


def test_a_file_goes_in_and_comes_back(anywhere: Homing, tmp_path: Path) -> None:
    (tmp_path / 'b\u00efrd "1".jpg').write_bytes(PNG)
    file = anywhere("files", "add", 'b\u00efrd "1".jpg', "--json").object
    assert (file["name"], file["media_type"], file["bytes"]) == ("b\u00efrd _1_.jpg", "image/png", len(PNG))
    got = anywhere("files", "get", file["id"])
    assert "Wrote b\u00efrd _1_.jpg." in got.out
    assert (tmp_path / "b\u00efrd _1_.jpg").read_bytes() == PNG
    again = anywhere("files", "get", file["id"])
    assert (again.code, "exists already" in again.err) == (2, True)
    assert anywhere("files", "get", file["id"], "-o", "other.png").code == 0
    assert (tmp_path / "other.png").read_bytes() == PNG
    missing = anywhere("files", "get", "file_nothere", "-o", "missing")
    assert (missing.code, "There is no file file_nothere" in missing.err) == (2, True)
    assert not list(tmp_path.glob("*missing*")) + list(tmp_path.glob(".*partial"))


def test_what_cannot_be_sent_is_said_before_a_byte_goes_out(anywhere: Homing, tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as big:
        big.truncate((25 << 20) + 1)
    (tmp_path / "empty").touch()
    for path, words in {
        "nowhere": "cannot be read: No such file",
        ".": "is not a file",
        "big": "at most 25 MB",
        "empty": "The file is empty",
    }.items():
        said = anywhere("files", "add", path)
        assert said.code in (1, 2)
        assert words in said.err


def test_a_file_goes_with_a_message(anywhere: Homing, tmp_path: Path) -> None:
    (tmp_path / "bird.png").write_bytes(PNG)
    assert anywhere("send", "What is this?", "--file", "bird.png", "--file", "bird.png").code == 0
    assert anywhere("send", "again", "-f", "nowhere").code == 1
    assert "Sent to cli:main" in anywhere("send", "main", "plain").out


def test_the_files_of_a_conversation_are_listed_and_shown(homing: Homing, server: object, tmp_path: Path) -> None:
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text(name)
        homing("send", f"Look at {name}", "--file", str(tmp_path / name), "--wait")
    listed = homing("files", "list", "--json").object["items"]
    assert [file["name"] for file in listed] == ["two.txt", "one.txt"]
    line = f"{listed[0]['id']}  two.txt  (text/plain, 7 bytes)"
    assert line in homing("files", "list").out
    assert line in homing("sessions", "get", "cli:main").out
    assert len(homing("files", "list", "--limit", "1", "--json").object["items"]) == 1
    homing("send", "web:empty", "hello", "--wait")
    assert "No files in web:empty yet." in homing("files", "list", "web:empty").out
