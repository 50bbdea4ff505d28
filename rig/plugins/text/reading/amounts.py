"""The numbers, amounts, durations and counting letters that a text states."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rig.plugins.text.reading.facts import Fact, Scan, Sort
from rig.plugins.text.reading.lexicon import in_order, vocabulary

SMALL = {
    word: value
    for value, word in enumerate(
        in_order(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
            "fifteen sixteen seventeen eighteen nineteen twenty"
        )
    )
}
TENS = {
    w: 10 * (i + 2) for i, w in enumerate(in_order("twenty thirty forty fifty sixty seventy eighty ninety"))
}
ORDINALS = {
    word: value + 1
    for value, word in enumerate(
        in_order(
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
            "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
        )
    )
} | {"thirtieth": 30, "fortieth": 40, "fiftieth": 50, "sixtieth": 60, "hundredth": 100}
MULTIPLIERS = {
    "hundred": 100,
    "thousand": 1000,
    "k": 1000,
    "grand": 1000,
    "million": 10**6,
    "m": 10**6,
    "dozen": 12,
}
ORDINAL_ENDINGS = frozenset(("st", "nd", "rd", "th"))


def small(text: str) -> int | None:
    """Return a whole number of at most two digits, in digits or one word; None for anything else."""
    if text.isdecimal() and len(text) < 3:
        return int(text)
    return SMALL.get(text, TENS.get(text))


_UNITS = {
    "length": "m metre metres meter meters: 1; km kilometre kilometres kilometer kilometers: 1000; "
    "cm centimetre centimetres centimeter centimeters: 0.01; mm millimetre millimetres millimeter "
    "millimeters: 0.001; mi mile miles: 1609.344; yd yard yards: 0.9144; ft foot feet: 0.3048; "
    "inch inches: 0.0254",
    "mass": "g gram grams gramme grammes: 1; kg kilo kilos kilogram kilograms: 1000; "
    "mg milligram milligrams: 0.001; t tonne tonnes ton tons: 1000000; lb lbs: 453.592; "
    "oz ounce ounces: 28.3495; stone: 6350.29",
    "volume": "l litre litres liter liters: 1; ml millilitre millilitres milliliter milliliters: 0.001; "
    "cl centilitre centilitres centiliter centiliters: 0.01; dl decilitre decilitres: 0.1; "
    "tbsp tablespoon tablespoons: 0.015; tsp teaspoon teaspoons: 0.005; "
    "gallon gallons gal: 3.785; pint pints: 0.473; quart quarts: 0.946",
    "area": "m2 sqm: 1; km2: 1000000; sqft: 0.0929; hectare hectares ha: 10000; acre acres: 4046.86",
    "space": "m3 cbm: 1; cm3 ccm: 0.000001",
    "data": "kb kilobyte kilobytes: 1; mb megabyte megabytes: 1000; gb gigabyte gigabytes: 1000000; "
    "tb terabyte terabytes: 1000000000",
    "speed": "kmh kph: 1; mph: 1.609344; knots: 1.852",
    "power": "w watt watts: 1; kw kilowatt kilowatts: 1000",
    "energy": "kcal calories calorie: 1; kwh: 860.4",
    "celsius": "celsius centigrade: 1",
    "fahrenheit": "fahrenheit: 1",
}
UNITS = {
    word: (dimension, float(size))
    for dimension, line in _UNITS.items()
    for words, _, size in (part.partition(":") for part in line.split(";"))
    for word in in_order(words)
}
"""The dimension of each unit, and its size in that dimension's base unit."""
POWERS = {"square": "2", "squared": "2", "sq": "2", "cubic": "3", "cubed": "3"}


NUMBERED = vocabulary(
    "room part chapter section version terminal platform gate floor level laboratory lab hall table "
    "track line building session unit day phase episode season lesson module group team number "
    "block wing plan option apartment suite bay stage lot zone pier dock studio court field pitch "
    "lane route bus train exit entrance row seat deck stand door class grade year week question "
    "item step task ticket order vitamin appendix annex boardroom conference quarter ballroom salon "
    "park ward"
)
"""Things that are told apart by a number or letter after them."""
NOT_NUMBERED = vocabulary("thing of and or to at in on for with if please i we you aid hand name class")
"""Words that do not follow "first" if it is a number."""
PLACED = vocabulary("in came come finished placed ranked")
LONGEST_NUMBER = 15
"""In digits. Longer numbers are compared as they are written, and so are codes: those that begin with 0."""


