"""The numbers of a run: a line at the top, a line for each arm, and the current numbers of one arm."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rig.displays.progress import NOT_EVALUATED, Remaining
from rig.displays.signs import CURSOR, DASH
from rig.displays.table import short_names
from rig.displays.texts import UNKNOWN, clock_time, measured, mebibytes, percent, rate, unclear_texts
from rig.events import Speed
from rig.metrics import UNPLAYED, Counts, Declaration
from rig.options import TABLE
from rig.rates import Estimate
from rig.rates.repeats import RepeatOutcomes
from tui.live.state import IN_ORDER, ArmState, ConversationState, RunState
from tui.text.lines import Line, Span, Tint, bar, curve, fit, inert_line, pad, progress, spread, width_of
from tui.widgets.lines import Lines, Rows

_NAME = 30
CURVES_FROM = 160
"""The width in cells from which every arm has a curve of its success so far, and its memory."""
_CURVE = 40


class Arms(Rows):
    """A line for each arm. A run with a single arm only has one if the terminal is wide."""

    def show_arms(self, state: RunState, reading: int) -> None:
        """Update the lines, with a mark at the arm of the conversation being read."""
        numbers = [(arm.rated, arm.speed, arm.failure, arm.evidence, arm.info.name) for arm in state.arms]
        width = self.size.width
        if (len(state.arms) < 2 and width < CURVES_FROM) or not self.is_new(reading, state.changes, numbers):
            return
        cells: list[list[ConversationState]] = [[] for _ in state.arms]
        for where, conversation in state.conversations.items():
            if where.arm < len(cells):
                cells[where.arm].append(conversation)
        called = short_names([inert_line(arm.info.name) for arm in state.arms])
        names = min(max(map(len, called)), _NAME, width // 3)
        lines = []
        for number, arm in enumerate(state.arms):
            name: Span = (called[number], Tint.STRONG if number == reading else Tint.PLAIN)
            bar: Span = (str(CURSOR) if number == reading else " ", Tint.RUNNING)
            head = [bar, (f"{number + 1} ", Tint.MUTED), *pad(fit([name], names), names + 1)]
            room = width - width_of(head)
            lines.append((*head, *_state(arm, cells[number], state.declaration, width, room)))
        self.show(lines)
        self.bring_into_sight(reading, reading)


def _state(
    arm: ArmState, conversations: Sequence[ConversationState], declaration: Declaration, width: int, room: int
) -> Line:
    """Return how an arm's conversations went, how far it is, and either why it failed or its numbers."""
    order = [sign.sign for sign in IN_ORDER]
    counts = Counter(conversation.glyph for conversation in conversations)
    kinds = sorted(counts.items(), key=lambda kind: order.index(kind[0][0]))
    over, of = sum(conversation.over for conversation in conversations), len(conversations)
    size = min(max(width // 5, 10), of)
    tail: list[Span] = [(f" {over:>{len(str(of))}}/{of}", Tint.STRONG)]
    if arm.failure is not None or not arm.evaluated:
        tail.append((f"  {NOT_EVALUATED if arm.failure is None else inert_line(arm.failure)}", Tint.ERROR))
    else:
        if arm.evidence:
            tail.append((f"  {inert_line(arm.evidence)}", Tint.STRONG))
        if width >= CURVES_FROM and arm.course and UNPLAYED not in (arm.rated or {}):
            tail.append((f"  {curve(arm.course, _CURVE):<{_CURVE}}", Tint.BAR))
        tail += _numbers(arm, declaration, room - width_of(tail) - size)
    return (*bar(kinds, size), *fit(tail, room - size - 1))


def _numbers(arm: ArmState, declaration: Declaration, room: int) -> list[Span]:
    """Return the rates and the speed that fit into `room` cells."""
    if arm.rated is None:
        return []
    spans: list[Span] = []
    rates = [(metric.title, measured(metric, arm.rated)) for metric in declaration.shown("lines")]
    if arm.cuts:
        rates.append(("cut", percent(arm.cut_share)))
    rates.append(("tok/s", rate(arm.speed.decode_rate if arm.speed else None)))
    if room > CURVES_FROM // 3 and arm.speed and arm.speed.peak_memory:
        rates.append(("memory", mebibytes(arm.speed.peak_memory)))
    for label, value in rates:
        part: list[Span] = [(f"  {label} ", Tint.MUTED), (f"{value:>6}", Tint.STRONG)]
        if width_of([*spans, *part]) < room:
            spans += part
    return spans


_GAP = 3
_INTERVAL = len(" 100-100")
_FORMS = (*((True, least) for least in range(1, 5)), *((False, least) for least in range(1, 11)))
"""The forms that are tried in order: whether the numbers have their intervals, and the least `last` shown."""
_TIMES = len(" 00:00-00:00")
_SPACE: Span = (" ", Tint.PLAIN)


class _Number(NamedTuple):
    """A column: its title, its number with what follows it, and the most cells that the number needs.

    The room of a column does not depend on its number, so that nothing moves when a number changes. If room
    is short, the `more` cells after the numbers are left out, and columns with a low `last` go first.
    """

    title: str
    value: Line
    room: int
    more: int = 0
    last: int = 0

    def width(self, with_more: bool) -> int:
        """Return the width of the column in cells."""
        return max(len(self.title), self.room + (self.more if with_more else 0))


class Meters(Lines):
    """Two lines: titles, and below them the rates of an arm with 95% intervals, its speed and its times."""

    def show_arm(
        self,
        arm: ArmState | None,
        declaration: Declaration,
        estimates: Mapping[str, Estimate],
        elapsed_s: float,
        remaining: Remaining | None,
        repeated: RepeatOutcomes | None = None,
    ) -> None:
        """Update the numbers. `estimates` are by the names of metrics."""
        if not self.size.width:
            return
        counts = (arm.rated if arm else None) or {}
        numbers = [
            *_rights(declaration, counts, estimates if counts else {}),
            *_repeats(repeated),
            *([_cut_off(arm)] if arm and arm.cuts else []),
            *_speeds((arm.speed if arm else None) or Speed()),
            _Number("time", _value(clock_time(elapsed_s)), 7, last=1),
            _left(remaining),
        ]
        width = self.size.width - 1
        for with_more, least in _FORMS:
            columns = [(number, number.width(with_more)) for number in numbers if number.last >= least]
            if sum(room + _GAP for _, room in columns) - _GAP <= width:
                break
        titles, values = [_SPACE], [_SPACE]
        if arm is not None and not arm.evaluated:
            values += [(NOT_EVALUATED, Tint.ERROR), ("  ", Tint.PLAIN)]
        for column, room in columns:
            titles += [(column.title.ljust(room), Tint.MUTED), (" " * _GAP, Tint.PLAIN)]
            value = column.value if with_more else column.value[:1]
            values += [*pad(value, room), (" " * _GAP, Tint.PLAIN)]
        self.show([fit(line[:-1], self.size.width) for line in (titles, values)])


def _rights(declaration: Declaration, counts: Counts, estimates: Mapping[str, Estimate]) -> list[_Number]:
    faults = {part.name for part in declaration.outcome if part.better == "lower" and counts.get(part.name)}
    lines = declaration.shown("lines")
    first = declaration.success_metric or next(iter(lines), None)
    columns = []
    for metric in declaration.shown("meters"):
        tint = Tint.FAILURE if metric.numerator in faults else Tint.STRONG
        bounds: tuple[str, ...] = ()
        estimate = estimates.get(metric.name)
        if estimate is not None and estimate.low is not None and estimate.high is not None:
            bounds = (f"{metric.scale * estimate.low:.0f}", f"{metric.scale * estimate.high:.0f}")
        value = _value(measured(metric, counts), tint, bounds)
        last = 10 if metric == first else 8 if metric in lines else 4
        columns.append(_Number(metric.title, value, 6, _INTERVAL, last))
    if unclear := unclear_texts(counts):
        columns.append(_Number("unclear", _value(unclear.partition(" ")[0], Tint.MUTED), 4, last=5))
    return columns


def _repeats(repeated: RepeatOutcomes | None) -> list[_Number]:
    """Return how often all repeats so far succeed with its interval, and how many conversations are flaky."""
    if repeated is None or not repeated.reliability:
        return []
    last = repeated.reliability[-1]
    bounds = tuple(f"{100 * (bound or 0.0):.0f}" for bound in (last.all_pass.low, last.all_pass.high))
    value = _value(percent(last.all_pass.value), bounds=bounds)
    return [
        _Number(f"pass^{last.k}", value, 6, _INTERVAL, 6),
        _Number("flaky", _value(str(len(repeated.flaky))), 4, last=4),
    ]


def _cut_off(arm: ArmState) -> _Number:
    """Return the share of answers that were cut off by the limit that cut off most."""
    [(name, _)] = arm.cuts.most_common(1)
    return _Number(TABLE[name].flag, _value(f"{percent(arm.cut_share)} cut", Tint.ERROR), 9, last=8)


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
    """Return the time left with its interval."""
    text = UNKNOWN if remaining is None else clock_time(remaining.seconds)
    bounds: tuple[str, ...] = ()
    if remaining is not None and remaining.low < remaining.high:
        bounds = (clock_time(remaining.low), clock_time(remaining.high))
    return _Number("left", _value(text, bounds=bounds), 7, _TIMES, 9)


def _value(text: str, tint: Tint = Tint.STRONG, bounds: tuple[str, ...] = ()) -> Line:
    """Return a number followed by its interval."""
    behind = ((f" {str(DASH).join(bounds)}", Tint.MUTED),) if bounds else ()
    return ((text, tint), *behind)


BAR = 20


class RunHeader(Lines):
    """The line at the top. Its bar shows turns (or conversations, if turns are unknown) that are done."""

    def show_run(self, state: RunState, condition: str) -> None:
        """Update the line. `condition` is a word for what the run is doing, or empty."""
        if not self.is_new(condition, state.run, state.changes, state.turns_done, len(state.arms)):
            return
        left: list[Span] = [(" rig ", Tint.BRAND), ("  ", Tint.PLAIN)]
        if state.arms:
            several = len(state.arms) > 1
            name = f"{len(state.arms)} arms" if several else inert_line(state.arms[0].info.name)
            left.append((name, Tint.STRONG))
        left += [(f"   run {inert_line(state.run)}", Tint.MUTED)] if state.run else []
        left += [(f"   {condition}", Tint.RUNNING)] if condition else []
        self.show([spread(left, _progress(state, self.size.width), self.size.width)])


def _progress(state: RunState, width: int) -> Line:
    conversations = state.conversations.values()
    if not conversations:
        return ()
    over, total = sum(conversation.over for conversation in conversations), len(conversations)
    is_known = all(conversation.turns for conversation in conversations)
    parts = (state.turns_done, state.turns_total) if is_known else (over, total)
    bar = progress(*parts, BAR if width >= 100 else BAR // 2)
    return (*bar, (f" {over:>{len(str(total))}}/{total} ", Tint.STRONG))
