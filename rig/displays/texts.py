"""Numbers and texts for people: harmless to print, and cut with a note of how much was left out."""

import json
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rig.calls import Json
from rig.displays.signs import ELLIPSIS
from rig.errors import counted
from rig.metrics import UNCLEAR, Counts, Declaration, Metric

if TYPE_CHECKING:
    from rig.rates import Estimate
    from rig.rates.agreement import Interval
    from rig.rates.paired import RateDifference


def printable(text: str) -> str:
    """The text with what could steer a terminal or a page made visible; newlines and tabs stay."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character)[0] != "C"
        else character.encode("unicode_escape").decode()
        for character in text
    )


LIMIT = 4_000
"""Characters of one text that are shown where nobody asked for all of it. The store keeps all of it."""


@dataclass(frozen=True, slots=True)
class Clip:
    """The beginning of a text and how many characters follow it."""

    text: str
    omitted: int = 0

    @property
    def rest(self) -> str:
        """What is said about the characters left out; empty if there are none."""
        return f" {ELLIPSIS} {counted(self.omitted, 'more character')}" if self.omitted else ""

    @property
    def line(self) -> str:
        """All that is shown of it on one line, even of a text of several."""
        return str(self).replace("\n", "\\n")

    def __str__(self) -> str:
        return f"{self.text}{self.rest}"


def clip(text: str, limit: int = LIMIT) -> Clip:
    """`text` if it is no longer than `limit` characters, else its beginning."""
    return Clip(text) if len(text) <= limit else Clip(text[:limit], len(text) - limit)


def cut_json(value: Json, limit: int) -> tuple[Json, int]:
    """`value` with texts cut to `limit` characters and lists to as many items, and how many were cut."""
    if isinstance(value, str):
        return (value, 0) if len(value) <= limit else (str(clip(value, limit)), 1)
    if isinstance(value, dict):
        result: dict[str, Json] = {}
        cut = 0
        for number, (name, part) in enumerate(value.items()):
            key = name if len(name) <= limit else f"{number}: {clip(name, limit)}"
            result[key], often = cut_json(part, limit)
            cut += often + (key != name)
        return result, cut
    if isinstance(value, list | tuple):
        items = [cut_json(part, limit) for part in value[:limit]]
        return [part for part, _ in items], sum(cut for _, cut in items) + (len(value) > limit)
    return value, 0


def clip_json(value: Json, limit: int = LIMIT) -> Clip:
    """`value` as one line of JSON, clipped."""
    try:
        return clip(json.dumps(value, ensure_ascii=False), limit)
    except (RecursionError, TypeError, ValueError):
        return Clip("(cannot be shown as JSON)")


UNKNOWN = "-"
"""What stands for a number that there is none of."""


def out_of(done: int, total: int, between: str = "/") -> str:
    """How many of how many, as in `3/4`; a total of 0 is one that nobody knows."""
    return f"{done}{between}{total}" if total else str(done)


def percent(fraction: float | None) -> str:
    """A rate as a percentage, `-` where there is none."""
    return UNKNOWN if fraction is None else f"{100 * fraction:.1f}%"


def measured(metric: Metric, counts: Counts) -> str:
    """A metric as its declaration has it printed, `-` where there is nothing to divide by.

    Where something is unclear it is both bounds, as in `61.0% to 64.0%`.
    """
    value = metric.rate(counts)
    if bounds := metric.bounds(counts):
        return " to ".join(metric.amount(end) + metric.unit for end in bounds)
    if value is None or metric.format == "percent":
        return percent(value)
    return metric.amount(value)


_SHARE = Metric("share", "share", "")


def estimate(measured: "Estimate", metric: Metric = _SHARE) -> str:
    """A rate with its interval; in percent, unless it is a metric that is printed otherwise."""
    return with_interval(metric.amount, measured, metric.unit)


def with_interval(
    write: Callable[[float], str], number: "Estimate | RateDifference | Interval", unit: str = ""
) -> str:
    """A number with its interval, where it has one: `61.0% (55.0 to 64.0)`; `-` where there is none."""
    if number.value is None:
        return UNKNOWN
    bounds = ""
    if number.low is not None and number.high is not None:
        bounds = f" ({write(number.low)} to {write(number.high)})"
    return f"{write(number.value)}{unit}{bounds}"


def unclear_texts(counts: Counts) -> str:
    """How many texts may or may not be right, in words; empty if none are."""
    count = counts.get(UNCLEAR, 0)
    return f"{counted(round(count), 'text')} unclear" if count else ""


def headline(declaration: Declaration, counts: Counts) -> str:
    """The one number that stands for an arm: its success, or else the first metric that is declared.

    Where tasks of several kinds succeed at a rate of their own, it is these rates, each with its name.
    """
    if len(declaration.parts) > 1:
        return " · ".join(f"{part.title} {measured(part, counts)}" for part in declaration.parts)
    metric = declaration.success_metric or next(iter(declaration.metrics), None)
    return measured(metric, counts) if metric else UNKNOWN


def rate(per_second: float | None) -> str:
    """Tokens per second, `-` where there is none."""
    if per_second is None:
        return UNKNOWN
    return f"{per_second:.0f}" if per_second >= 10 else f"{per_second:.1f}"


def clock_time(seconds: float) -> str:
    """A duration as minutes and seconds, with hours where there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def seconds(duration: float | None) -> str:
    """A short duration, `-` where there is none."""
    return UNKNOWN if duration is None else f"{duration:.2f} s"


def mebibytes(size: int | None, digits: int = 0) -> str:
    """A size in bytes as MiB, or as GiB from 10 GiB on; `-` for None."""
    if size is None:
        return UNKNOWN
    return f"{size / 2**30:.1f} GiB" if size >= 10 * 2**30 else f"{size / 2**20:,.{digits}f} MiB"


def file_size(size: int | None) -> str:
    """The size of a file, or of a part of one, finely enough to tell quantizations apart."""
    return mebibytes(size, digits=1)


def kilojoules(energy: float | None) -> str:
    """An energy in joules as kJ, `-` for None."""
    return UNKNOWN if energy is None else f"{energy / 1000:,.1f} kJ"


def millions(count: int) -> str:
    """A count of parameters: 134.5M, 7.24B."""
    return f"{count / 1e9:.2f}B" if count >= 1e9 else f"{count / 1e6:.1f}M"
