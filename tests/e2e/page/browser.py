"""Debian's chromium, and windows that notice what a person would never see: errors, strangers, missing policies."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Response, expect, sync_playwright

from e2e.page.house import PATIENCE, ZONE, House, wait_until

ROOT = Path(__file__).parents[3]
STATIC = ROOT / "src/homing/web/static"
AXE = ROOT / "ui/node_modules/axe-core/axe.min.js"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESK = (1280, 800)
TOO_MANY = 429


def find_chromium() -> str | None:
    return shutil.which("chromium")


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start chromium. Not for a whole test run: while it lives, this thread counts as inside an event loop."""
    chromium = find_chromium()
    assert chromium, "The page is tested with Debian's chromium, which is missing here: apt-get install chromium"
    assert (STATIC / "index.html").is_file(), "The page is not built: run `make page` (`make test` does it by itself)."
    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


class Window:
    """A browser window of one person: its pages, and every fault seen in them."""

    def __init__(self, context: BrowserContext, house: House) -> None:
        self.faults: list[str] = []
        self._context = context
        self._house = house
        context.set_default_timeout(PATIENCE * 1000)
        context.on("console", self._console)
        context.on("weberror", lambda error: self.faults.append(f"uncaught: {error.error}"))
        context.on("request", lambda request: self._mind_origin(request.url))
        context.on("response", self._mind_policy)

    def sign_in(self, token: str | None = None) -> None:
        """Sign in by a token, the owner's unless another is given, without a page."""
        url = self._house.url

        def attempt() -> Any:
            tried = self._context.request.post(
                f"{url}/api/auth/sign-in", data={"token": token or self._house.token}, headers={"Origin": url}
            )
            # Tests sign in more often than the ten times a minute that one address may; then the server says so.
            return None if tried.status == TOO_MANY else tried

        answer = wait_until(attempt, "a sign-in that is not refused as too many")
        assert answer.ok, answer.text()
        # The page's half of the proof: what the page itself would have kept.
        key = answer.json()["key"]
        self._context.add_init_script(
            f"try {{ localStorage.getItem('homing.key') ?? localStorage.setItem('homing.key', '{key}') }} catch {{}}"
        )

    def open(self, path: str) -> Page:
        """Open a tab."""
        page = self._context.new_page()
        page.goto(self._house.url + path if path.startswith("/") else path)
        return page

    def _console(self, message: ConsoleMessage) -> None:
        # Chrome itself writes this line for each refusal and each lost line; the page shows them to people instead.
        if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource"):
            self.faults.append(f"console: {message.text}")

    def _mind_origin(self, url: str) -> None:
        if not url.startswith((f"{self._house.url}/", "data:", "blob:")):
            self.faults.append(f"left the house: {url}")

    def _mind_policy(self, response: Response) -> None:
        # A file has the stricter one: nothing in it may load or run anything.
        # A blob has no headers: it has the policy of the page that made it.
        if not response.url.startswith("blob:") and not response.headers.get("content-security-policy", "").startswith(
            ("default-src 'self'", "default-src 'none'")
        ):
            self.faults.append(f"no content security policy: {response.url}")


@contextmanager
def open_window(
    browser: Browser,
    house: House,
    *,
    size: tuple[int, int] = DESK,
    theme: Literal["light", "dark"] = "light",
    touch: bool = False,
    signed_in: bool = True,
) -> Iterator[Window]:
    """Open a window with cookies of its own; at its end, all faults are told at once."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=theme,
        has_touch=touch,
        locale="en-GB",
        timezone_id=ZONE,
        reduced_motion="reduce",
    )
    try:
        window = Window(context, house)
        if signed_in:
            window.sign_in()
        yield window
        assert not window.faults, "\n".join(window.faults)
    finally:
        context.close()


def violations(page: Page) -> list[str]:
    """Let axe look at the page; tell what is serious or worse."""
    # Evaluated, not added as a script: the page's policy stays as people have it.
    page.evaluate(AXE.read_text())
    found: dict[str, Any] = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']} ({one['impact']}) at {', '.join(str(node['target']) for node in one['nodes'][:4])}: {one['help']}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
