"""A promise that did not hold."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Violation:
    """Which promise, and where."""

    rule: str
    detail: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.detail}"


def broken(rule: str, detail: str) -> Violation:
    return Violation(rule=rule, detail=detail)
