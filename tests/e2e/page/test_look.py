"""What holds on every page: it can be read by everybody, fits a phone, and weighs little."""

import gzip
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from e2e.page.browser import STATIC, violations
from e2e.page.conftest import OpenWindow
from e2e.page.furniture import Furnished, furnish
from e2e.page.house import House, wait_until
from homing.testing import StubModelServer, WebhookReceiver

pytestmark = pytest.mark.slow

PHONE = (360, 740)
FIRST_LOAD_BYTES = 250_000


@pytest.fixture(scope="module")
def furnished(house: House, stub: StubModelServer) -> Iterator[Furnished]:
    with WebhookReceiver() as receiver:
        yield furnish(house, stub, receiver)


def ready(page: Page) -> Page:
    """Wait until the page is drawn."""
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".skeleton, main [aria-busy=true]")).to_have_count(0)
    return page


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page(
    house: House, furnished: Furnished, new_window: OpenWindow, theme: str
) -> None:
    window = new_window(house, theme=theme)
    found: dict[str, list[str]] = {}
    for name, path in (furnished.pages() | {"beginning": "/chat"}).items():
        page = ready(window.open(path))
        found[name] = violations(page)
        page.close()
    door = new_window(house, theme=theme, signed_in=False).open("/sign-in")
    found["sign-in"] = violations(ready(door))
    assert {name: faults for name, faults in found.items() if faults} == {}


def test_dark_is_dark_and_a_choice_beats_the_system(house: House, furnished: Furnished, new_window: OpenWindow) -> None:
    light, dark = (ready(new_window(house, theme=theme).open("/settings")) for theme in ("light", "dark"))
    assert brightness(light) > 200
    assert brightness(dark) < 50
    dark.get_by_role("radio", name="Light").check()
    wait_until(lambda: brightness(dark) > 200, "the light that was chosen")
    dark.reload()
    assert brightness(ready(dark)) > 200


def brightness(page: Page) -> float:
    shown = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    red, green, blue = (float(part) for part in re.findall(r"[\d.]+", shown)[:3])
    return (red + green + blue) / 3


WIDTHS = (360, 640, 820, 1024, 1280, 1920)


def test_no_page_scrolls_sideways_from_a_phone_to_a_wide_screen(
    house: House, furnished: Furnished, new_window: OpenWindow
) -> None:
    window = new_window(house, size=PHONE, touch=True)
    wide: dict[tuple[str, int], int] = {}
    for name, path in (furnished.pages() | {"beginning": "/chat"}).items():
        page = ready(window.open(path))
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            ready(page)
            # How far the document or its main part reaches beyond what is seen of it.
            wide[name, width] = page.evaluate(
                """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(
                  Math.max(document.documentElement.scrollWidth - innerWidth,
                    ...[...document.querySelectorAll("main")].map((one) => one.scrollWidth - one.clientWidth))))))"""
            )
        page.close()
    assert {where: over for where, over in wide.items() if over > 0} == {}


def test_on_a_phone_one_can_talk_find_conversations_and_rule_over_automations(
    house: House, furnished: Furnished, stub: StubModelServer, new_window: OpenWindow
) -> None:
    stub.when("from my pocket", "Read on a small screen.")
    page = ready(new_window(house, size=PHONE, touch=True).open(f"/chat/{furnished.chat}"))
    page.get_by_label("Message", exact=True).fill("from my pocket")
    page.get_by_role("button", name="Send").tap()
    expect(page.get_by_role("log").get_by_text("Read on a small screen.")).to_be_in_viewport()
    page.get_by_role("button", name="Conversations").tap()
    expect(page.get_by_role("dialog").get_by_text("Night watch")).to_be_in_viewport()
    page.get_by_role("dialog").get_by_text("Night watch").tap()
    expect(page.get_by_role("heading", name="Night watch")).to_be_visible()
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Automations").tap()
    page.get_by_role("button", name="Actions for plan the week").tap()
    expect(page.get_by_role("menuitem", name="Run now")).to_be_in_viewport()
    page.get_by_role("menuitem", name="Edit").tap()
    expect(page.get_by_role("button", name="Save")).to_be_in_viewport()


def test_the_keyboard_goes_everywhere(house: House, furnished: Furnished, new_window: OpenWindow) -> None:
    page = ready(new_window(house).open("/automations"))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("/")
    expect(page.get_by_label("Search automations")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    expect(page.get_by_role("heading", name="New automation")).to_be_visible()
    expect(page.get_by_label("When", exact=True)).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("w")
    expect(page.get_by_role("heading", name="Week")).to_be_focused()


def test_nothing_is_blurred_behind_anything() -> None:
    styles = list(STATIC.glob("assets/*.css"))
    assert styles, "The page is not built: run `make page` (`make test` does it by itself)."
    assert [style.name for style in styles if "backdrop-filter" in style.read_text()] == []


def test_the_first_load_is_light() -> None:
    assert (STATIC / "index.html").is_file(), "The page is not built: run `make page` (`make test` does it by itself)."
    document = (STATIC / "index.html").read_text()
    scripts = re.findall(r'(?:src|href)="(/[^"]+\.js)"', document)
    assert scripts, "The page loads no script."
    weight = sum(len(gzip.compress((STATIC / script.lstrip("/")).read_bytes())) for script in scripts)
    assert weight <= FIRST_LOAD_BYTES
