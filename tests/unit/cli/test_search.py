"""`homing search`: what was said is found again a moment later, in the terminal and as JSON."""

import time

from support.commands import Homing

PATIENCE = 60.0


def test_what_was_said_is_found_with_the_engine_at_work(homing: Homing, server: str) -> None:
    homing("send", "cli:main", "remember that the lighthouse is in Brest", "--wait")
    until = time.monotonic() + PATIENCE
    while (found := homing("search", "lighthouse", "--json").object)["pending"] and time.monotonic() < until:
        time.sleep(0.1)
    assert {item["kind"] for item in found["items"]} >= {"message"}
    shown = homing("search", "light", "--kind", "message")
    assert "lighthouse is in Brest" in shown.out
    assert "Nothing has these words." in homing("search", "submarine").out
    assert homing("search", "x", "--kind", "nothing").code == 2
