"""How long something takes or lasts: "an hour and a half", "1 hour 30 minutes", "half a year"."""

from collections.abc import Mapping
from dataclasses import dataclass

from rig.scoring.texts.facts.fact import Fact, Sort
from rig.scoring.texts.facts.numerals import ORDINAL_ENDINGS, ORDINALS, SMALL
from rig.scoring.texts.facts.scan import Scan
from rig.scoring.texts.facts.values import value_at
from rig.scoring.texts.reading.listed import vocabulary

DAY = 86_400.0
UNITS: Mapping[str, tuple[str, float]] = {
    **dict.fromkeys(("second", "sec"), ("seconds", 1.0)),
    **dict.fromkeys(("minute", "min"), ("seconds", 60.0)),
    **dict.fromkeys(("hour", "h", "hr"), ("seconds", 3600.0)),
    "day": ("seconds", DAY),
    "week": ("seconds", 7 * DAY),
    "fortnight": ("seconds", 14 * DAY),
    "month": ("months", 1.0),
    "year": ("months", 12.0),
    "decade": ("months", 120.0),
}
"""What a unit is counted in, and how many of these it is."""
LASTING = vocabulary("in for within after about takes take lasts last")
"""After these "a week" is seven days, and not how often."""
ALWAYS = vocabulary("hour fortnight decade")
"""Units that mean one wherever they stand, as in "an hour"."""
ARTICLES = vocabulary("a an one")
SHARES = {"half": 0.5, "quarter": 0.25, "third": 1 / 3}


@dataclass(frozen=True, slots=True)
class _Term:
    """A number of one unit, and the index after it. `bare` means a unit without a number."""

    counted: str
    amount: float
    size: float
    end: int
    bare: bool = False


def duration(scan: Scan, at: int) -> Fact | None:
    """The duration that begins at an index."""
    first = _term(scan, at)
    if first is None:
        return None
    unit = scan.text(first.end - 1).removesuffix("s")
    last = _and_a_half(scan, first)
    total, end = {first.counted: last.amount}, last.end
    while last.size > 1 and (more := _further(scan, end, last)):
        total[more.counted] = total.get(more.counted, 0.0) + more.amount
        last, end = more, more.end
    if first.bare and end == first.end and not (unit in ALWAYS or scan.text(at - 1) in LASTING):
        return None
    return Fact(Sort.DURATION, frozenset({tuple(sorted(total.items()))}), scan.take(at, end))


def _term(scan: Scan, at: int) -> _Term | None:
    found = _amount(scan, at)
    if found is None:
        return None
    amount, end, bare = found
    unit = scan.text(end).removesuffix("s")
    if unit not in UNITS or not scan.free(end) or (unit == "h" and not scan.joined(end)):
        return None
    counted, size = UNITS[unit]
    return _Term(counted, round(amount * size, 3), size, end + 1, bare)


def _amount(scan: Scan, at: int) -> tuple[float, int, bool] | None:
    """How many of a unit: 90, one and a half, half a, three quarters of an. And whether it is just "a"."""
    text, following = scan.text(at), scan.text(at + 1)
    if text in SHARES and following in ("a", "an", "of"):
        return SHARES[text], at + 2 + (following == "of" and scan.text(at + 2) in ARTICLES), False
    if text == "half" and following in UNITS:
        return 0.5, at + 1, False
    number = 1 if text in ARTICLES else SMALL.get(text)
    share = SHARES.get(following.removesuffix("s"))
    if number and share and scan.text(at + 2) == "of" and scan.text(at + 3) in ARTICLES:
        return number * share, at + 4, False
    if text in ("a", "an"):
        return 1.0, at + 1, True
    return _counted(scan, at)


def _counted(scan: Scan, at: int) -> tuple[float, int, bool] | None:
    found = value_at(scan, at) if scan.free(at) else None
    if found is None or not isinstance(found[0], float):
        return None
    value, end = float(found[0]), found[1]
    if scan.text(end - 1) in ORDINALS or scan.text(end - 1) in ORDINAL_ENDINGS:
        return None
    if [scan.text(end + n) for n in range(3)] == ["and", "a", "half"]:
        return value + 0.5, end + 3, False
    return value, end, False


def _and_a_half(scan: Scan, term: _Term) -> _Term:
    """The term with what follows its unit: an hour and a half."""
    if [scan.text(term.end + n) for n in range(3)] != ["and", "a", "half"]:
        return term
    return _Term(term.counted, term.amount + term.size / 2, term.size, term.end + 3)


def _further(scan: Scan, at: int, before: _Term) -> _Term | None:
    """What is added in a smaller unit: 1 hour and 30 minutes."""
    term = _term(scan, at + (scan.text(at) == "and"))
    if term is None or term.bare or (term.counted == before.counted and term.size >= before.size):
        return None
    return term
