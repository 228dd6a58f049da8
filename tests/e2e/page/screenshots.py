"""Take a picture of every page, in light, dark and on a phone: `make screenshots`.

`python -m e2e.page.screenshots FOLDER inbox approval` takes those of some pages only.
"""

import sys
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Literal

from playwright.sync_api import expect

from e2e.page.browser import DESK, ROOT, open_browser, open_window
from e2e.page.furniture import furnish
from e2e.page.house import House
from homing.testing import StubModelServer, WebhookReceiver

LOOKS: dict[str, tuple[tuple[int, int], Literal["light", "dark"]]] = {
    "light": (DESK, "light"),
    "dark": (DESK, "dark"),
    "phone": ((390, 844), "light"),
}


def main(folder: Path, only: Collection[str] = ()) -> None:
    """Take them all, or those of some pages."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as temporary,
        StubModelServer() as stub,
        WebhookReceiver() as receiver,
        House(Path(temporary), stub) as house,
        open_browser() as browser,
    ):
        pages = furnish(house, stub, receiver).pages()
        for look, (size, theme) in LOOKS.items():
            with open_window(browser, house, size=size, theme=theme) as window:
                for name, path in pages.items():
                    if only and name not in only:
                        continue
                    page = window.open(path)
                    expect(page.get_by_role("heading", level=1)).to_be_visible()
                    page.wait_for_load_state("load")
                    if name == "new":
                        page.get_by_label("When", exact=True).fill("every weekday at 8")
                        expect(page.get_by_role("row").nth(5)).to_contain_text("08:00")
                    expect(page.locator(".skeleton, [aria-busy=true]")).to_have_count(0)
                    page.screenshot(path=folder / f"{name}-{look}.png")
                    page.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/images", sys.argv[2:])
