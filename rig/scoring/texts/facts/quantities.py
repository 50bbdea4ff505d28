"""Numbers, amounts, durations and letters that count that a text states."""

from collections.abc import Iterator

from rig.scoring.texts.facts.durations import duration
from rig.scoring.texts.facts.fact import Fact, Sort
from rig.scoring.texts.facts.numerals import SMALL
from rig.scoring.texts.facts.scan import Scan
from rig.scoring.texts.facts.units import POWERS, UNITS
from rig.scoring.texts.facts.values import NUMBERED, counts, value_at
from rig.scoring.texts.reading.listed import in_order, vocabulary

SIGNS = {"$": "usd", "€": "eur", "£": "gbp"}
MONEY = {
    **dict.fromkeys(in_order("usd dollar dollars bucks buck"), "usd"),
    **dict.fromkeys(in_order("eur euro euros"), "eur"),
    **dict.fromkeys(in_order("gbp quid pounds pound"), "gbp"),
}
CENTS = frozenset(in_order("cent cents pence penny"))
PARTS_OF_ONE = {"half": 50.0, "third": 100 / 3, "quarter": 25.0, "fifth": 20.0, "tenth": 10.0}
DEGREES = {"c": "celsius", "celsius": "celsius", "centigrade": "celsius"}
DEGREES |= {"f": "fahrenheit", "fahrenheit": "fahrenheit"}
LOCATED = vocabulary("room floor level tower building hall gate terminal platform track wing suite")


def quantities(scan: Scan) -> Iterator[Fact]:
    """The facts about amounts in what is not read yet; marks their words as read."""
    for at in range(len(scan.words)):
        if scan.free(at) and (fact := _quantity(scan, at) or _letter(scan, at)):
            yield fact


def _quantity(scan: Scan, at: int) -> Fact | None:
    money = scan.text(at) in SIGNS
    first = at + (money or scan.text(at) == "#")
    if not scan.free(first):
        return None
    if scan.text(at) == "q" and scan.joined(at + 1) and (quarter := scan.number(at + 1)):
        return Fact(Sort.NUMBER, frozenset({("quarter", quarter)}), scan.take(at, at + 2))
    if first == at and (fact := duration(scan, at) or _part(scan, at)):
        return fact
    found = value_at(scan, first)
    if found is None:
        return None
    value, end = found
    meant: list[float | str] = _meant(scan, first, value) if isinstance(value, float) else [value]
    unit = scan.text(end)
    if unit in CENTS and isinstance(value, float):
        worth: frozenset[object] = frozenset((value / 100, currency) for currency in SIGNS.values())
        return Fact(Sort.MONEY, worth, scan.take(at, end + 1))
    if money or unit in MONEY or unit in SIGNS:
        currency = SIGNS.get(scan.text(at)) or MONEY.get(unit) or SIGNS[unit]
        worth = frozenset((each, currency) for each in meant)
        return Fact(Sort.MONEY, worth, scan.take(at, end + (unit in MONEY or unit in SIGNS)))
    if unit in ("%", "percent", "pct"):
        return Fact(Sort.PERCENT, frozenset(meant), scan.take(at, end + 1))
    if unit == "quarter":
        return Fact(Sort.NUMBER, frozenset({("quarter", value)}), scan.take(at, end + 1))
    if isinstance(value, float) and (measured := _measured(scan, end)):
        dimension, size, after = measured
        return Fact(
            Sort.MEASURE,
            frozenset((round(float(each) * size, 6), dimension) for each in meant),
            scan.take(at, after),
        )
    if scan.joined(end) and unit.isalpha() and len(unit) == 1:
        return Fact(Sort.LETTER, frozenset({(value, unit)}), scan.take(at, end + 1))
    if scan.text(first) in ("one", "first", "second") and not counts(scan, first):
        return None
    bare = int(value) if isinstance(value, float) and value.is_integer() else None
    values: frozenset[object] = frozenset(meant)
    return Fact(Sort.NUMBER, values, scan.take(at, end), bare, _located(scan, at, end))


def _meant(scan: Scan, at: int, value: float) -> list[float | str]:
    """What a number can mean: 1.200 is also twelve hundred, as half the world writes it."""
    whole, point, thousands = scan.text(at).partition(".")
    if point and len(thousands) == 3 and whole != "0":
        return [value, float(whole + thousands)]
    return [value]


def _part(scan: Scan, at: int) -> Fact | None:
    """As in: half of it, a third of it, two thirds of it; half a kilo"""
    text, following = scan.text(at), at + 1
    number = 1 if text in ("a", "the", "one") else SMALL.get(text)
    if text == "half":
        if scan.text(at + 1) == "a" and (measured := _measured(scan, at + 2)):
            dimension, size, after = measured
            return Fact(Sort.MEASURE, frozenset({(round(size / 2, 6), dimension)}), scan.take(at, after))
        share = PARTS_OF_ONE["half"]
    elif number is not None and scan.text(at + 1).removesuffix("s") in PARTS_OF_ONE:
        share, following = number * PARTS_OF_ONE[scan.text(at + 1).removesuffix("s")], at + 2
    else:
        return None
    if scan.text(following) != "of" and not (text == "half" and scan.text(following) in ("the", "my", "our")):
        return None
    return Fact(Sort.PERCENT, frozenset({round(share, 3)}), scan.take(at, following))


def _measured(scan: Scan, at: int) -> tuple[str, float, int] | None:
    """The unit that begins at an index: its dimension, its size, and the index after it."""
    text, power, end = scan.text(at), "", at + 1
    if text in ("degree", "degrees"):
        kind = DEGREES.get(scan.text(end))
        return (kind, 1.0, end + 1) if kind else None
    if text in POWERS:
        text, power, end = scan.text(end), POWERS[text], end + 1
    elif scan.text(end) in ("2", "3") and scan.joined(end):
        power, end = scan.text(end), end + 1
    if text not in UNITS:
        return None
    dimension, size = UNITS[text]
    if not power:
        return dimension, size, end
    return f"{dimension}{power}", size ** int(power), end


def _letter(scan: Scan, at: int) -> Fact | None:
    """As in: room B, plan A"""
    word = scan.words[at]
    if not (word.is_word and len(word.text) == 1 and word.capital) or word.text == "i":
        return None
    if scan.text(at - 1) not in NUMBERED:
        return None
    return Fact(Sort.LETTER, frozenset({word.text}), scan.take(at, at + 1))


def _located(scan: Scan, start: int, end: int) -> str | None:
    return next((scan.text(at) for at in (start - 1, end) if scan.text(at) in LOCATED), None)
