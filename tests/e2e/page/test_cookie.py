"""D-M4: a browser sends the page's cookie to every port of this machine; it opens nothing without the page's key."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, expect

from e2e.page.house import PATIENCE, House


@pytest.fixture
def neighbour() -> Iterator[tuple[str, list[str]]]:
    """Another program on this machine, with a page on a port of its own, that writes down which cookies it gets."""
    caught: list[str] = []

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            caught.append(self.headers.get("Cookie", ""))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<title>Neighbour</title>")

        def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - the base names it so
            pass

    server = HTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", caught
    server.shutdown()
    thread.join()
    server.server_close()


def status(url: str, **headers: str) -> int:
    try:
        with urlopen(Request(url, headers=headers), timeout=PATIENCE) as answer:
            return answer.status
    except HTTPError as refusal:
        return refusal.code


def test_a_cookie_caught_on_another_port_cannot_be_replayed(
    browser: Browser, house: House, neighbour: tuple[str, list[str]]
) -> None:
    url, caught = neighbour
    house.session("web:mine", "Mine")
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(house.sign_in_link())
        expect(page.get_by_text("Mine").first).to_be_visible()
        page.goto(url)
        [cookie] = [one for one in caught if f"homing_{house.port}=" in one][:1]
        assert page.evaluate("() => localStorage.getItem('homing.key')") is None
        for path in ("/api/me", "/api/events", "/api/sessions"):
            assert status(house.url + path, Cookie=cookie) == 401
            assert status(house.url + path, Cookie=cookie, **{"Homing-Key": cookie.partition("=")[2]}) == 401
        # The page itself goes on: by its key, also after it is loaded again, and live.
        page.goto(house.url)
        expect(page.get_by_text("Mine").first).to_be_visible()
        house.session("web:more", "More of mine")
        expect(page.get_by_text("More of mine").first).to_be_visible()
    finally:
        context.close()
