"""The end of a run on one screen: a row for each arm, the commonest faults, and the command to type next.

The decision comes first: which file to ship, a row for each arm with its verdict, and the verdicts in words.
The end of a run, `rig compare` and the report show it in the same way.
"""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple, TypeAlias

from rig.compare.arms import ComparisonOptions
from rig.compare.compare import compare
from rig.compare.findings import ArmPair, ArmResult, Comparison
from rig.compare.verdict import RecommendationKind, VerdictKind
from rig.core.errors import RigError, counted
from rig.core.intervals import with_interval
from rig.core.metrics import TASKS, UNCLEAR, UNPLAYED, Counts, Declaration, Metric
from rig.core.paths import runs_file
from rig.show import signs, summary
from rig.show.compare import curve_line, hint, notes, signed
from rig.show.signs import DELTA, DOT, FULL, RULE, TRACK, Glyph
from rig.show.summary import note_lines, repeat_rates
from rig.show.table import Row, cell_width, columns, middle, one_line, padded, short_names
from rig.show.texts import UNKNOWN, clip, clock_time, file_size, measured, out_of, percent, printable, rate
from rig.stats.repeats import RepeatOutcomes
from rig.store import Runs, StoredArm, StoredRun

Span: TypeAlias = tuple[str, str]
"""A text, and the name of its tint."""
Line: TypeAlias = tuple[Span, ...]

_GAP = "  "
_BAR = 10
_NAME = 16
"""The fewest characters that an arm's name is cut to."""
_UNBROKEN = 10_000
SENTENCES = 4
"""The most verdicts that are shown as sentences if there is little room."""

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
    """What a row says about an arm. `pair` is None for the baseline, and if nothing is compared."""

    name: str
    arm: StoredArm | ArmResult
    rated: Counts
    pair: ArmPair | None
    is_baseline: bool

    @property
    def fault(self) -> str:
        """Why the arm has no numbers, in a word or two; empty if it has some."""
        if self.arm.failure:
            return "failed"
        return "not evaluated" if isinstance(self.arm, StoredArm) and self.arm.not_evaluated else ""


class _Column(NamedTuple):
    """A title and a cell for each arm. If room is short, columns with a low `last` are left out first."""

    title: str
    cells: Sequence[Span]
    last: int
    is_text: bool = False

    @property
    def heading(self) -> tuple[str, str]:
        """The title on two lines; the first is empty unless it is long and has several words."""
        above, _, below = self.title.rpartition(" ") if len(self.title) > 9 else ("", "", self.title)
        return above, below

    @property
    def width(self) -> int:
        return max(map(cell_width, (*self.heading, *(text for text, _ in self.cells))))

    def narrower(self, over: int) -> "_Column":
        """Return the column narrowed by `over` cells; texts lose their middles, as their ends differ."""
        room = self.width - max(over, 0)
        return self._replace(cells=[(middle(text, room), tint) for text, tint in self.cells])


def short_labels(comparison: Comparison) -> dict[str, str]:
    """Return short names for the arms, without what they have in common, by label."""
    labels = [arm.label for arm in comparison.arms]
    return dict(zip(labels, short_names(labels, ""), strict=True))


def decision(comparison: Comparison) -> str:
    """Return which file to ship, with the short name of its arm; empty if no files were compared."""
    return comparison.recommendation.text(short_labels(comparison)) if comparison.recommendation else ""


def headline(comparison: Comparison, width: int) -> list[Line]:
    """Return the decision as lines, none if no files were compared."""
    recommended = comparison.recommendation
    if recommended is None:
        return []
    is_open = recommended.kind is RecommendationKind.CANNOT_TELL
    sign, tint = ("?", "error") if is_open else (signs.SUCCESS.glyph, "success")
    lines = wrap(one_line(decision(comparison)), max(width - 2, 20), break_on_hyphens=False)
    return [((_GAP if number else f"{sign} ", tint), (line, tint)) for number, line in enumerate(lines)]


