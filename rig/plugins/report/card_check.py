"""Compute what a card says from what it was counted from, and find where the two differ."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.core.files import read_json
from rig.core.metrics import TASKS, Counts, Declaration, Metric
from rig.stats import Tallied
from rig.stats.paired import PairedBootstrap
from rig.stats.rates import Sides

FORMAT, VERSION = "rig-card", 1
ALPHA = 0.05
"""The intervals of cards have the level 1 - `ALPHA`."""
OF_METRIC = ("name", "noun", "label", "numerator", "denominator", "better", "format")
DIGEST = "sha256"
"""The hash of everything else in a card."""

COMPUTED = "counts, rates, intervals, successes, suites, wins, losses and the difference follow from the rows"
NOT_COMPUTED = (
    "names, the run, its grader and command, how much was planned, the words and tests of the verdict,"
    " recommendation, curves, limits, errors, notes, speed, memory, settings and the hash of the answers rest"
    " on the run: to check them, play its command"
)

_PRECISION = 1e-5
"""Cards have six decimals, and a rate is computed from numbers that were rounded to them."""
_MOST = 1e15
_SHAPE: Mapping[str, type] = {
    **dict.fromkeys(
        ("subject", "run", "tested", "errors", "resources", "counts", "settings", "hashes"), dict
    ),
    **dict.fromkeys(("rates", "limits", "notes", "conversations"), list),
    "declaration": dict,
    "command": str,
}


class _Fault(Exception):
    """Something in a card is not as it follows from the rest."""


def read_card(path: Path) -> JsonObject:
    """Read a card from its JSON file. Raises RigError if it is unreadable or not a card of this version."""
    card = read_json(path, 16 << 20)
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise RigError(
            f"{path}: is not a card of rig; cards are made with `rig card make RUN/ARM -o FILE.json`"
        )
    if (version := card.get("version")) != VERSION:
        raise RigError(f"{path}: is a card of version {version!r:.40}, and this rig reads {VERSION}")
    for name, kind in _SHAPE.items():
        if not isinstance(card.get(name), kind):
            raise RigError(f"{path}: {name} is missing, or is not what a card has there")
    return card


def digest_of(card: JsonObject) -> str:
    """Return the hash of everything in a card but this hash."""
    text = json.dumps({name: value for name, value in card.items() if name != DIGEST}, sort_keys=True)
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def tasks_digest(rows: Sequence[JsonObject]) -> str:
    """Return the hash of the conversations that a card's rows are about."""
    tasks = sorted({f"{row['suite']} {row['conversation']} {row['source']}\n" for row in rows})
    return sha256("".join(tasks).encode("utf-8", "backslashreplace")).hexdigest()


def change_fault(card: JsonObject) -> str | None:
    """Return that a card is not as rig wrote it, or None."""
    actual, claimed = digest_of(card), card.get(DIGEST)
    if actual == claimed:
        return None
    return f"something was changed since rig wrote it: its SHA-256 is {actual}, it says {claimed!r:.80}"


def sums_fault(card: JsonObject) -> str | None:
    """Return what does not follow from the rows of a card that was read, or None if everything does."""
    try:
        _check(card)
    except _Fault as fault:
        return str(fault)
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, StopIteration) as error:
        return f"a part is missing, or is not what a card has there ({type(error).__name__})"
    return None


def _check(card: JsonObject) -> None:
    rows = card["conversations"]
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("counts"), dict):
            raise _Fault("a conversation has no counts")
        if type(row.get("repeats")) is not int or not 1 <= row["repeats"] <= 1_000_000:
            raise _Fault(f"a conversation has {row.get('repeats')!r:.40} repeats")
    _check_counts(card["counts"], rows)
    _check_tested(card, rows)
    declaration = Declaration.from_json(card["declaration"])
    _check_successes(rows, declaration)
    _check_rates(card["rates"], rows, declaration)
    if card.get("verdict") is not None:
        _check_verdict(card["verdict"], rows, declaration)


def _check_successes(rows: Sequence[JsonObject], declaration: Declaration) -> None:
    for row in rows:
        counted = row["counts"].get(declaration.success, 0)
        if not _is_near(claimed := row.get("successes"), counted):
            place = f"{row.get('conversation')!s:.60}"
            raise _Fault(f"{place}: its counts say {counted:g} successes, the card says {claimed!r:.40}")


def _check_counts(totals: Counts, rows: Sequence[JsonObject]) -> None:
    sums: dict[str, float] = {}
    for row in rows:
        for name, value in row["counts"].items():
            if not _is_number(value):
                raise _Fault(f"{name:.40}: is not a count")
            sums[name] = sums.get(name, 0) + value
    for name in sorted(sums.keys() | totals.keys()):
        total, added = totals.get(name), sums.get(name, 0)
        if not _is_number(total) or abs(total - added) > 1e-6 * max(1, len(rows)):
            raise _Fault(f"{name:.40}: the conversations add up to {added:g}, the card says {total!r:.40}")


