"""Numbers in words."""

from rig.scoring.texts.reading.listed import in_order

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
    """A whole number of at most two digits, in digits or in one word."""
    if text.isdecimal() and len(text) < 3:
        return int(text)
    return SMALL.get(text, TENS.get(text))