def arms_table(entries: Sequence[ArmEntry], metrics: Sequence[Metric], width: int) -> list[Line]:
    """Return a row for each arm: its file's size, the first metric with a bar and the difference from the
    baseline, the other metrics, its speed and its verdict. To fit `width` cells, the least important columns
    are left out.
    """
    names = short_names([one_line(entry.name) for entry in entries])
    table = [_Column("model", [(name, "strong") for name in names], 9, is_text=True)]
    sizes = [file_size((entry.arm.fingerprint or {}).get("model.file_bytes")) for entry in entries]
    if set(sizes) != {UNKNOWN}:
        table.append(_Column("size", [(size, "muted") for size in sizes], 5))
    for late, metric in enumerate(metrics):
        if not late and metric.format == "percent":
            bars = [(_bar(metric.rate(entry.rated), entry.rated), "bar") for entry in entries]
            table.append(_Column("", bars, 0, is_text=True))
        tint = "strong" if metric.better == "higher" else "plain"
        rates = [(measured(metric, entry.rated), tint) for entry in entries]
        table.append(_Column(metric.title, rates, (9, 8, 2)[min(late, 2)]))
        if not late and any(entry.pair for entry in entries):
            table.append(_Column(str(DELTA), [difference_span(metric, entry.pair) for entry in entries], 9))
    # If there are several limits, the one that cut off most.
    cut = [max((limit.share for limit in entry.arm.limits), default=0.0) for entry in entries]
    if any(cut):
        table.append(_Column("answers cut", [(percent(share), "error") for share in cut], 8))
    table.append(_Column("tok/s", [(rate(entry.arm.speed.decode_rate), "plain") for entry in entries], 7))
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
    """Return the judged metric (by default success), then the others of a line, those better low first."""
    first = first or declaration.success_metric or next(iter(declaration.metrics), None)
    others = sorted(
        (metric for metric in declaration.shown("lines") if metric != first),
        key=lambda metric: metric.better == "higher",
    )
    return [first, *others] if first else []


def difference_span(metric: Metric, pair: ArmPair | None) -> Span:
    """Return the difference from the baseline, or its bounds if there are only these."""
    difference = pair.differences.get(metric.name) if pair else None
    if difference is None or (difference.value is None and difference.low is None):
        return UNKNOWN, "muted"
    if difference.value is None:
        return with_interval(partial(signed, metric), difference), "plain"
    return signed(metric, difference.value), "strong"


def _bar(rate: float | None, counts: Counts) -> str:
    """Return a bar as long as a rate, and none if there are only bounds."""
    cells = round(_BAR * (rate or 0.0))
    return "" if UNPLAYED in counts else str(FULL) * cells + str(TRACK) * (_BAR - cells)


def verdict_span(entry: ArmEntry) -> Span:
    """Return the verdict in a word or two with its sign, or why there is none."""
    if entry.fault:
        return f"{signs.ERROR.glyph} {entry.fault}", "error"
    if entry.pair:
        glyph, tint = VERDICT_SIGNS[entry.pair.verdict.kind]
        return f"{glyph} {entry.pair.verdict.kind}", tint
    return (f"{signs.CALL.glyph} reference", "call") if entry.is_baseline else ("", "plain")


def _rows(table: Sequence[_Column]) -> list[Line]:
    headings = zip(*(column.heading for column in table), strict=True)
    rows: list[Sequence[Span]] = [[(text, "muted") for text in row] for row in headings if any(row)]
    rows += zip(*(column.cells for column in table), strict=True)
    lines = []
    for row in rows:
        line: list[Span] = []
        for column, (text, tint) in zip(table, row, strict=True):
            cell = padded(text, column.width, is_number=not column.is_text)
            line += [(cell, tint), (_GAP, "plain")]
        lines.append(tuple(line))
    return lines


def beside(label: str, text: str, width: int) -> list[Line]:
    """Return a text as lines with `label` in the margin; the commands of `next` and `serve` stay whole."""
    margin = 10
    if label in ("next", "serve"):
        return [((label.ljust(margin), "muted"), (text, "call"))]
    lines = wrap(one_line(text), max(width - margin, 20), break_long_words=False, break_on_hyphens=False)
    words = (("" if number else label).ljust(margin) for number in range(len(lines)))
    return [((word, "muted"), (line, "plain")) for word, line in zip(words, lines, strict=True)]


def sentences(comparison: Comparison, most: int | None = None) -> Iterator[str]:
    """Yield the verdicts as sentences, each with its arms; beyond `most`, only their number."""
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
    """Return the arms of a comparison as rows, the baseline first."""
    pairs: Mapping[str, ArmPair] = {pair.arm: pair for pair in comparison.pairs}
    return [
        ArmEntry(arm.label, arm, arm.rated, pairs.get(arm.label), arm is comparison.baseline)
        for arm in comparison.arms
    ]