def _check_tested(card: JsonObject, rows: Sequence[JsonObject]) -> None:
    tested = card["tested"]
    if (claimed := tested.get("conversations")) != len(rows):
        raise _Fault(f"there are {len(rows)} conversations, the card says {claimed!r:.40}")
    if len({(row["suite"], row["conversation"]) for row in rows}) < len(rows):
        raise _Fault("a conversation stands there twice")
    repeats = [row["repeats"] for row in rows]
    suites = Counter(row["suite"] for row in rows)
    span = [min(repeats, default=0), max(repeats, default=0)]
    for name, value in (("suites", dict(suites)), ("repeats", span)):
        if (claimed := tested.get(name)) != value:
            raise _Fault(f"{name}: the conversations say {value!r:.80}, the card says {claimed!r:.80}")
    finished, planned, played = tested.get("finished"), tested.get("planned"), sum(repeats)
    if not (_is_number(finished) and _is_number(planned) and played <= finished <= planned):
        told = f"{finished!r:.40} of {planned!r:.40}"
        raise _Fault(f"the conversations were played {played} times, the card says {told}")
    if card["hashes"].get("tasks_sha256") != tasks_digest(rows):
        raise _Fault("the hash of the conversations is another one than that of the rows")


def _check_rates(rates: Sequence[Any], rows: Sequence[JsonObject], declaration: Declaration) -> None:
    if not all(isinstance(rate, dict) for rate in rates):
        raise _Fault("a rate is none")
    names, tallied = [rate.get("name") for rate in rates], _tallied(rows, declaration)
    if names != [metric.name for metric in declaration.metrics]:
        raise _Fault("the rates are not those that the method declares")
    for rate, metric in zip(rates, declaration.metrics, strict=True):
        for part in OF_METRIC:
            if rate.get(part) != getattr(metric, part):
                raise _Fault(f"{metric.name:.40}: {part} is not as the method declares it")
        for part, value in tallied.estimate(metric, ALPHA).as_json().items():
            if rate.get(part) != value and not _is_near(rate.get(part), value):
                counted = f"{_total(rows, metric.numerator):g} of {_total(rows, metric.denominator):g}"
                told = f"the card says {rate.get(part)!r:.40}, its counts say {_number(value)} ({counted})"
                raise _Fault(f"{metric.name:.40}: {part}: {told}")


def _check_verdict(verdict: JsonObject, rows: Sequence[JsonObject], declaration: Declaration) -> None:
    """Check what a verdict says of the two arms; what it concludes depends on the other arms as well."""
    metric = next(metric for metric in declaration.metrics if metric.name == verdict["metric"])
    others = {(row["suite"], row["conversation"]): row for row in verdict["baseline_rows"]}
    before = [others.pop((row["suite"], row["conversation"])) for row in rows]
    pairs = list(zip(before, rows, strict=True))
    if others or not all(_is_number(row["repeats"]) and row["repeats"] >= 1 for row in before):
        raise _Fault("the baseline's conversations are not those of the arm")
    _check_successes(before, declaration)
    # Multiplied, because the arms may have repeated a conversation a different number of times.
    gains = [now["successes"] * was["repeats"] - was["successes"] * now["repeats"] for was, now in pairs]
    actual: JsonObject = {
        "conversations": len(rows),
        "won": sum(gain > 0 for gain in gains),
        "lost": sum(gain < 0 for gain in gains),
    }
    for name, value in actual.items():
        if (claimed := verdict.get(name)) != value:
            raise _Fault(f"verdict: {name}: the conversations say {value}, the card says {claimed!r:.40}")
    is_share = metric.format == "percent"
    bootstrap = PairedBootstrap(len(rows))
    sides = _sides(before, metric), _sides(rows, metric)
    difference = bootstrap.difference(sides[0], sides[1], ALPHA, is_share=is_share).as_json()
    for name in ("value", "low", "high"):
        claimed, value = verdict["difference"].get(name), difference[name]
        if claimed != value and not _is_near(claimed, value):
            told = f"the conversations say {_number(value)}, the card says {claimed!r:.40}"
            raise _Fault(f"verdict: difference: {name}: {told}")


def _sides(rows: Sequence[JsonObject], metric: Metric) -> Sides:
    repeats = np.array([row["repeats"] for row in rows])
    parts = (metric.numerator, metric.denominator)
    return Sides(*(np.array([float(row["counts"].get(part, 0)) for row in rows]) / repeats for part in parts))


def _tallied(rows: Sequence[JsonObject], declaration: Declaration) -> Tallied:
    """Return the means over repeats that `Tallied.of` would make of every repeat by itself."""
    sides = (name for metric in declaration.metrics for name in (metric.numerator, metric.denominator))
    names, repeats = {TASKS, declaration.success, *sides}, np.array([row["repeats"] for row in rows])
    sums = {name: np.array([float(row["counts"].get(name, 0)) for row in rows]) for name in names}
    return Tallied(
        means={name: values / repeats for name, values in sums.items()},
        totals={name: float(values.sum()) for name, values in sums.items()},
        conversations=len(rows),
        played=int(repeats.sum()),
        is_played_once=bool((repeats == 1).all()),
        success=sums[declaration.success] / repeats,
    )


def _total(rows: Sequence[JsonObject], name: str) -> float:
    return float(sum(row["counts"].get(name, 0) for row in rows))


def _number(value: Json) -> str:
    return f"{value:.6g}" if _is_number(value) else "none"


def _is_near(claimed: Json, actual: Json) -> bool:
    return (
        _is_number(claimed)
        and _is_number(actual)
        and abs(claimed - actual) <= _PRECISION * max(1.0, abs(actual))
    )


def _is_number(value: Any) -> TypeGuard[float]:
    return type(value) in (int, float) and abs(value) < _MOST
