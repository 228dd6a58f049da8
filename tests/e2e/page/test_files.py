"""Files of messages in the conversation: named, measured, and downloaded with the page's own key."""

import json
import struct
import zlib
from pathlib import Path

import pytest
from playwright.sync_api import expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House
from homing.testing import StubModelServer

pytestmark = pytest.mark.slow


def test_a_message_shows_its_files_and_gives_them_back(
    house: House, stub: StubModelServer, new_window: OpenWindow, tmp_path: Path
) -> None:
    key = house.session("web:papers", "Papers")
    sent = tmp_path / "prices & plans.csv"
    sent.write_text("apple,1.20\n" * 200)
    stub.when("prices", "I see a file.")
    file = json.loads(house.command("files", "add", str(sent), "--json"))
    house.post(f"/sessions/{key}/messages?wait=60", files=[file["id"]])
    page = new_window(house).open(f"/chat/{key}")
    files = page.get_by_role("log").get_by_role("list", name="Files")
    expect(files).to_contain_text("prices & plans.csv")
    expect(files).to_contain_text("2 kB")
    expect(page.get_by_role("log").get_by_text("Sent without text")).to_be_visible()
    assert violations(page) == []
    with page.expect_download() as taken:
        files.get_by_role("button", name="Download prices & plans.csv").click()
    assert Path(taken.value.path()).read_text() == sent.read_text()


def test_a_picture_is_shown_in_the_chat_and_opens_large(
    house: House, stub: StubModelServer, new_window: OpenWindow, tmp_path: Path
) -> None:
    key = house.session("web:pictures", "Pictures")
    stub.when("look", "I see them.")
    files = []
    # What a file is says its content: one is a picture with the name of a text, one only has the name of a picture.
    for name, content in {
        "red dot.png": picture(600, 900),
        "notes.txt": picture(3, 2),
        "fake.png": b"no picture",
    }.items():
        (tmp_path / name).write_bytes(content)
        files.append(json.loads(house.command("files", "add", str(tmp_path / name), "--json"))["id"])
    house.post(f"/sessions/{key}/messages?wait=60", text="look", files=files)
    page = new_window(house).open(f"/chat/{key}")
    log = page.get_by_role("log")
    shown = log.get_by_alt_text("red dot.png")
    expect(shown).to_be_visible()
    expect(log.get_by_alt_text("notes.txt")).to_be_visible()
    expect(log.get_by_text("fake.png")).to_be_visible()
    expect(log.locator("img")).to_have_count(2)
    box = shown.bounding_box()
    assert box is not None
    assert box["height"] <= 192
    assert violations(page) == []
    log.get_by_role("button", name="Open red dot.png").click()
    large = page.get_by_role("dialog", name="red dot.png").get_by_role("img")
    expect(large).to_be_visible()
    # More than in the chat, and not more than the window.
    assert 192 < (large.bounding_box() or {"height": 0})["height"] <= 900
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(log.get_by_role("button", name="Open red dot.png")).to_be_focused()


def picture(width: int, height: int) -> bytes:
    """Draw a red PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\x00" + b"\xcc\x22\x22" * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
