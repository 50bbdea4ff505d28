"""The numbers, amounts, durations and counting letters that a text states."""

from collections.abc import Iterator
from dataclasses import dataclass

from rig.plugins.text.reading.facts import Fact, Scan, Sort
from rig.plugins.text.reading.lexicon import in_order, listed, sized, table, vocabulary

SMALL = {word: value for value, word in enumerate(table("numbers")["small"].split())}
TENS = {word: 10 * value for value, word in enumerate(table("numbers")["tens"].split(), 2)}
ORDINALS = {word: value for value, word in enumerate(table("numbers")["ordinals"].split(), 1)} | {
    "hundredth": 100
}
ORDINALS |= {word: 10 * value for value, word in enumerate(table("numbers")["tenths"].split(), 1)}
MULTIPLIERS = table("multipliers")
ORDINAL_ENDINGS = frozenset(("st", "nd", "rd", "th"))


def small(text: str) -> int | None:
    """Return a whole number of at most two digits, in digits or one word; None for anything else."""
    if text.isdecimal() and len(text) < 3:
        return int(text)
    return SMALL.get(text, TENS.get(text))


UNITS = dict(sized("units"))
"""The dimension of each unit, and its size in that dimension's base unit."""
POWERS = {"square": "2", "squared": "2", "sq": "2", "cubic": "3", "cubed": "3"}


NUMBERED = listed("numbered")
"""Things that are told apart by a number or letter after them."""
NOT_NUMBERED = listed("not_numbered")
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
LASTING_UNITS = dict(sized("lasting"))
"""The unit that a unit of time is counted in, and how many of these it is."""
LASTING = vocabulary("in for within after about takes take lasts last")
"""After these, "a week" is seven days, not a frequency."""
ALWAYS = vocabulary("hour fortnight decade")
"""Units that mean one wherever they stand, as in "an hour"."""
ARTICLES = vocabulary("a an one")
SHARES = {"half": 0.5, "quarter": 0.25, "third": 1 / 3}


@dataclass(frozen=True, slots=True)
class Term:
    """A number of one unit, and the index after it. `bare` means a unit without a number."""

    counted: str
    amount: float
    size: float
    end: int
    bare: bool = False


def duration(scan: Scan, at: int) -> Fact | None:
    """Return the duration that begins at an index; None if there is none."""
    first = lasting(scan, at)
    if first is None:
        return None
    unit = scan.text(first.end - 1).removesuffix("s")
    last = first
    if _is_and_a_half(scan, first.end):
        last = Term(first.counted, first.amount + first.size / 2, first.size, first.end + 3)
    total, end = {first.counted: last.amount}, last.end
    while last.size > 1 and (more := _further(scan, end, last)):
        total[more.counted] = total.get(more.counted, 0.0) + more.amount
        last, end = more, more.end
    if scan.text(end) == "ago":
        days = {-n / DAY if counted == "seconds" else (counted, -n) for counted, n in total.items()}
        return Fact(Sort.RELATIVE, frozenset(days), scan.take(at, end + 1))
    if first.bare and end == first.end and not (unit in ALWAYS or scan.text(at - 1) in LASTING):
        return None
    to_come = ("days", total["seconds"] / DAY) if scan.text(at - 1) == "in" and unit == "day" else None
    return Fact(Sort.DURATION, frozenset({tuple(sorted(total.items()))}), scan.take(at, end), to_come)


def lasting(scan: Scan, at: int) -> Term | None:
    """Return the number of one unit of time that begins at an index; None if there is none."""
    term = _amount(scan, at)
    if term is None:
        return None
    amount, end, bare = term
    unit = scan.text(end).removesuffix("s")
    if unit not in LASTING_UNITS or not scan.free(end) or (unit == "h" and not scan.joined(end)):
        return None
    counted, size = LASTING_UNITS[unit]
    return Term(counted, round(amount * size, 3), size, end + 1, bare)


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


def _further(scan: Scan, at: int, before: Term) -> Term | None:
    """Return what is added in a smaller unit: 1 hour and 30 minutes."""
    term = lasting(scan, at + (scan.text(at) == "and"))
    if term is None or term.bare or (term.counted == before.counted and term.size >= before.size):
        return None
    return term


SIGNS = {"$": "usd", "€": "eur", "£": "gbp"}
MONEY = {word: currency for currency, words in table("money").items() for word in words.split()}
CENTS = frozenset(in_order("cent cents pence penny"))
PARTS_OF_ONE = {"half": 50.0, "third": 100 / 3, "quarter": 25.0, "fifth": 20.0, "tenth": 10.0}
DEGREES = {"c": "celsius", "celsius": "celsius", "centigrade": "celsius"}
DEGREES |= {"f": "fahrenheit", "fahrenheit": "fahrenheit"}
LOCATED = listed("located")


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
