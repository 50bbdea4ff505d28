"""The decision first: which file to ship, a row for each arm with its verdict, and the verdicts in words.

The end of a run, `rig compare` and the report say it alike.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import NamedTuple, TypeAlias

from rig.calls import JsonObject
from rig.compare.findings import ArmPair, Comparison
from rig.compare.verdict import RecommendationKind, VerdictKind
from rig.displays import signs
from rig.displays.compare import hint, notes, signed
from rig.displays.signs import DELTA, FULL, RULE, TRACK, Glyph
from rig.displays.summary import repeat_rates
from rig.displays.table import Row, columns, middle, one_line, short_names
from rig.displays.texts import UNKNOWN, file_size, measured, percent, rate
from rig.errors import counted
from rig.events import Speed
from rig.limits import CutAnswers
from rig.metrics import Counts, Declaration, Metric

Span: TypeAlias = tuple[str, str]
"""A text, and the name of its tint."""
Line: TypeAlias = tuple[Span, ...]

_GAP = "  "
_BAR = 10
_NAME = 16
"""Characters of an arm's name that are left of it, at least."""
_UNBROKEN = 10_000
SENTENCES = 4
"""Verdicts that are also told as sentences where there is little room."""

VERDICT_SIGNS = {
    VerdictKind.LOSS: (signs.FAILED.glyph, "failure"),
    VerdictKind.SUSPECTED: (signs.ERROR.glyph, "error"),
    VerdictKind.GAIN: (signs.SUCCESS.glyph, "success"),
    VerdictKind.NO_LOSS_FOUND: (Glyph("=", "="), "plain"),
    VerdictKind.NOTHING_TO_LOSE: (signs.WAITING.glyph, "muted"),
    VerdictKind.CANNOT_TELL: (Glyph("?", "?"), "muted"),
    VerdictKind.NO_RATE: (Glyph("?", "?"), "muted"),
}


class ArmEntry(NamedTuple):
    """What a row says of an arm. `fault` is a word for why it has no numbers; `pair` is None for the arm that
    the others are compared with (`is_baseline`), and where nothing is compared. `limits` may have cut off
    answers.
    """

    name: str
    fingerprint: JsonObject
    rated: Counts
    speed: Speed
    fault: str = ""
    pair: ArmPair | None = None
    is_baseline: bool = False
    limits: Sequence[CutAnswers] = ()


class _Column(NamedTuple):
    """A title and a cell for each arm. `last` is how late it is left out where there is little room."""

    title: str
    cells: Sequence[Span]
    last: int
    is_text: bool = False

    @property
    def heading(self) -> tuple[str, str]:
        """The title, on two lines where it has two words."""
        above, _, below = self.title.rpartition(" ") if len(self.title) > 9 else ("", "", self.title)
        return above, below

    @property
    def width(self) -> int:
        return max(*(len(part) for part in self.heading), *(len(text) for text, _ in self.cells))

    def narrower(self, over: int) -> "_Column":
        """By so many cells: texts lose their middles, as they differ at the ends."""
        room = self.width - max(over, 0)
        return self._replace(cells=[(middle(text, room), tint) for text, tint in self.cells])


def short_labels(comparison: Comparison) -> dict[str, str]:
    """The arms called by what differs, by label."""
    labels = [arm.label for arm in comparison.arms]
    return dict(zip(labels, short_names(labels, ""), strict=True))


def decision(comparison: Comparison) -> str:
    """Which file to ship, its arm called by what differs; empty where no files were compared."""
    return comparison.recommendation.text(short_labels(comparison)) if comparison.recommendation else ""


def headline(comparison: Comparison, width: int) -> list[Line]:
    """The decision as lines; none where no files were compared."""
    recommended = comparison.recommendation
    if recommended is None:
        return []
    is_open = recommended.kind is RecommendationKind.CANNOT_TELL
    sign, tint = ("?", "error") if is_open else (signs.SUCCESS.sign, "success")
    lines = wrap(one_line(decision(comparison)), max(width - 2, 20), break_on_hyphens=False)
    return [((_GAP if number else f"{sign} ", tint), (line, tint)) for number, line in enumerate(lines)]


def arms_table(entries: Sequence[ArmEntry], metrics: Sequence[Metric], width: int) -> list[Line]:
    """A row for each arm: its file's size, the first of the metrics with a bar and the difference from the
    baseline, the others, its speed and its verdict. Below `width` cells, what matters least is left out.
    """
    names = short_names([one_line(entry.name) for entry in entries])
    table = [_Column("model", [(name, "strong") for name in names], 9, is_text=True)]
    sizes = [file_size(entry.fingerprint.get("model.file_bytes")) for entry in entries]
    if set(sizes) != {UNKNOWN}:
        table.append(_Column("size", [(size, "muted") for size in sizes], 5))
    for late, metric in enumerate(metrics):
        if not late and metric.format == "percent":
            full = [round(_BAR * (metric.rate(entry.rated) or 0.0)) for entry in entries]
            bars = [(str(FULL) * cells + str(TRACK) * (_BAR - cells), "bar") for cells in full]
            table.append(_Column("", bars, 0, is_text=True))
        tint = "strong" if metric.better == "higher" else "plain"
        rates = [(measured(metric, entry.rated), tint) for entry in entries]
        table.append(_Column(metric.title, rates, (9, 8, 2)[min(late, 2)]))
        if not late and any(entry.pair for entry in entries):
            table.append(_Column(str(DELTA), [_difference(metric, entry.pair) for entry in entries], 9))
    # Of several limits, the one that cut off most.
    cut = [max((limit.share for limit in entry.limits), default=0.0) for entry in entries]
    if any(cut):
        table.append(_Column("answers cut", [(percent(share), "error") for share in cut], 8))
    table.append(_Column("tok/s", [(rate(entry.speed.decode_rate), "plain") for entry in entries], 7))
    verdicts = [verdict_span(entry) for entry in entries]
    if any(text for text, _ in verdicts):
        table.append(_Column("verdict", verdicts, 9, is_text=True))
    for least in range(5):
        kept = [column for column in table if column.last >= least]
        over = sum(column.width + len(_GAP) for column in kept) - len(_GAP) - width
        if over <= 0 or (least == 4 and kept[0].width - over >= _NAME):
            return _rows([kept[0].narrower(over), *kept[1:]])
    first, *titled = [column for column in table if column.title]
    room = (width - max(len(column.title) for column in (first, *titled))) // 2 - len(_GAP)
    below = (first.narrower(first.width - room), *titled)
    rows = [Row(column.title, [text for text, _ in column.cells]) for column in below]
    return [((line, "plain"),) for line in columns(rows, width)]


