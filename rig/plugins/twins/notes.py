"""What people read about a served arm that was compared with its file."""

from collections import Counter
from collections.abc import Iterator

from rig.core.calls import JsonObject
from rig.core.errors import counted
from rig.plugins.served import FAITHFUL
from rig.show.texts import UNKNOWN, clip, estimate, percent

_LONGEST = 200
"""The most characters of the first turn and its reason."""
_MOST = 8
"""The most turns that have their own column."""


def as_note(attribution: JsonObject) -> JsonObject:
    """Return an attribution as a note on its arm."""
    return {"text": in_short(attribution), "lines": list(_lines(attribution)), **attribution}


def in_short(attribution: JsonObject) -> str:
    """Say in a line how a served arm differs from its reference."""
    kinds = Counter(cause["cause"] for cause in attribution["causes"])
    differing = sum(kinds.values()) + attribution["others"]
    turns = counted(attribution["alike"] + attribution["follows"] + differing, "turn")
    why = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    faults = kinds.keys() - set(FAITHFUL)
    verdict = "not faithful" if faults or attribution["others"] else "faithful"
    beside = f", {attribution['follows']} follow" if attribution["follows"] else ""
    return (
        f"{verdict} to {attribution['reference']}: {attribution['alike']} of {turns} alike"
        f"{f'; differing: {why}' if why else ''}{beside}"
    )


def _lines(attribution: JsonObject) -> Iterator[str]:
    """Yield a table of causes by turn, and the deployment metrics."""
    turns = sorted({cause["turn"] for cause in attribution["causes"]})[:_MOST]
    if turns:
        yield f"{'differing':<13}{'all':>4}" + "".join(f"{f'turn {turn}':>9}" for turn in turns)
    for kind, count in Counter(cause["cause"] for cause in attribution["causes"]).most_common():
        causes = [cause for cause in attribution["causes"] if cause["cause"] == kind]
        by_turn = Counter(cause["turn"] for cause in causes)
        cells = "".join(f"{by_turn[turn] or UNKNOWN:>9}" for turn in turns)
        first = f"{causes[0]['conversation']}, turn {causes[0]['turn']}: {causes[0]['detail']}"
        yield f"{kind:<13}{count:>4}{cells}  {clip(first, _LONGEST)}"
    yield _deployment(attribution)


def _deployment(attribution: JsonObject) -> str:
    from rig.stats import Estimate

    named = {"trigger F1": "trigger_f1", "schema accuracy": "schema_accuracy"}
    rates = {title: attribution.get(name) for title, name in named.items()}
    parts = [f"{title} {estimate(Estimate(*rate))}" for title, rate in rates.items() if rate]
    band = attribution.get("noise_band")
    noise = f"{percent(band[0])} at least" if band else "not measured: give --repeats"
    return f"{', '.join(parts)}; the file's trigger F1 against itself: {noise}"
