"""The running numbers of an arm, exactly as the events carry them, and how well the rates are known."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rig.displays.numbers import UNKNOWN, clock_time, measured, mebibytes, percent, rate, unclear_texts
from rig.displays.progress import NOT_EVALUATED, Remaining
from rig.displays.signs import DASH
from rig.events import Speed
from rig.metrics import Counts, Declaration
from rig.rates import Estimate
from tui.live.state import ArmState
from tui.text.lines import Line, Span, Tint, fit, join, width_of
from tui.widgets.lines import Lines

_GAP = 3
_INTERVAL = len(" 100-100")
_FORMS = (*((True, least) for least in range(1, 5)), *((False, least) for least in range(1, 11)))
"""What is tried in order: with all that is behind the numbers, and from how important ones on."""
_TIMES = len(" 00:00-00:00")


class _Number(NamedTuple):
    """A column: its title, its number, what stands behind it, and the cells that it needs at most.

    So that nothing moves when a number changes, the room of a column does not depend on its number. `last` is
    how late it is left out where there is no room for all, `more` how much may be left out of it before.
    """

    title: str
    value: Line
    room: int
    more: int = 0
    last: int = 0

    def width(self, with_more: bool) -> int:
        """Cells of the column."""
        return max(len(self.title), self.room + (self.more if with_more else 0))


class Meters(Lines):
    """Two lines: titles, and below them how right the model is, with 95% intervals, and how fast it goes."""

    def show_arm(
        self,
        arm: ArmState | None,
        declaration: Declaration,
        estimates: Mapping[str, Estimate],
        elapsed_s: float,
        remaining: Remaining | None,
    ) -> None:
        """Bring the numbers up to date. `estimates` are by the names of metrics."""
        if not self.size.width:
            return
        counts = (arm.rated if arm else None) or {}
        speed = (arm.speed if arm else None) or Speed()
        numbers = [
            *_rights(declaration, counts, estimates if counts else {}),
            *_speeds(speed),
            _Number("time", _value(clock_time(elapsed_s)), 7, last=1),
            _left(remaining),
        ]
        titles, values = _table(numbers, self.size.width - 1)
        if arm is not None and not arm.evaluated:
            values = fit([(NOT_EVALUATED, Tint.ERROR), ("  ", Tint.PLAIN), *values], self.size.width - 1)
        self.show([((" ", Tint.PLAIN), *line) for line in (titles, values)])


def _rights(declaration: Declaration, counts: Counts, estimates: Mapping[str, Estimate]) -> list[_Number]:
    faults = {part.name for part in declaration.outcome if part.better == "lower" and counts.get(part.name)}
    lines = declaration.shown("lines")
    columns = []
    for metric in declaration.shown("meters"):
        tint = Tint.FAILURE if metric.numerator in faults else Tint.STRONG
        value: list[Span] = [(measured(metric, counts), tint)]
        estimate = estimates.get(metric.name)
        if estimate is not None and estimate.low is not None and estimate.high is not None:
            bounds = (f"{metric.scale * end:.0f}" for end in (estimate.low, estimate.high))
            value.append((f" {str(DASH).join(bounds)}", Tint.MUTED))
        columns.append(_Number(metric.title, tuple(value), 6, _INTERVAL, 8 if metric in lines else 4))
    if unclear := unclear_texts(counts):
        columns.append(_Number("unclear", _value(unclear.partition(" ")[0], Tint.MUTED), 4, last=5))
    return columns


def _speeds(speed: Speed) -> list[_Number]:
    columns = [
        _Number("prefill tok/s", _value(rate(speed.prefill_rate)), 5, last=3),
        _Number("decode tok/s", _value(rate(speed.decode_rate)), 5, last=7),
        _Number("cached", _value(percent(speed.cached_share)), 6, last=6),
        _Number("memory", _value(mebibytes(speed.peak_memory)), 8, last=2),
    ]
    if speed.peak_device_memory is not None:
        columns.append(_Number("GPU", _value(mebibytes(speed.peak_device_memory)), 8, last=2))
    return columns


def _left(remaining: Remaining | None) -> _Number:
    """The time left, with the interval in which it will be."""
    if remaining is None:
        return _Number("left", _value(UNKNOWN), 7, _TIMES, 9)
    value: list[Span] = [(clock_time(remaining.seconds), Tint.STRONG)]
    if remaining.low < remaining.high:
        bounds = map(clock_time, (remaining.low, remaining.high))
        value.append((f" {str(DASH).join(bounds)}", Tint.MUTED))
    return _Number("left", tuple(value), 7, _TIMES, 9)


def _value(text: str, tint: Tint = Tint.STRONG) -> Line:
    return ((text, tint),)


def _table(numbers: Sequence[_Number], width: int) -> tuple[Line, Line]:
    """The titles and the numbers in columns: with all there is to say, or less of it, or fewer of them."""
    for with_more, from_ in _FORMS:
        columns = [(number, number.width(with_more)) for number in numbers if number.last >= from_]
        if sum(room + _GAP for _, room in columns) - _GAP <= width:
            break
    gap = " " * _GAP
    titles = join([[(column.title.ljust(room), Tint.MUTED)] for column, room in columns], gap)
    values = join(
        [_padded(column.value if with_more else column.value[:1], room) for column, room in columns], gap
    )
    return titles, values


def _padded(value: Line, room: int) -> Line:
    spans = fit(value, room)
    return (*spans, (" " * (room - width_of(spans)), Tint.PLAIN))