def told_metrics(declaration: Declaration, first: Metric | None = None) -> list[Metric]:
    """The metric that is judged by, or success; then what is better low, then the others of a line."""
    first = first or declaration.success_metric or next(iter(declaration.metrics), None)
    others = sorted(
        (metric for metric in declaration.shown("lines") if metric != first),
        key=lambda metric: metric.better == "higher",
    )
    return [first, *others] if first else []


def _difference(metric: Metric, pair: ArmPair | None) -> Span:
    value = pair.differences[metric.name].value if pair and metric.name in pair.differences else None
    return (UNKNOWN, "muted") if value is None else (signed(metric, value), "strong")


def verdict_span(entry: ArmEntry) -> Span:
    """The verdict in a word or two with its sign, or why there is none."""
    if entry.fault:
        return f"{signs.ERROR.sign} {entry.fault}", "error"
    if entry.pair:
        glyph, tint = VERDICT_SIGNS[entry.pair.verdict.kind]
        return f"{glyph} {entry.pair.verdict.kind}", tint
    return (f"{signs.CALL.sign} reference", "call") if entry.is_baseline else ("", "plain")


def _rows(table: Sequence[_Column]) -> list[Line]:
    headings = zip(*(column.heading for column in table), strict=True)
    rows: list[Sequence[Span]] = [[(text, "muted") for text in row] for row in headings if any(row)]
    rows += zip(*(column.cells for column in table), strict=True)
    lines = []
    for row in rows:
        line: list[Span] = []
        for column, (text, tint) in zip(table, row, strict=True):
            cell = text.ljust(column.width) if column.is_text else text.rjust(column.width)
            line += [(cell, tint), (_GAP, "plain")]
        lines.append(tuple(line))
    return lines


def beside(label: str, text: str, width: int) -> list[Line]:
    """A text with a word in the margin; a command is never broken."""
    margin = 10
    if label == "next":
        return [((label.ljust(margin), "muted"), (text, "call"))]
    lines = wrap(one_line(text), max(width - margin, 20), break_long_words=False, break_on_hyphens=False)
    words = (("" if number else label).ljust(margin) for number in range(len(lines)))
    return [((word, "muted"), (line, "plain")) for word, line in zip(words, lines, strict=True)]


def sentences(comparison: Comparison, most: int | None = None) -> Iterator[str]:
    """The verdicts in words, each with the arms that it is on; of more than `most`, how many there are."""
    labels = [arm.label for arm in comparison.arms]
    names = dict(zip(labels, short_names(labels), strict=True))
    verdicts: dict[str, list[str]] = {}
    for pair in comparison.pairs:
        verdicts.setdefault(pair.verdict.text, []).append(names[pair.arm])
    for text, arms in list(verdicts.items())[:most]:
        yield f"{', '.join(arms)}: {text}"
    if most is not None and len(verdicts) > most:
        yield f"{len(verdicts) - most} more: rig compare {comparison.baseline.run}"


def entries_of(comparison: Comparison) -> list[ArmEntry]:
    """The arms of a comparison as rows, the baseline first."""
    pairs: Mapping[str, ArmPair] = {pair.arm: pair for pair in comparison.pairs}
    return [
        ArmEntry(
            arm.label,
            arm.fingerprint,
            arm.counts,
            arm.speed,
            "failed" if arm.failure else "",
            pairs.get(arm.label),
            arm is comparison.baseline,
            arm.limits,
        )
        for arm in comparison.arms
    ]


def opening(comparison: Comparison, width: int | None) -> list[Line]:
    """All that decides, in `width` cells: the file to ship, the arms in a table, the verdicts, and what a
    reader must know of them. Without a width, no line is broken.
    """
    room = width or _UNBROKEN
    decision = headline(comparison, room)
    metrics = told_metrics(comparison.declaration, comparison.metric)
    table = arms_table(entries_of(comparison), metrics, room)
    longest = max(sum(len(text) for text, _ in line) for line in table)
    rule: Line = ((str(RULE) * min(longest, room), "rule"),)
    lines = [*decision, *([rule] if decision else []), *table, rule]
    played = counted(len(comparison.baseline.conversations), "conversation")
    on = f"against {comparison.baseline.label}: {played}, graded by {comparison.grader}"
    told: list[tuple[str, Iterable[str]]] = [
        ("verdicts", sentences(comparison)),
        ("repeats", [line for arm in comparison.arms for line in repeat_rates(arm.label, arm)]),
        ("compared", [on, *notes(comparison)]),
        ("", hint(comparison)),
    ]
    for label, texts in told:
        for number, text in enumerate(texts):
            lines += beside("" if number else label, text, room)
    return lines
