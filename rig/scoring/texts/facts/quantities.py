"""Numbers, amounts, durations and letters that count that a text states."""

from collections.abc import Iterator

from rig.scoring.texts.facts.fact import Fact, Sort
from rig.scoring.texts.facts.numerals import MULTIPLIERS, ORDINAL_ENDINGS, ORDINALS, SMALL, TENS
from rig.scoring.texts.facts.scan import Scan
from rig.scoring.texts.facts.units import POWERS, UNITS
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
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "h": 3600, "hr": 3600}
DAY = 86_400
DAYS = {"day": 1, "week": 7, "fortnight": 14}
MONTHS = {"month": 1, "year": 12}
NUMBERED = vocabulary(
    "room part chapter section version terminal platform gate floor level laboratory lab hall table "
    "track line building session unit day phase episode season lesson module group team number "
    "block wing plan option apartment suite bay stage lot zone pier dock studio court field pitch "
    "lane route bus train exit entrance row seat deck stand door class grade year week question "
    "item step task ticket order vitamin appendix annex boardroom conference quarter ballroom salon "
    "park ward"
)
"""What a number or a letter after it tells from others of its kind."""
NOT_NUMBERED = vocabulary("thing of and or to at in on for with if please i we you aid hand name class")
"""What does not follow "first" where it is a number."""
LASTING = vocabulary("in for within after about takes take lasts last")
"""After these "a week" is seven days, and not how often."""
PLACED = vocabulary("in came come finished placed ranked")
LOCATED = vocabulary("room floor level tower building hall gate terminal platform track wing suite")
LONGEST_NUMBER = 15
"""Digits. Longer ones are compared as they are written."""


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
    if part := _part(scan, at):
        return part
    found = _value(scan, first)
    if found is None:
        return _hour(scan, at)
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
    ordinal = scan.text(end - 1) in ORDINALS or scan.text(end - 1) in ORDINAL_ENDINGS
    if isinstance(value, float) and not ordinal and (lasting := _lasting(scan, end, value)) is not None:
        return Fact(Sort.DURATION, lasting, scan.take(at, end + 1))
    if isinstance(value, float) and (measured := _measured(scan, end)):
        dimension, size, after = measured
        return Fact(
            Sort.MEASURE,
            frozenset((round(float(each) * size, 6), dimension) for each in meant),
            scan.take(at, after),
        )
    if scan.joined(end) and unit.isalpha() and len(unit) == 1:
        return Fact(Sort.LETTER, frozenset({(value, unit)}), scan.take(at, end + 1))
    if scan.text(first) in ("one", "first", "second") and not _counts(scan, first):
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


def _value(scan: Scan, at: int) -> tuple[float | str, int] | None:
    """The number that begins at an index, in digits or words, and the index after it."""
    text, end = scan.text(at), at + 1
    if not text[0].isdecimal():
        return _in_words(scan, at)
    digits = text.replace(",", "")
    if ":" in text or "-" in text:
        return None
    if len(digits) > LONGEST_NUMBER:
        return digits, end
    value, follow = float(digits), scan.text(end)
    if follow in ORDINAL_ENDINGS and scan.joined(end):
        return value, end + 1
    if follow in MULTIPLIERS and (len(follow) > 1 or scan.joined(end)):
        return value * MULTIPLIERS[follow], end + 1
    return value, end


def _in_words(scan: Scan, at: int) -> tuple[float, int] | None:
    if scan.text(at) in ("twice", "dozen"):
        return {"twice": 2.0, "dozen": 12.0}[scan.text(at)], at + 1
    total, end, seen = 0.0, at, False
    while end < len(scan.words):
        text = scan.text(end)
        if text in TENS and not (seen and total % 100):
            total, seen = total + TENS[text], True
        elif text in SMALL and not (seen and (total % 10 or 0 < total % 100 < 20)):
            total, seen = total + SMALL[text], True
        elif text in ORDINALS and (text not in ("first", "second") or seen or _counts(scan, end)):
            return total + ORDINALS[text], end + 1
        elif len(text) > 1 and text in MULTIPLIERS and text != "grand":
            total, seen = (total or 1) * MULTIPLIERS[text], True
        elif not (text == "and" and total >= 100 and scan.text(end + 1) in SMALL.keys() | TENS.keys()):
            break
        end += 1
    return (total, end) if seen else None


def _hour(scan: Scan, at: int) -> Fact | None:
    """As in: half an hour, an hour, an hour and a half"""
    words = [scan.text(index) for index in range(at, at + 5)]
    for said, seconds in (
        (["half", "an", "hour"], 1800.0),
        (["half", "hour"], 1800.0),
        (["an", "hour", "and", "a", "half"], 5400.0),
        (["an", "hour"], 3600.0),
    ):
        if words[: len(said)] == said:
            return Fact(Sort.DURATION, frozenset({seconds}), scan.take(at, at + len(said)))
    if words[0] in ("a", "one") and scan.text(at - 1) in LASTING and (lasting := _lasting(scan, at + 1, 1.0)):
        return Fact(Sort.DURATION, lasting, scan.take(at, at + 2))
    if words[0] == "a" and words[1] == "fortnight":
        return Fact(Sort.DURATION, frozenset({("days", 14.0)}), scan.take(at, at + 2))
    return None


def _lasting(scan: Scan, at: int, value: float) -> frozenset[object] | None:
    unit = scan.text(at).removesuffix("s")
    if unit == "h" and not scan.joined(at):
        return None
    if unit in SECONDS:
        seconds = value * SECONDS[unit]
        days = {("days", seconds / DAY)} if seconds % DAY == 0 else set()
        return frozenset({seconds, *days})
    if unit in DAYS:
        return frozenset({("days", value * DAYS[unit])})
    return frozenset({("months", value * MONTHS[unit])}) if unit in MONTHS else None


def _letter(scan: Scan, at: int) -> Fact | None:
    """As in: room B, plan A"""
    word = scan.words[at]
    if not (word.is_word and len(word.text) == 1 and word.capital) or word.text == "i":
        return None
    if scan.text(at - 1) not in NUMBERED:
        return None
    return Fact(Sort.LETTER, frozenset({word.text}), scan.take(at, at + 1))


def _counts(scan: Scan, at: int) -> bool:
    """Whether "one", "first" or "second" at an index numbers something, rather than stand for a thing."""
    if scan.text(at - 1) in NUMBERED or scan.text(at + 1) in NUMBERED:
        return True
    following = scan.words[at + 1] if at + 1 < len(scan.words) else None
    if scan.text(at - 1) in PLACED and (following is None or not following.is_word):
        return True
    ordinal = scan.text(at) in ORDINALS and scan.text(at - 1) not in ("a", "one", "per", "at")
    return ordinal and following is not None and following.is_word and following.text not in NOT_NUMBERED


def _located(scan: Scan, start: int, end: int) -> str | None:
    return next((scan.text(at) for at in (start - 1, end) if scan.text(at) in LOCATED), None)
