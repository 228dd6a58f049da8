"""The lines that measurements print, kept in order, and asked for medians and ratios."""

import statistics
from collections.abc import Iterable, Mapping
from typing import Any

Marks = Mapping[str, object]


class Missing(Exception):
    """A figure was asked for that no measurement gave."""


class Results:
    """All lines of one run; of repeated rounds the medians count."""

    def __init__(self, lines: Iterable[Mapping[str, Any]] = ()) -> None:
        self.lines: list[Mapping[str, Any]] = list(lines)

    def values(self, metric: str, where: Marks | None = None, field: str = "value") -> list[float]:
        """Give a figure of every line that has these marks, in the order of the rounds."""
        marks = where or {}
        found = [
            float(line[field])
            for line in self.lines
            if line["metric"] == metric and all(line.get(name) == value for name, value in marks.items())
        ]
        if not found:
            raise Missing(" ".join([metric, *(f"{name}={value}" for name, value in marks.items())]))
        return found

    def median(self, metric: str, where: Marks | None = None, field: str = "value") -> float:
        return statistics.median(self.values(metric, where, field))

    def worst(self, metric: str, where: Marks | None = None, field: str = "value") -> float:
        return max(self.values(metric, where, field))

    def ratio(self, metric: str, ours: Marks, theirs: Marks) -> float:
        """Give the median of the rounds' ratios: both were measured minutes apart, whatever the machine did."""
        pairs = zip(self.values(metric, ours), self.values(metric, theirs), strict=False)
        return statistics.median(our / their for our, their in pairs)