def value_at(scan: Scan, at: int) -> tuple[float | str, int] | None:
    """Return the number that begins at an index, in digits or words, and the index after it."""
    text, end = scan.text(at), at + 1
    if not text[0].isdecimal():
        return _in_words(scan, at)
    digits = text.replace(",", "")
    if ":" in text or "-" in text:
        return None
    if len(digits) > LONGEST_NUMBER or (len(digits) > 2 and digits.isdecimal() and digits[0] == "0"):
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
    end = at + 2 + (scan.text(at + 1) == "a")
    if scan.text(at) == "half" and scan.text(end - 1) == "dozen":
        return 6.0, end
    total, end, seen = 0.0, at, False
    while end < len(scan.words):
        text = scan.text(end)
        if text in TENS and not (seen and total % 100):
            total, seen = total + TENS[text], True
        elif text in SMALL and not (seen and (total % 10 or 0 < total % 100 < 20)):
            total, seen = total + SMALL[text], True
        elif text in ORDINALS and (text not in ("first", "second") or seen or counts(scan, end)):
            return total + ORDINALS[text], end + 1
        elif len(text) > 1 and text in MULTIPLIERS and text != "grand":
            total, seen = (total or 1) * MULTIPLIERS[text], True
        elif not (text == "and" and total >= 100 and scan.text(end + 1) in SMALL.keys() | TENS.keys()):
            break
        end += 1
    return (total, end) if seen else None


def counts(scan: Scan, at: int) -> bool:
    """Return whether "one", "first" or "second" at an index numbers something, or stands for a thing."""
    if scan.text(at - 1) in NUMBERED or scan.text(at + 1) in NUMBERED:
        return True
    following = scan.words[at + 1] if at + 1 < len(scan.words) else None
    if scan.text(at - 1) in PLACED and (following is None or not following.is_word):
        return True
    ordinal = scan.text(at) in ORDINALS and scan.text(at - 1) not in ("a", "one", "per", "at")
    return ordinal and following is not None and following.is_word and following.text not in NOT_NUMBERED


