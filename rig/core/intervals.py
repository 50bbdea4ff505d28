"""Numbers with their intervals, in words."""

from collections.abc import Callable
from typing import Protocol


class Bounded(Protocol):
    """A number with the bounds of its interval, each None if it is not known."""

    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def with_interval(
    write: Callable[[float], str],
    number: Bounded,
    unit: str = "",
    write_bound: Callable[[float], str] | None = None,
) -> str:
    """Return a number with its interval, if it has one: `61.0% (55.0 to 64.0)`. Without a number, return its
    bounds, as in `55.0 to 64.0%`, or `-` if it has none. Bounds are written as the number is, by default.
    """
    bounds = ""
    if number.low is not None and number.high is not None:
        bounds = " to ".join(map(write_bound or write, (number.low, number.high)))
    if number.value is None:
        return f"{bounds}{unit}" if bounds else "-"
    return f"{write(number.value)}{unit}{f' ({bounds})' if bounds else ''}"