def opening(comparison: Comparison, width: int | None) -> list[Line]:
    """Return the opening of a comparison in `width` cells: the file to ship, the arms in a table, the
    verdicts, and what a reader must know about them. Without a width, no line is broken.
    """
    room = width or _UNBROKEN
    decision = headline(comparison, room)
    metrics = told_metrics(comparison.declaration, comparison.metric)
    table = arms_table(entries_of(comparison), metrics, room)
    longest = max(sum(cell_width(text) for text, _ in line) for line in table)
    rule: Line = ((str(RULE) * min(longest, room), "rule"),)
    lines = [*decision, *([rule] if decision else []), *table, rule]
    played = counted(len(comparison.baseline.conversations), "conversation")
    on = f"against {comparison.baseline.label}: {played}, graded by {comparison.grader}"
    told: list[tuple[str, Iterable[str]]] = [
        ("verdicts", sentences(comparison)),
        ("repeats", [line for arm in comparison.arms for line in repeat_rates(arm.label, arm)]),
        ("serve", serving(comparison)),
        ("compared", [on, *notes(comparison)]),
        ("", hint(comparison)),
    ]
    return lines + _labelled(told, room)


def serving(comparison: Comparison) -> Iterator[str]:
    """Yield the command that says how to serve the file that is decided for, if there is one."""
    decided = comparison.recommendation.arm if comparison.recommendation else None
    for arm in comparison.arms:
        if arm.label == decided and arm.fingerprint.get("model.engine") == "llama.cpp":
            yield f"rig serve-command {shlex.quote(f'{arm.run}/{arm.arm}')}"


def _labelled(told: Iterable[tuple[str, Iterable[str]]], width: int) -> list[Line]:
    """Return texts by label as lines, with the label in the margin of its first text."""
    texts = (("" if number else label, text) for label, of in told for number, text in enumerate(of))
    return [line for label, text in texts for line in beside(label, text, width)]


_FAULTS = 3


