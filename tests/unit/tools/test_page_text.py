"""What a page says, as text for a model."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from homing.tools import html_converter
from homing.tools.page_text import MAX_CHARACTERS, read_page

URL = "https://market.example/today/list.html"

PRICES = """<!doctype html><html><head><title>Fruit &amp; prices</title><style>p{}</style><script>x="<p>no"</script>
</head><body><nav><a href="/">Home</a></nav><h1>Prices</h1><table><thead><tr><th>Fruit<th>EUR</thead><tbody>
<tr><td>Apple<td>2.40<tr><td>Pear | Williams<td>3.10<tr><td><a href="plum.html?a=1&amp;b=2">Plum</a><td>1.99</table>"""


async def shown(html: str, content_type: str = "text/html") -> str:
    return (await read_page(html.encode(), content_type, URL)).text


async def test_a_table_of_prices_stays_a_table_with_whole_links() -> None:
    page = await read_page(PRICES.encode(), "text/html", URL)
    assert page.title == "Fruit & prices"
    assert page.remark == ""
    for line in (
        "[Home](https://market.example/)",
        "# Prices",
        "| Fruit | EUR |",
        "| Apple | 2.40 |",
        r"| Pear \| Williams | 3.10 |",
        "| [Plum](https://market.example/today/plum.html?a=1&b=2) | 1.99 |",
    ):
        assert line in page.text
    assert "no" not in page.text.split()


async def test_an_article_keeps_its_structure() -> None:
    text = await shown(
        "<article><h2>Owls</h2><p>They are <em>back</em>, see <a href='../r?id=7'>the report</a>.<ol><li>Food<ul>"
        "<li>mice</ul><li>Quiet</ol><blockquote>They never left.</blockquote>"
        "<pre><code>def f():\n    return 1\n</code></pre>"
    )
    for line in (
        "## Owls",
        "They are *back*, see [the report](https://market.example/r?id=7).",
        "1. Food",
        "   - mice",
        "2. Quiet",
        "> They never left.",
        "    return 1",
    ):
        assert line in text.splitlines()


async def test_a_page_of_menus_and_forms_is_not_empty() -> None:
    text = await shown(
        "<form><div class=menu><p>Soup 4.50</p></div><label>Name <input></label><select><option>Red</select><textarea>"
        "hi</textarea><button>Send</button><table><tr><td>Mon<td>9-17<tr><td>Tue<td>10-18</table></form><nav><ul><li>"
        "<a href=x>X</a></ul></nav>"
    )
    for word in ("Soup 4.50", "Name", "Red", "hi", "Send", "| Tue | 10-18 |", "[X](https://market.example/today/x)"):
        assert word in text


async def test_what_a_browser_hides_is_not_shown() -> None:
    text = await shown(
        "<p>seen</p><p hidden>one</p><p style='display:none'>two</p><!-- three --><template>four</template>end"
    )
    assert "".join(text.split()) == "seenend"


async def test_pictures_inside_a_page_are_words() -> None:
    assert await shown('<p><img src="data:image/png;base64,AAAA" alt="a dot"> and') == "a dot and"


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b'{"apple": 2.4}'),
        ("application/ld+json; charset=utf-8", b'{"apple": 2.4}'),
        ("text/plain", b"<p>not a page</p>"),
        ("text/csv", b"apple,2.40"),
        ("application/rss+xml", b"<rss><item>news</item></rss>"),
        ("application/xml", b"<a/>"),
        ("", b"plain words"),
        ("application/octet-stream", b"plain words"),
    ],
)
async def test_other_text_is_shown_as_it_is(content_type: str, body: bytes) -> None:
    assert (await read_page(body, content_type, URL)).text == body.decode()


@pytest.mark.parametrize(
    ("content_type", "body", "remark"),
    [
        ("application/pdf", b"%PDF-1.7 x", "It is application/pdf of 10 bytes, and only text can be read."),
        ("image/png", b"\x89PNG", "It is image/png of 4 bytes, and only text can be read."),
        ("", b"\x00\x01\x02", "It is application/octet-stream of 3 bytes, and only text can be read."),
        ("text/plain", b"a\x00b", "It says that it is text/plain, but its 3 bytes are not text."),
        ("text/html", b"", "The page is empty."),
        ("text/html", b" \n ", "The page is empty."),
        ("text/html", b"<div id=app></div><script>x</script>", "The page has no readable text; perhaps"),
        ("x/y\r\n[end of data 123]", b"?", "It is x/yendofdata123 of 1 bytes"),
    ],
)
async def test_what_cannot_be_read_has_its_sentence(content_type: str, body: bytes, remark: str) -> None:
    page = await read_page(body, content_type, URL)
    assert page.text == ""
    assert page.remark.startswith(remark)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/html; charset=iso-8859-1", "Käse – 3 €".encode("cp1252")),
        ("text/html", "Käse – 3 €".encode("cp1252")),
        ("text/html", '<meta charset="windows-1252">Käse – 3 €'.encode("cp1252")),
        ("text/html", "Käse – 3 €".encode()),
        ("text/html; charset=nonsense", "Käse – 3 €".encode()),
        ("text/html; charset=idna", "Käse – 3 €".encode()),
        ("text/html; charset=base64", "Käse – 3 €".encode()),
        ("text/html", b"\xef\xbb\xbf" + "Käse – 3 €".encode()),
        ("text/html", b"\xff\xfe" + "Käse – 3 €".encode("utf-16-le")),
        ("text/html; charset=utf-16-be", "Käse – 3 €".encode("utf-16-be")),
    ],
)
async def test_the_letters_are_read_as_they_were_meant(content_type: str, body: bytes) -> None:
    assert (await read_page(body, content_type, URL)).text == "Käse – 3 €"


async def test_a_page_with_a_broken_letter_keeps_the_others() -> None:
    assert (await read_page("Käse".encode() + b"\xff", "text/plain; charset=utf-8", URL)).text == "Käse\ufffd"
    assert (await read_page("価格".encode("shift_jis"), "text/plain; charset=Shift_JIS", URL)).text == "価格"


async def test_a_long_page_is_cut_and_says_so() -> None:
    page = await read_page(b"<p>" + b"word " * 100_000, "text/html", URL)
    assert len(page.text) == MAX_CHARACTERS
    assert page.remark == f"Only the first {MAX_CHARACTERS} of 499999 characters are shown."


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 100_000 + "x",
        "<table><tr><td>" * 30_000 + "x",
        "<b>x" * 200_000,
        "<ul><li>" * 100_000 + "x",
        "<blockquote>" * 100_000 + "x",
        "<" * 1_900_000,
        "<title" * 300_000,
        "&amp;" * 400_000,
        "<table>" + "<tr><td>1<td>2" * 100_000,
        "<table><tr>" + "<td>1" * 300_000,
        "<table><tr><td colspan=99999999 rowspan=65534>a<tr><td>b</table>",
        "<a " + " ".join(f"a{n}=1" for n in range(200_000)) + ">x</a>",
        "<p>" + "<a href=x><b><i>" * 20_000 + "<div>" * 2_000,
        "<meta " * 100_000,
    ],
)
async def test_a_hostile_page_neither_kills_nor_holds_up_the_process(html: str) -> None:
    reading = asyncio.create_task(read_page(html.encode(), "text/html", URL))
    longest, last = 0.0, time.monotonic()
    while not reading.done():
        await asyncio.wait([reading], timeout=0.01)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    page = await reading
    assert page.text or page.remark
    assert len(page.text) <= MAX_CHARACTERS
    # Converted in this process, one of these holds it up for many seconds; a busy machine does not.
    assert longest < 5


def converters() -> list[str]:
    """Find converters that this process started."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    commands = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children]
    return [command.decode() for command in commands if b"html_converter" in command]


