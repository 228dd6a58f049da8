"""What a command answered, and how tests run one."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def object(self) -> dict[str, Any]:
        [one] = self.objects
        return one

    @property
    def problem(self) -> dict[str, Any]:
        return json.loads(self.err.splitlines()[0])


Homing = Callable[..., Said]
