"""Names that are one plain component everywhere, and types that a file's name cannot decide."""

import pytest

from homing.model.files import INLINE, safe_name, sniff

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\photo.jpg", "photo.jpg"),
        ("a\x00b\x1b[2Jc\nd.txt", "ab[2Jcd.txt"),
        ("invoice\u202egpj.exe", "invoicegpj.exe"),
        ("..", "file"),
        ("", "file"),
        (".bashrc", "bashrc"),
        ("name. . ", "name"),
        ("CON", "_CON"),
        ("nul.txt", "_nul.txt"),
        ('a<b>:"|?*`$.png', "a_b________.png"),
        ("Stra\u00dfe \U0001f426.png", "Stra\u00dfe \U0001f426.png"),
        ("e\u0301.txt", "\u00e9.txt"),
        ("half \ud800.txt", "half .txt"),
    ],
)
def test_a_name_becomes_one_plain_component(given: str, kept: str) -> None:
    assert safe_name(given) == kept


@pytest.mark.parametrize("letter", ["x", "\u00e9", "\U0001f426"])
def test_a_long_name_is_cut_and_keeps_its_extension(letter: str) -> None:
    kept = safe_name(f"{letter * 300}.tar.gz")
    assert len(kept.encode()) <= 200
    assert kept.startswith(letter)
    assert kept.endswith(".gz")
    assert len(safe_name(letter * 300).encode()) <= 200


@pytest.mark.parametrize(
    ("head", "name", "kind"),
    [
        (PNG, "x.png", "image/png"),
        (PNG, "x.html", "image/png"),
        (b"\xff\xd8\xff\xe0", "x.png", "image/jpeg"),
        (b"GIF89a...", "x", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "x", "image/webp"),
        (b"%PDF-1.7\n", "x.txt", "application/pdf"),
        (b"<svg xmlns='x'><script>alert(1)</script>", "x.png", "image/svg+xml"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a --><svg>", "x.svg", "image/svg+xml"),
        (b"  <!DOCTYPE html><p>", "x.jpg", "text/html"),
        (b"<script>1</script>", "x.txt", "text/html"),
        (b"a,b\n1,2\n", "x.csv", "text/csv"),
        (b"# Title\n", "x.md", "text/markdown"),
        (b"plain words", "x.png", "text/plain"),
        ("gr\u00fc\u00df".encode()[:-1], "cut inside a character.txt", "text/plain"),
        (b"a\0b", "x.txt", "application/octet-stream"),
        (b"\xfe\xff\x00a", "x.txt", "application/octet-stream"),
        (b"PK\x03\x04...", "x.zip", "application/zip"),
        (b"PK\x03\x04...", "x.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        (b"PK\x03\x04...", "x.png", "application/zip"),
        (b"\0\0\0\x18ftypmp42", "x.mp4", "video/mp4"),
    ],
)
def test_the_content_decides_the_type_and_the_name_only_tells_kinds_apart(head: bytes, name: str, kind: str) -> None:
    assert sniff(head, name) == kind


@pytest.mark.parametrize("name", ["x.png", "x.jpg", "x.gif", "x.webp"])
def test_no_name_makes_a_page_or_a_drawing_a_picture_that_is_shown_in_place(name: str) -> None:
    for head in (b"<svg/>", b"<html>", b"words", b"\x00\x01"):
        assert sniff(head, name) not in INLINE


def test_many_comments_before_the_first_element_are_read_once() -> None:
    # With a pattern that could give a comment back, this would not end within a lifetime.
    assert sniff(b"<!---->" * 580 + b"x", "page.txt") == "text/plain"
    assert sniff(b"<!-- a -->\n" * 300 + b"<svg>", "drawing.txt") == "image/svg+xml"
