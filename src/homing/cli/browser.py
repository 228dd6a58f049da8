"""Whether there is a browser to open, and opening it."""

import os
import sys


def can_open() -> bool:
    """Say whether a person sits in front of a screen that shows pages."""
    if not sys.stdout.isatty() or os.environ.get("SSH_CONNECTION"):
        return False
    if sys.platform == "darwin":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_browser(url: str) -> None:
    import webbrowser

    webbrowser.open(url)