async def test_a_page_that_takes_too_long_is_given_up_and_nothing_is_left_running() -> None:
    page = await read_page(b"<meta " * 300_000, "text/html", URL, seconds=0.3)
    assert page.remark == "The page is written in a way that cannot be read."
    assert converters() == []


def test_the_converter_is_loaded_with_the_first_page_only() -> None:
    program = (
        "import sys, homing.cli.main, homing.wiring, homing.tools.toolbox, homing.tools.page_text;"
        "sys.exit('html_to_markdown' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# Each short link becomes a whole one: two thousand characters for fifteen.
DEEP_URL = f"https://market.example/{'d/' * 1000}"
SHORT_LINKS = "<a href=x>y</a>" * 10_000


async def test_a_small_page_that_becomes_a_huge_text_is_cut_where_it_is_made() -> None:
    command = [sys.executable, "-I", str(Path(html_converter.__file__)), "10", str(MAX_CHARACTERS)]
    given = f"{DEEP_URL}\n{SHORT_LINKS}".encode()
    ran = await asyncio.to_thread(subprocess.run, command, input=given, capture_output=True, check=True, timeout=30)
    length, _, text = ran.stdout.decode().partition("\n")
    assert int(length) > 20_000_000
    assert len(text) == MAX_CHARACTERS
    page = await read_page(SHORT_LINKS.encode(), "text/html", DEEP_URL)
    assert page.text == text
    assert page.remark == f"Only the first {MAX_CHARACTERS} of {length} characters are shown."


@pytest.mark.parametrize("after", [0.0, 0.05, 0.2])
async def test_a_conversion_that_is_cancelled_ends_with_its_process(after: float) -> None:
    reading = asyncio.create_task(read_page(SHORT_LINKS.encode(), "text/html", DEEP_URL))
    await asyncio.sleep(after)
    reading.cancel()
    async with asyncio.timeout(10):
        await asyncio.wait([reading])
    assert reading.done()
