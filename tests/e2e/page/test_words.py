"""The server, the command line and the page give the same words for a reason."""

import pytest
from playwright.sync_api import expect

from e2e.page.conftest import OpenWindow
from e2e.page.house import House

pytestmark = pytest.mark.slow


def test_server_command_line_and_page_give_the_same_words_for_a_reason(house: House, new_window: OpenWindow) -> None:
    key = house.session("web:words", "Words")
    job = house.job(key, "every day at 9", "Look for fruit", name="fruit watch")
    house.post(f"/jobs/{job['id']}/skip")
    [run] = house.get(f"/jobs/{job['id']}/runs")["items"]
    words = f"{run['state_words']}: {run['reason_words']}"
    assert words == "skipped: somebody asked for that"
    assert words in " ".join(house.command("cron", "runs", job["id"]).split())
    assert f"because {run['reason_words']}" in " ".join(house.command("cron", "why", job["id"]).split())

    window = new_window(house)
    page = window.open(f"/runs/{run['id']}")
    expect(page.get_by_role("heading", name=words.capitalize())).to_be_visible()
    page = window.open(f"/automations/{job['id']}")
    expect(page.get_by_text(words.capitalize()).first).to_be_visible()
