"""Numbers and texts for people: harmless to print, and cut with a note of how much was left out."""

import json
import unicodedata
from dataclasses import dataclass

from rig.core.calls import Json
from rig.core.errors import counted
from rig.core.intervals import Bounded, with_interval
from rig.core.metrics import UNCLEAR, Counts, Declaration, Metric
from rig.show.signs import ELLIPSIS


def printable(text: str) -> str:
    """Escape the characters of a text that could steer a terminal or a page, except newlines and tabs."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character)[0] != "C"
        else character.encode("unicode_escape").decode()
        for character in text
    )


LIMIT = 4_000
"""The most characters shown of one text by default. The store keeps all of it."""


@dataclass(frozen=True, slots=True)
class Clip:
    """The beginning of a text and how many characters follow it."""

    text: str
    omitted: int = 0

    @property
    def rest(self) -> str:
        """A note of how many characters were left out; empty if there are none."""
        return f" {ELLIPSIS} {counted(self.omitted, 'more character')}" if self.omitted else ""

    @property
    def line(self) -> str:
        """The clipped text with its note on one line, with newlines escaped."""
        return str(self).replace("\n", "\\n")

    def __str__(self) -> str:
        return f"{self.text}{self.rest}"


def clip(text: str, limit: int = LIMIT) -> Clip:
    """Return `text` whole if it is no longer than `limit` characters, else its beginning."""
    return Clip(text) if len(text) <= limit else Clip(text[:limit], len(text) - limit)


def cut_json(value: Json, limit: int) -> tuple[Json, int]:
    """Return `value` with texts and lists cut to `limit` characters or items, and the number of cuts."""
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
    """Return `value` as one line of JSON, clipped."""
    try:
        return clip(json.dumps(value, ensure_ascii=False), limit)
    except (RecursionError, TypeError, ValueError):
        return Clip("(cannot be shown as JSON)")


UNKNOWN = "-"
"""What is shown in place of a missing number."""


def out_of(done: int, total: int, between: str = "/") -> str:
    """Return a number and its total, as in `3/4`; without the total if it is 0, which means unknown."""
    return f"{done}{between}{total}" if total else str(done)


def percent(fraction: float | None) -> str:
    """Return a rate as a percentage, `-` for None."""
    return UNKNOWN if fraction is None else f"{100 * fraction:.1f}%"


def measured(metric: Metric, counts: Counts) -> str:
    """Return a metric in the format that it declares, `-` if there is nothing to divide by.

    If something is unclear, return both bounds, as in `61.0% to 64.0%`.
    """
    value = metric.rate(counts)
    if bounds := metric.bounds(counts):
        return " to ".join(metric.amount(end) + metric.unit for end in bounds)
    if value is None or metric.format == "percent":
        return percent(value)
    return metric.amount(value)


_SHARE = Metric("share", "share", "")


def estimate(measured: Bounded, metric: Metric = _SHARE) -> str:
    """Return a rate with its interval, in percent or in the format of `metric`."""
    return with_interval(metric.amount, measured, metric.unit)


def unclear_texts(counts: Counts) -> str:
    """Return how many texts are unclear, in words; empty if none are."""
    count = counts.get(UNCLEAR, 0)
    return f"{counted(round(count), 'text')} unclear" if count else ""


def headline(declaration: Declaration, counts: Counts) -> str:
    """Return the main number of an arm: its success, or else the first metric that is declared.

    If a method has several kinds of task with separate success rates, return each of them with its name.
    """
    if len(declaration.parts) > 1:
        return " · ".join(f"{part.title} {measured(part, counts)}" for part in declaration.parts)
    metric = declaration.success_metric or next(iter(declaration.metrics), None)
    return measured(metric, counts) if metric else UNKNOWN


def rate(per_second: float | None) -> str:
    """Return tokens per second, `-` for None."""
    if per_second is None:
        return UNKNOWN
    return f"{per_second:.0f}" if per_second >= 10 else f"{per_second:.1f}"


def read_so_far(read: int, prompt: int) -> str:
    """Return how much of a prompt is read: `  512 of 3,450 tokens (15%)`."""
    return f"{read:>{len(f'{prompt:,}')},} of {prompt:,} tokens ({100 * read // max(prompt, 1)}%)"


def clock_time(seconds: float) -> str:
    """Return a duration as minutes and seconds, with hours if there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def seconds(duration: float | None) -> str:
    """Return a short duration in seconds, `-` for None."""
    return UNKNOWN if duration is None else f"{duration:.2f} s"


def mebibytes(size: int | None, digits: int = 0) -> str:
    """Return a size in bytes as MiB, or as GiB from 10 GiB on; `-` for None."""
    if size is None:
        return UNKNOWN
    return f"{size / 2**30:.1f} GiB" if size >= 10 * 2**30 else f"{size / 2**20:,.{digits}f} MiB"


def file_size(size: int | None) -> str:
    """Return the size of a file or a part of one in bytes, precisely enough to tell quantizations apart."""
    return mebibytes(size, digits=1)


def kilojoules(energy: float | None) -> str:
    """Return an energy in joules as kJ, `-` for None."""
    return UNKNOWN if energy is None else f"{energy / 1000:,.1f} kJ"


def millions(count: int) -> str:
    """Return a count of parameters in millions or billions: 134.5M, 7.24B."""
    return f"{count / 1e9:.2f}B" if count >= 1e9 else f"{count / 1e6:.1f}M"
