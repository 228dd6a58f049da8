"""A wheel carries the page. It is built, not kept in git, so a wheel without it would be made in silence."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = "src/homing/web/static/index.html"


class PageHook(BuildHookInterface[Any]):
    """Stops a build that has no page; an editable install needs none."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable" and not (Path(self.root) / PAGE).is_file():
            raise FileNotFoundError(f"{PAGE} is missing: build the page first (make page).")