@dataclass(frozen=True, slots=True)
class Card:
    """What rig says at the end of a run.

    `comparison` compares its arms with the first of them; None if there is nothing to compare. `failing` is
    the first conversation that was not a success. A run that is not kept is gone when its card is read.
    """

    run: StoredRun
    store: str
    comparison: Comparison | None = None
    failing: str | None = None
    is_kept: bool = True
    repeated: Sequence[RepeatOutcomes] = ()

    @classmethod
    def of(cls, runs: Runs, run: str, *, is_kept: bool = True) -> "Card":
        """Return the card of a run from what is stored so far. Raises RigError if there is no such run."""
        stored = runs.get(run)
        try:
            question = ComparisonOptions(across_settings=True, loss=stored.settings.get("loss", 5.0))
            comparison = compare(runs, [stored.id], question)
        except RigError:
            comparison = None
        told = stored.declaration
        scored = (cell for cell in runs.each_cell(stored) if cell.counts is not None)
        failing = (cell.conversation for cell in scored if not told.succeeded(cell.counts or {}))
        repeated = summary.repeated_arms(stored, runs.each_cell(stored))
        return cls(stored, str(runs.path), comparison, next(failing, None), is_kept, repeated)

    def text(self, width: int | None = None) -> str:
        """Return the card as text, `width` cells wide."""
        return "\n".join("".join(text for text, _ in line).rstrip() for line in self.lines(width or 100))

    def lines(self, width: int) -> list[Line]:
        """Return the card as tinted lines, `width` cells wide."""
        rule: Line = ((str(RULE) * width, "rule"),)
        decision = headline(self.comparison, width) if self.comparison else []
        table = arms_table(self._entries(), told_metrics(self.run.declaration), width)
        arms = ((arm.name, arm.notes) for arm in self.run.arms)
        causes: list[Line] = [((clip(printable(line), width).text, "plain"),) for line in note_lines(arms)]
        return [*decision, self._title(), rule, *table, *causes, rule, *_labelled(self._notes(), width)]

    def _title(self) -> Line:
        run = self.run
        sign = signs.RUN_STATES[run.state]
        played = sum(arm.counts.get(TASKS, 0) for arm in run.arms)
        planned = len(run.conversations) * run.repeats * len(run.arms)
        arms = f" by {len(run.arms)} arms" if len(run.arms) > 1 else ""
        seconds = sum(arm.speed.wall_s for arm in run.arms)
        how_far = f"   {out_of(int(played), planned)} conversations{arms}, {clock_time(seconds)}"
        return ((f"{sign.glyph} ", sign.tint), (f"run {run.id} {run.state}", "strong"), (how_far, "muted"))

    def _entries(self) -> list[ArmEntry]:
        """Return the rows of the table. Arms that are compared have the rates that their difference is of;
        those that the comparison left out have no pair.
        """
        compared = {arm.position: arm for arm in self.comparison.arms} if self.comparison else {}
        pairs = {pair.arm: pair for pair in self.comparison.pairs} if self.comparison else {}
        baseline = next(iter(compared), None)
        entries = []
        for arm in self.run.arms:
            result = compared.get(arm.position)
            rated, pair = (result.rated, pairs.get(result.label)) if result else (arm.rated, None)
            entries.append(ArmEntry(arm.name, arm, rated, pair, arm.position == baseline))
        return entries

    # Below the table

    def _notes(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the texts below the table, each with its label for the margin."""
        run = self.run
        for arm in run.arms:
            if reason := arm.failure or arm.not_evaluated:
                yield "failed" if arm.failure else "no answer", [f"{arm.name}: {reason}"]
        if self.comparison is not None:
            yield "verdicts", [*sentences(self.comparison, SENTENCES)]
            yield "serve", [command + self._runs for command in serving(self.comparison)]
            yield "curve", [*map(curve_line, self.comparison.curves)]
            yield "compared", self.comparison.notes[:SENTENCES]
        elif estimate := self._alone():
            yield "verdict", [estimate]
            yield "calls", summary.form_notes(run.declaration, ((arm.name, arm.rated) for arm in run.arms))
        cut = summary.limit_notes({arm.name: arm.limits for arm in run.arms})
        more = [f"{len(cut) - SENTENCES} more: rig show {run.id}"] if len(cut) > SENTENCES else []
        yield "limits", cut[:SENTENCES] + more
        # How reliable each arm is, and in which conversations it only succeeds now and then.
        repeats: list[str] = []
        for arm, repeated in zip(run.arms, self.repeated, strict=False):
            repeats += summary.repeat_rates(arm.name, repeated)
            repeats += summary.repeat_notes(arm.name, repeated, arm.fingerprint or {})
        yield "repeats", repeats[:SENTENCES]
        kinds: Counter[str] = Counter()
        for arm in run.arms:
            kinds.update(arm.faults or arm.error_types or arm.errors)
        commonest = [f"{kind} {count}" for kind, count in kinds.most_common(_FAULTS)]
        yield "faults", [f" {DOT} ".join(commonest) or "none"]
        if unclear := sum(arm.counts.get(UNCLEAR, 0) for arm in run.arms):
            texts = counted(int(unclear), "text")
            yield "unclear", [f"{texts} undecided, counted as wrong: rig adjudicate {run.id}"]
        yield "next", self._next()
        if run.declaration.caution:
            yield "caution", [run.declaration.caution]

    def _alone(self) -> str:
        """Return what can be said about a single arm, empty if there are several or nothing is measured."""
        metrics, arm = told_metrics(self.run.declaration), self.run.arms[0]
        if len(self.run.arms) > 1 or not metrics or not arm.rated:
            return ""
        rated = measured(metrics[0], arm.rated)
        played = counted(int(arm.counts.get(TASKS, 0)), "conversation")
        return f"{metrics[0].noun} {rated} of {played}; there is no second arm to compare it with"

    @property
    def _runs(self) -> str:
        """The option that names the store, unless it is the one that verbs open by themselves."""
        return "" if self.store == str(runs_file()) else f" --runs {shlex.quote(self.store)}"

    def _next(self) -> tuple[str, str]:
        """Return the command to type next, and what it is for."""
        run, runs = self.run, self._runs
        if not self.is_kept:
            return "rig run MODEL", "evaluates your own model; this was a recording"
        if run.state == "interrupted":
            return f"rig run --resume {run.id}{runs}", f"{run.turns_left} left"
        if run.state == "running":
            return f"rig watch {run.id}{runs}", f"{run.turns_left} still to be made"
        if self.comparison is not None:
            return f"rig compare {run.id}{runs}", "the differences, and what chance explains"
        if self.failing is not None:
            return f"rig show {run.id} {shlex.quote(self.failing)}{runs}", "the first failure, call by call"
        return f"rig report {run.id} --open{runs}", "all of it as a page to keep"


def ending(run: StoredRun, store: Path, width: int | None, *, full: bool, is_kept: bool = True) -> str:
    """Return what is printed at the end of a run: its card or, if `full`, all numbers.

    If the run is kept, it also says where it is stored.
    """
    with Runs.open(store) as runs:
        if full:
            place = f"\n\n{summary.whereabouts(run, str(store))}" if is_kept else ""
            return summary.summary(run, width, summary.repeated_arms(run, runs.each_cell(run))) + place
        card = Card.of(runs, run.id, is_kept=is_kept).text(width)
    return f"{card}\n\nrun {run.id} is stored in {store}" if is_kept else card
