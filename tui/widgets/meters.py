"""The numbers of a run: a line at the top, a line for each arm, and the current numbers of one arm."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from rig.config.options import TABLE
from rig.core.events import Speed
from rig.core.metrics import UNPLAYED, Counts, Declaration
from rig.plugins.lines.pace import NOT_EVALUATED, Remaining
from rig.show.card import told_metrics
from rig.show.signs import CURSOR, DASH
from rig.show.table import short_names
from rig.show.texts import UNKNOWN, clock_time, measured, mebibytes, percent, rate, unclear_texts
from rig.stats import Estimate
from rig.stats.repeats import RepeatOutcomes
from tui.live.state import IN_ORDER, ArmState, ConversationState, RunState
from tui.text.lines import Line, Span, Tint, bar, curve, fit, inert_line, pad, progress, spread, width_of
from tui.widgets.lines import Lines, Rows

_NAME = 30
CURVES_FROM = 160
"""The width in cells from which every arm has a curve of its success so far, and its memory."""
_CURVE = 40
_BETWEEN = "  "
"""What is between the columns of an arm's line."""


class Arms(Rows):
    """A line for each arm. A run with a single arm only has one if the terminal is wide."""

    def show_arms(self, state: RunState, reading: int) -> None:
        """Update the lines, with a mark at the arm of the conversation being read."""
        numbers = [(arm.rated, arm.speed, arm.failure, arm.evidence, arm.info.name) for arm in state.arms]
        width = self.size.width
        if len(state.arms) < (1 if width >= CURVES_FROM else 2) or not self.is_new(
            reading, state.changes, numbers
        ):
            return
        cells: list[list[ConversationState]] = [[] for _ in state.arms]
        for where, conversation in state.conversations.items():
            if where.arm < len(cells):
                cells[where.arm].append(conversation)
        called = short_names([inert_line(arm.info.name) for arm in state.arms])
        names = min(max(map(len, called)), _NAME, width // 3)
        heads: list[Line] = []
        for number, _ in enumerate(state.arms):
            name: Span = (called[number], Tint.STRONG if number == reading else Tint.PLAIN)
            bar: Span = (str(CURSOR) if number == reading else " ", Tint.RUNNING)
            heads.append((bar, (f"{number + 1} ", Tint.MUTED), *pad(fit([name], names), names + 1)))
        widest = max(map(width_of, heads))
        states = _states(state.arms, cells, state.declaration, width, width - widest)
        self.show([(*pad(head, widest), *rest) for head, rest in zip(heads, states, strict=True)])
        self.bring_into_sight(reading, reading)


def _states(
    arms: Sequence[ArmState],
    conversations: Sequence[Sequence[ConversationState]],
    declaration: Declaration,
    width: int,
    room: int,
) -> list[Line]:
    """Return for each arm how its conversations went, how far it is, and either why it failed or its
    numbers, in columns that are the same for all arms.
    """
    order = [str(sign.glyph) for sign in IN_ORDER]
    most = max(map(len, conversations))
    size, digits = min(max(width // 5, 10), most), len(str(most))
    room -= size + len(f" {most}/{most}") + 1
    curves = [
        curve(arm.course, _CURVE) if arm.course and UNPLAYED not in (arm.rated or {}) else "" for arm in arms
    ]
    has_curves = width >= CURVES_FROM and any(curves)
    told = [inert_line(arm.evidence) for arm in arms]
    beside = max((len(_BETWEEN) + cell_len(text) for text in told if text), default=0)
    numbers = _numbers(arms, declaration, room - has_curves * (_CURVE + len(_BETWEEN)), beside)
    lines = []
    for arm, cells, line, text, drawn in zip(arms, conversations, numbers, told, curves, strict=True):
        counts = Counter(conversation.glyph for conversation in cells)
        kinds = sorted(counts.items(), key=lambda kind: order.index(kind[0][0]))
        over, of = sum(conversation.over for conversation in cells), len(cells)
        tail: list[Span] = []
        if arm.failure is not None or not arm.evaluated:
            why = NOT_EVALUATED if arm.failure is None else inert_line(arm.failure)
            tail.append((f"{_BETWEEN}{why}", Tint.ERROR))
        else:
            if has_curves:
                tail.append((f"{_BETWEEN}{drawn:<{_CURVE}}", Tint.BAR))
            tail += [*line, (f"{_BETWEEN}{text}" if text else "", Tint.STRONG)]
        played: Span = (f" {over:>{digits}}/{of:<{digits}}", Tint.STRONG)
        lines.append((*pad(bar(kinds, size), size), played, *fit(tail, room)))
    return lines


def _numbers(arms: Sequence[ArmState], declaration: Declaration, room: int, beside: int) -> list[Line]:
    """Return for each arm its rates and its speed, blank where nothing is rated yet.

    The first rate is always there. Of the others there are as many as fit into `room` cells with the
    `beside` cells of what is said about the arms, the least important last.
    """
    metrics = told_metrics(declaration)
    titles = [metric.title for metric in metrics]
    rows = []
    for arm in arms:
        rates = [measured(metric, arm.rated or {}) for metric in metrics]
        speed = arm.speed or Speed()
        memory = mebibytes(speed.peak_memory)
        rows.append([*rates[:2], percent(arm.cut_share), rate(speed.decode_rate), *rates[2:], memory])
    titles = [*titles[:2], "cut", "tok/s", *titles[2:], "memory"]
    hidden = {"cut"} if not any(arm.cuts for arm in arms) else set()
    if room <= CURVES_FROM // 3 or not any(arm.speed and arm.speed.peak_memory for arm in arms):
        hidden.add("memory")
    spans: list[list[Span]] = [[] for _ in arms]
    for title, values in zip(titles, zip(*rows, strict=True), strict=True):
        if title in hidden:
            continue
        size = max(6, *map(len, values))
        cells = len(f"{_BETWEEN}{title} ") + size
        if cells > room or (spans[0] and cells + beside > room):
            break
        room -= cells
        for arm, line, value in zip(arms, spans, values, strict=True):
            if arm.rated is None:
                line.append((" " * cells, Tint.PLAIN))
            else:
                line += [(f"{_BETWEEN}{title} ", Tint.MUTED), (f"{value:>{size}}", Tint.STRONG)]
    return [tuple(line) for line in spans]


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
