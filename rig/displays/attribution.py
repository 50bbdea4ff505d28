"""Why served arms answer otherwise than their files: a line for each arm, and one for each cause."""

from collections import Counter
from collections.abc import Iterable, Iterator

from rig import serving
from rig.calls import JsonObject
from rig.displays.texts import percent

_LONGEST = 160
"""Characters of the first turn's reason that are shown."""


def attribution_lines(arms: Iterable[tuple[str, JsonObject | None]]) -> Iterator[str]:
    """Whether each arm is faithful, a table of causes by turns, and its deployment metrics.

    Arms are given by name with what is stored; those that were held against no file have no lines.
    """
    for name, told in arms:
        if told is None:
            continue
        yield f"{name} is {serving.in_short(told)}"
        kinds = Counter(cause["cause"] for cause in told["causes"])
        for kind, count in kinds.most_common():
            first = next(cause for cause in told["causes"] if cause["cause"] == kind)
            detail = first["detail"]
            detail = detail if len(detail) <= _LONGEST else f"{detail[:_LONGEST]}..."
            yield f"  {kind:<13}{count:>4}  {first['conversation']}, turn {first['turn']}: {detail}"
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
