"""A comparison on one screen, for a notebook or a prompt: the decision, and a row for each arm."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from rig.metrics import Metric
from rig.rates import Estimate
from rig.rates.paired import RateDifference

if TYPE_CHECKING:
    from rig.compare.findings import Comparison


def as_text(comparison: "Comparison") -> str:
    """Return the decision, and the table in columns."""
    decision, table = _told(comparison)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in table)
    return "\n".join([*([decision] if decision else []), *lines])


def as_html(comparison: "Comparison") -> str:
    """Return the decision, and the table as HTML."""
    decision, (header, *rows) = _told(comparison)
    lines = [("th", header), *(("td", row) for row in rows)]
    cells = ("".join(f"<{of}>{escape(cell)}</{of}>" for cell in row) for of, row in lines)
    table = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"{f'<p>{escape(decision)}</p>' if decision else ''}<table>{table}</table>"


def _told(comparison: "Comparison") -> tuple[str, list[Sequence[str]]]:
    """Return the decision and a table with its header: rate, difference and verdict of each arm."""
    metric, pairs = comparison.metric, {pair.arm: pair for pair in comparison.pairs}
    rows: list[Sequence[str]] = [("arm", metric.noun, "points more or less", "verdict")]
    for arm in comparison.arms:
        rate, pair = _number(metric, arm.rates[metric.name]), pairs.get(arm.label)
        difference = _number(metric, pair.differences[metric.name]) if pair else ""
        rows.append((arm.label, rate, difference, pair.verdict.text if pair else "baseline"))
    decision = comparison.recommendation.text() if comparison.recommendation else ""
    return _inert(decision), [[_inert(cell) for cell in row] for row in rows]


def _inert(text: str) -> str:
    """Return a text without control characters: names come from files, and may hold anything."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def _number(metric: Metric, number: Estimate | RateDifference) -> str:
    ends = [metric.amount(end) for end in (number.low, number.high) if end is not None]
    if number.value is None:
        return " to ".join(ends) or "-"
    value = metric.amount(number.value)
    return f"{value} ({' to '.join(ends)})" if ends else value
