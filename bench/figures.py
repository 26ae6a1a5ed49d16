"""What a benchmark answers: figures with their limits, and the table that shows them."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to measure; `short` runs everything once and small, to see that it works."""

    short: bool = False

    def times(self, full: int, short: int = 1) -> int:
        """Return how often to repeat."""
        return short if self.short else full


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number. `limit` must not be reached, `aim` is what we would like; `beside` compares in words."""

    what: str
    value: float
    unit: str
    limit: float | None = None
    aim: float | None = None
    beside: str = ""

    @property
    def missed(self) -> bool:
        """Whether the limit is reached or passed."""
        return self.limit is not None and self.value >= self.limit


HEAD = ("figure", "value", "limit", "aim", "beside it, in the same run")


def number(value: float) -> str:
    """Return the number with three significant digits, whole from 100 on."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def row(figure: Figure) -> tuple[str, ...]:
    """Return the cells of a figure."""
    limit = "" if figure.limit is None else f"< {number(figure.limit)}{' MISSED' if figure.missed else ''}"
    aim = "" if figure.aim is None else f"{number(figure.aim)}{'' if figure.value < figure.aim else ' (not yet)'}"
    return figure.what, f"{number(figure.value)} {figure.unit}", limit, aim, figure.beside


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as a table with even columns, which is Markdown too."""
    rows = [HEAD, *map(row, figures)]
    widths = [max(len(cells[column]) for cells in rows) for column in range(len(HEAD))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |" for cells in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)
