"""Memory upkeep on the page: its line in home, the undo button, and its job among Homing's own."""

import sqlite3

import pytest
from playwright.sync_api import expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House, wait_until
from homing.model.dreams import TOOL
from homing.testing import StubModelServer, tool_call

pytestmark = pytest.mark.slow


def fall_due(house: House, job_id: str) -> None:
    """Let a job be due when the server is back: nobody waits for half past three here."""
    house.stop()
    with sqlite3.connect(house.home / "homing.db") as database:
        database.execute("update job set next_run_at = created_at where id = ?", [job_id])
    database.close()
    house.start()


def test_what_upkeep_changed_is_undone_by_its_button_and_its_job_is_found(
    stub: StubModelServer, tmp_path_factory: pytest.TempPathFactory, new_window: OpenWindow
) -> None:
    with House(tmp_path_factory.mktemp("upkeep"), stub, settings={"HOMING_DREAM": "on"}) as house:
        key = house.session("web:home", "Home")
        old = house.post("/memories", text="The user lives in Berlin.")
        stub.otherwise("Fine.")
        house.post(f"/sessions/{key}/messages?wait=60", text="I live in Hamburg now, and I keep bees.")
        changes = {
            "add": [{"text": "The user keeps bees.", "from": [1]}],
            "replace": [{"ids": [old["id"]], "text": "The user lives in Hamburg.", "from": [1]}],
        }
        stub.when("Call update_memories once", tool_call(TOOL, changes), "Done.")
        # A start plans it for everybody who has a home by then.
        house.stop()
        house.start()
        [job] = wait_until(lambda: house.get("/jobs?system=true")["items"], "the job of the upkeep")
        fall_due(house, job["id"])
        assert house.finished_run(job["id"])["state"] == "ok"
        facts = {memory["text"] for memory in house.get("/memories")["items"]}
        assert facts == {"The user lives in Hamburg.", "The user keeps bees."}

        page = new_window(house).open(f"/chat/{key}")
        expect(page.get_by_text("Memory upkeep: 1 noted, 1 merged or corrected.")).to_be_visible()
        undo = page.get_by_role("button", name="Undo", exact=True)
        expect(undo).to_be_visible()
        assert violations(page) == []
        undo.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_text("Undone: what is remembered is as before").first).to_be_visible()
        expect(undo).to_be_hidden()
        assert violations(page) == []
        assert house.get("/memories")["items"] == [old]

        page = new_window(house, theme="dark", size=(360, 740)).open("/automations")
        expect(page.get_by_text("Nothing is scheduled yet")).to_be_visible()
        page.get_by_role("button", name="Show Homing’s own jobs").click()
        row = page.get_by_role("link", name="Memory upkeep")
        expect(row).to_be_visible()
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        row.click()
        expect(page.get_by_role("heading", name="Memory upkeep")).to_be_visible()
        assert page.url.endswith(job["id"])
