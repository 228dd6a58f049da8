"""Settings → Model: a key pasted in the page answers the next message, and a wrong one changes nothing."""

import signal

import pytest
from playwright.sync_api import expect

from e2e.page.browser import violations
from e2e.page.conftest import OpenWindow
from e2e.page.house import House
from homing.agent.choice import _NEEDS  # pyright: ignore[reportPrivateUsage]
from homing.testing import StubModelServer

pytestmark = pytest.mark.slow

KEY = "sk-page-0123456789abcdefghij"


def test_a_key_pasted_in_settings_answers_the_next_message_and_survives_kill_9(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, new_window: OpenWindow
) -> None:
    for _, names in _NEEDS.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOMING_MODEL", "")
    with StubModelServer() as stub, House(tmp_path_factory.mktemp("model"), model=None) as house:
        stub.key = KEY
        page = new_window(house, size=(360, 800)).open("/settings")
        model = page.get_by_role("region", name="Model")
        expect(model).to_contain_text("No model is chosen")
        model.get_by_label("From").select_option("Another server (OpenAI-compatible)")
        model.get_by_label("Address").fill(stub.url)
        model.get_by_role("button", name="Look for its models").click()
        model.get_by_role("button", name=f"Use {stub.openai_url}").click()
        model.get_by_role("button", name="Look for its models").click()
        expect(model.get_by_label("Model", exact=True)).to_have_value("openai-chat:stub-small")
        model.get_by_label("Key").fill(f"{KEY}x")
        use = model.get_by_role("button", name="Test and use")
        use.click()
        expect(model.get_by_text("Incorrect API key provided: ***")).to_be_visible()
        assert house.get("/status")["model"]["offline"] is True
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert violations(page) == []
        model.get_by_label("Key").fill(KEY)
        use.click()
        expect(model.get_by_text("Answers come from")).to_contain_text(f"openai-chat:stub-small at {stub.openai_url}")
        expect(model.get_by_role("button", name="Choose another model")).to_be_visible()
        assert KEY not in page.content()
        assert violations(page) == []
        stub.reply("Hello from the stub.")
        page.goto(f"{house.url}/")
        page.get_by_role("textbox", name="Message").fill("hello")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Hello from the stub.")).to_be_visible()
        house.stop(signal.SIGKILL)
        house.start()
        assert house.get("/status")["model"]["name"] == "openai-chat:stub-small"
