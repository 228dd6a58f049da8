"""A script that looks first: tried and saved on the form, and what it printed on the page of the run."""

import pytest
from playwright.sync_api import expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House, wait_until
from homing.testing import StubModelServer

pytestmark = pytest.mark.slow

SCRIPT = """import json
print("<b>looking</b>")
print(json.dumps({"wakeAgent": True, "data": "pears"}))"""


def test_a_script_is_tried_saved_and_shown_on_its_run(
    house: House, stub: StubModelServer, new_window: OpenWindow
) -> None:
    key = house.session("web:scripts", "Scripts")
    stub.when("Look at the fruit", "Pears it is.")
    page = new_window(house).open(f"/automations/new?session={key}")
    page.get_by_label("What should happen?").fill("Look at the fruit")
    page.get_by_text("A script that looks first").click()
    page.get_by_label("Script", exact=True).fill("print(nobody)")
    page.get_by_label("Language").select_option("python")
    page.get_by_role("button", name="Try the script").click()
    expect(page.get_by_text("name 'nobody' is not defined").first).to_be_visible()
    page.get_by_role("button", name="Schedule", exact=True).click()
    expect(page.get_by_text("The test run of the script failed.").first).to_be_visible()
    page.get_by_label("Script", exact=True).fill(SCRIPT)
    page.get_by_role("button", name="Try the script").click()
    expect(page.get_by_text("It works: the agent would be woken.")).to_be_visible()
    expect(page.get_by_label("Printed")).to_contain_text("<b>looking</b>")
    assert violations(page) == []
    page.get_by_role("button", name="Schedule", exact=True).click()
    expect(page.get_by_role("heading", name="Look at the fruit")).to_be_visible()

    [job] = house.get(f"/jobs?session_key={key}")["items"]
    run = house.post(f"/jobs/{job['id']}/run")
    wait_until(lambda: house.get(f"/runs/{run['id']}")["state"] == "ok", "the run has ended")
    page.goto(page.url.split("/automations")[0] + f"/runs/{run['id']}")
    printed = page.get_by_role("region", name="What its script printed")
    expect(printed.get_by_label("Printed")).to_contain_text("<b>looking</b>")
    expect(printed).to_contain_text("It ended.")
    assert violations(page) == []
