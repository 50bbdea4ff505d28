"""Regular expressions of numbers between two bounds, in decimal digits and without an exponent."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any


def integers(low: int, high: int) -> str:
    """The integers from `low` to `high`, both included, as JSON writes them; `-0` where negatives may be."""
    return _signed(low, high, _digits)


def decimals(low: float, high: float) -> str:
    """The numbers from `low` to `high`, both included, with any number of digits after the point, or none.

    Bounds are what their shortest decimal says. Reading a text as a double keeps it within them, since
    rounding keeps the order.
    """
    return _signed(Decimal(repr(low)), Decimal(repr(high)), _unsigned)


def _signed(low: Any, high: Any, unsigned: Callable[[Any, Any], str]) -> str:
    zero = type(low)(0)
    parts = [f"-(?:{unsigned(max(-high, zero), -low)})"] if low < 0 else []
    return "|".join([*parts, unsigned(max(low, zero), high)] if high >= 0 else parts)


def _unsigned(low: Decimal, high: Decimal) -> str:
    (first, low_digits), (last, high_digits) = _split(low), _split(high)
    if first == last:
        return f"{first}{_fraction(low_digits, high_digits)}"
    parts = [f"{first}{_fraction(low_digits, None)}"]
    if last - first > 1:
        parts.append(f"(?:{_digits(first + 1, last - 1)}){_fraction('', None)}")
    return "|".join([*parts, f"{last}{_fraction('', high_digits)}"])


def _split(number: Decimal) -> tuple[int, str]:
    """The whole part, and the digits after the point without zeros at their end."""
    whole, _, digits = format(number, "f").partition(".")
    return int(whole), digits.rstrip("0")


def _fraction(low: str, high: str | None) -> str:
    some = rf"\.(?:{'|'.join(_tails(low, high))})"
    return some if low else f"(?:{some})?"


def _tails(low: str, high: str | None) -> list[str]:
    """The digits, at least one, that are a fraction from `low` to `high`, or from `low` on."""
    if high == "":
        return ["0+"]
    if not low and high is None:
        return ["[0-9]+"]
    first, last = int(low[:1] or "0"), int(high[:1]) if high else 10
    if high and first == last:
        return [_after(first, low[1:], high[1:])]
    parts = [_after(first, low[1:], None)]
    if last - first > 1:
        parts.append(f"[{first + 1}-{last - 1}][0-9]*")
    return [*parts, _after(last, "", high[1:])] if high else parts


def _after(digit: int, low: str, high: str | None) -> str:
    return f"{digit}(?:{'|'.join(_tails(low, high))}){'' if low else '?'}"


def _digits(low: int, high: int) -> str:
    """The natural numbers from `low` to `high`: first split where the number of digits changes."""
    parts = []
    while len(str(low)) < len(str(high)):
        nines = 10 ** len(str(low)) - 1
        parts += _same_length(str(low), str(nines))
        low = nines + 1
    return "|".join([*parts, *_same_length(str(low), str(high))])


def _same_length(low: str, high: str) -> list[str]:
    """The numbers between two of as many digits, as alternatives."""
    if low == high:
        return [low]
    if len(low) == 1:
        return [f"[{low}-{high}]"]
    if low[0] == high[0]:
        return [low[0] + tail for tail in _same_length(low[1:], high[1:])]
    rest = len(low) - 1
    first, last = int(low[0]), int(high[0])
    begun = [low[0] + tail for tail in _same_length(low[1:], "9" * rest)] if low[1:] != "0" * rest else []
    ended = [high[0] + tail for tail in _same_length("0" * rest, high[1:])] if high[1:] != "9" * rest else []
    first, last = first + bool(begun), last - bool(ended)
    digit = str(first) if first == last else f"[{first}-{last}]"
    return [*begun, *([f"{digit}[0-9]{{{rest}}}"] if first <= last else []), *ended]
