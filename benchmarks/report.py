"""A measured figure with its target, and the table of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. `least` or `most` is the target; without either the figure only informs."""

    what: str
    value: float
    unit: str = ""
    least: float | None = None
    most: float | None = None
    detail: str = ""

    @property
    def target(self) -> str:
        """The target in words."""
        if self.least is not None:
            return f"at least {_number(self.least)}"
        return f"at most {_number(self.most)}" if self.most is not None else ""

    @property
    def met(self) -> str:
        """`yes`, `no`, or nothing without a target."""
        if self.least is None and self.most is None:
            return ""
        below = self.least is not None and self.value < self.least
        above = self.most is not None and self.value > self.most
        return "no" if below or above else "yes"


def table(title: str, figures: Sequence[Figure]) -> str:
    """The figures as aligned text."""
    rows = [(title, "figure", "target", "met", "")]
    rows += [(f.what, f"{_number(f.value)} {f.unit}".strip(), f.target, f.met, f.detail) for f in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]) for row in rows
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(line.rstrip() for line in lines)


def middle(values: Sequence[float]) -> float:
    """The median."""
    return median(values)


def high(values: Sequence[float]) -> float:
    """The 99th percentile."""
    return quantiles(values, n=100, method="inclusive")[98]


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"
