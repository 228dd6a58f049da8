"""What a call is about, in the line that people see of it."""

from homing.model.turns import about_call


def test_a_line_about_a_call_shows_what_a_screen_would_hide_or_reorder() -> None:
    assert about_call({"command": "rm /\u202etxt.ok\n\x1b[31m"}) == "rm /\\u202etxt.ok \\u001b[31m"
    assert about_call({"url": "https://example.org/a?b"}) == "example.org"
