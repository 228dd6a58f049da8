"""Prints the OpenAPI document, from which the page's build generates its types (ADR 0034)."""

import json
import sys
from importlib.metadata import version

from homing.model.clock import SystemClock
from homing.operations.context import Instance
from homing.settings import load
from homing.store import Store
from homing.web.app import make_app


def document() -> dict[str, object]:
    """Make the document of this version; nothing is opened for it."""
    clock = SystemClock()
    settings = load({"HOMING_HOME": ".", "TZ": "UTC"})
    instance = Instance(version=version("homing"), model="offline", model_offline=True, model_why="", settings=settings)
    app = make_app(store=Store("sqlite:///:memory:", clock), instance=instance, clock=clock)
    return app.openapi()


if __name__ == "__main__":
    json.dump(document(), sys.stdout, indent=2, sort_keys=True)
    sys.stdout.write("\n")