DAY = 86_400.0
LASTING_UNITS: Mapping[str, tuple[str, float]] = {
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
"""The unit that a unit of time is counted in, and how many of these it is."""
LASTING = vocabulary("in for within after about takes take lasts last")
"""After these, "a week" is seven days, not a frequency."""
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
    """Return the duration that begins at an index; None if there is none."""
    first = _term(scan, at)
    if first is None:
        return None
    unit = scan.text(first.end - 1).removesuffix("s")
    last = first
    if _is_and_a_half(scan, first.end):
        last = _Term(first.counted, first.amount + first.size / 2, first.size, first.end + 3)
    total, end = {first.counted: last.amount}, last.end
    while last.size > 1 and (more := _further(scan, end, last)):
        total[more.counted] = total.get(more.counted, 0.0) + more.amount
        last, end = more, more.end
    if first.bare and end == first.end and not (unit in ALWAYS or scan.text(at - 1) in LASTING):
        return None
    return Fact(Sort.DURATION, frozenset({tuple(sorted(total.items()))}), scan.take(at, end))


def _term(scan: Scan, at: int) -> _Term | None:
    term = _amount(scan, at)
    if term is None:
        return None
    amount, end, bare = term
    unit = scan.text(end).removesuffix("s")
    if unit not in LASTING_UNITS or not scan.free(end) or (unit == "h" and not scan.joined(end)):
        return None
    counted, size = LASTING_UNITS[unit]
    return _Term(counted, round(amount * size, 3), size, end + 1, bare)


def _amount(scan: Scan, at: int) -> tuple[float, int, bool] | None:
    """Read how many of a unit there are (90, half a), with the index after it and whether it is just "a"."""
    text, following = scan.text(at), scan.text(at + 1)
    if text in SHARES and following in ("a", "an", "of"):
        return SHARES[text], at + 2 + (following == "of" and scan.text(at + 2) in ARTICLES), False
    if text == "half" and following in LASTING_UNITS:
        return 0.5, at + 1, False
    number = 1 if text in ARTICLES else SMALL.get(text)
    share = SHARES.get(following.removesuffix("s"))
    if number and share and scan.text(at + 2) == "of" and scan.text(at + 3) in ARTICLES:
        return number * share, at + 4, False
    if text in ("a", "an"):
        return 1.0, at + 1, True
    return _counted(scan, at)


def _counted(scan: Scan, at: int) -> tuple[float, int, bool] | None:
    counted = value_at(scan, at) if scan.free(at) else None
    if counted is None or not isinstance(counted[0], float):
        return None
    value, end = float(counted[0]), counted[1]
    if scan.text(end - 1) in ORDINALS or scan.text(end - 1) in ORDINAL_ENDINGS:
        return None
    return (value + 0.5, end + 3, False) if _is_and_a_half(scan, end) else (value, end, False)


def _is_and_a_half(scan: Scan, at: int) -> bool:
    return [scan.text(at + n) for n in range(3)] == ["and", "a", "half"]


def _further(scan: Scan, at: int, before: _Term) -> _Term | None:
    """Return what is added in a smaller unit: 1 hour and 30 minutes."""
    term = _term(scan, at + (scan.text(at) == "and"))
    if term is None or term.bare or (term.counted == before.counted and term.size >= before.size):
        return None
    return term


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
    """Yield the facts about amounts among the words not yet read, and mark those words as read."""
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
    quantity = value_at(scan, first)
    if quantity is None:
        return None
    value, end = quantity
    meant: list[float | str] = _meant(scan, first, value) if isinstance(value, float) else [value]
    unit = scan.text(end)
    if unit in CENTS and isinstance(value, float):
        worth: frozenset[object] = frozenset((value / 100, currency) for currency in SIGNS.values())
        return Fact(Sort.MONEY, worth, scan.take(at, end + 1))
    if money or unit in MONEY or unit in SIGNS:
        currency = SIGNS.get(scan.text(at)) or MONEY.get(unit) or SIGNS[unit]
        worth = frozenset((amount, currency) for amount in meant)
        return Fact(Sort.MONEY, worth, scan.take(at, end + (unit in MONEY or unit in SIGNS)))
    if unit in ("%", "percent", "pct"):
        return Fact(Sort.PERCENT, frozenset(meant), scan.take(at, end + 1))
    if unit == "quarter":
        return Fact(Sort.NUMBER, frozenset({("quarter", value)}), scan.take(at, end + 1))
    if isinstance(value, float) and (measured := _measured(scan, end)):
        dimension, size, after = measured
        return Fact(
            Sort.MEASURE,
            frozenset((round(float(amount) * size, 6), dimension) for amount in meant),
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
    """Return what a number can mean: 1.200 is also twelve hundred, as half the world writes it."""
    whole, point, thousands = scan.text(at).partition(".")
    if point and len(thousands) == 3 and whole != "0":
        return [value, float(whole + thousands)]
    return [value]


def _part(scan: Scan, at: int) -> Fact | None:
    """Read a part of something: half of it, two thirds of it, half a kilo."""
    text, following = scan.text(at), at + 1
    number = 1 if text in ("a", "the", "one") else SMALL.get(text)
    if text == "half":
        if scan.text(at + 1) == "a" and (measured := _measured(scan, at + 2)):
            dimension, size, after = measured
            return Fact(Sort.MEASURE, frozenset({(round(size / 2, 6), dimension)}), scan.take(at, after))
        share = PARTS_OF_ONE["half"]
    elif number is not None and scan.text(at + 1).removesuffix("s") in PARTS_OF_ONE:
        share, following = number * PARTS_OF_ONE[scan.text(at + 1).removesuffix("s")], at + 2
    elif scan.text(at + 1) == "/" and (one := scan.number(at)) and (other := scan.number(at + 2)):
        share, following = 100 * one / other, at + 3
    else:
        return None
    if scan.text(following) != "of" and not (text == "half" and scan.text(following) in ("the", "my", "our")):
        return None
    return Fact(Sort.PERCENT, frozenset({round(share, 3)}), scan.take(at, following))


def _measured(scan: Scan, at: int) -> tuple[str, float, int] | None:
    """Return the unit that begins at an index: its dimension, its size, and the index after it."""
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
    """Read a letter that numbers something: room B, plan A."""
    word = scan.words[at]
    if not (word.is_word and len(word.text) == 1 and word.capital) or word.text == "i":
        return None
    if scan.text(at - 1) not in NUMBERED:
        return None
    return Fact(Sort.LETTER, frozenset({word.text}), scan.take(at, at + 1))


def _located(scan: Scan, start: int, end: int) -> str | None:
    return next((scan.text(at) for at in (start - 1, end) if scan.text(at) in LOCATED), None)
