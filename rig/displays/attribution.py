"""Why served arms answer otherwise than their files: a line for each arm, and one for each cause."""

from collections import Counter
from collections.abc import Iterable, Iterator

from rig import serving
from rig.calls import JsonObject
from rig.displays.texts import UNKNOWN, clip, percent

_LONGEST = 200
"""Characters that are shown of the first turn and its reason."""
_MOST = 8
"""Turns that have a column of their own."""


def attribution_lines(arms: Iterable[tuple[str, JsonObject | None]]) -> Iterator[str]:
    """Whether each arm is faithful, a table of causes by turns, and its deployment metrics.

    Arms are given by name with what is stored; those that were held against no file have no lines.
    """
    for name, told in arms:
        if told is None:
            continue
        yield f"{name} is {serving.in_short(told)}"
        turns = sorted({cause["turn"] for cause in told["causes"]})[:_MOST]
        if turns:
            yield f"  {'differing':<13}{'all':>4}" + "".join(f"{f'turn {turn}':>9}" for turn in turns)
        for kind, count in Counter(cause["cause"] for cause in told["causes"]).most_common():
            causes = [cause for cause in told["causes"] if cause["cause"] == kind]
            by_turn = Counter(cause["turn"] for cause in causes)
            cells = "".join(f"{by_turn[turn] or UNKNOWN:>9}" for turn in turns)
            first = f"{causes[0]['conversation']}, turn {causes[0]['turn']}: {causes[0]['detail']}"
            yield f"  {kind:<13}{count:>4}{cells}  {clip(first, _LONGEST)}"
        yield f"  {_deployment(told)}"


def _deployment(told: JsonObject) -> str:
    rates = {"trigger F1": told.get("trigger_f1"), "schema accuracy": told.get("schema_accuracy")}
    parts = [f"{title} {_estimate(rate)}" for title, rate in rates.items() if rate]
    band = told.get("noise_band")
    noise = f"{percent(band[0])} at least" if band else "not measured: give --repeats"
    return f"{', '.join(parts)}; the file's trigger F1 against itself: {noise}"


def _estimate(rate: list[float | None]) -> str:
    value, low, high = rate
    if value is None:
        return "unknown"
    around = f" ({percent(low)} to {percent(high)})" if low is not None and high is not None else ""
    return f"{percent(value)}{around}"
