"""The end of a run on one screen: a row for each arm, the commonest faults, and the command to type next."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple, TypeAlias

from rig.compare.arms import ComparisonOptions
from rig.compare.compare import compare
from rig.compare.findings import ArmPair, Comparison
from rig.compare.verdict import VerdictKind
from rig.displays import signs
from rig.displays.compare import signed
from rig.displays.signs import DELTA, DOT, FULL, RULE, TRACK, Glyph
from rig.displays.summary import summary, whereabouts
from rig.displays.table import Row, columns, middle, one_line
from rig.displays.texts import UNKNOWN, clock_time, file_size, measured, out_of, rate
from rig.errors import RigError, counted
from rig.metrics import TASKS, UNCLEAR, Metric
from rig.paths import runs_file
from rig.store import Runs, StoredArm, StoredRun

Span: TypeAlias = tuple[str, str]
"""A text, and the name of its tint."""
Line: TypeAlias = tuple[Span, ...]

_GAP = "  "
_BAR = 10
_NAME = 16
"""Characters of an arm's name that are left of it, at least."""
_FAULTS = 3
_SENTENCES = 4
"""Verdicts that are also told as sentences; of others `rig compare` tells."""

_SIGNS = {
    VerdictKind.LOSS: (signs.FAILED.glyph, "failure"),
    VerdictKind.SUSPECTED: (signs.ERROR.glyph, "error"),
    VerdictKind.GAIN: (signs.SUCCESS.glyph, "success"),
    VerdictKind.NO_LOSS_FOUND: (Glyph("=", "="), "plain"),
    VerdictKind.NOTHING_TO_LOSE: (signs.WAITING.glyph, "muted"),
    VerdictKind.CANNOT_TELL: (Glyph("?", "?"), "muted"),
    VerdictKind.NO_RATE: (Glyph("?", "?"), "muted"),
}


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


@dataclass(frozen=True, slots=True)
class Card:
    """What there is to say at the end of a run.

    `comparison` holds its arms against the first of them; None if there is nothing to compare. `failing`
    is the first conversation that was not a success. One that is not kept is gone when this is read.
    """

    run: StoredRun
    store: str
    comparison: Comparison | None = None
    failing: str | None = None
    is_kept: bool = True

    @classmethod
    def of(cls, runs: Runs, run: str, *, is_kept: bool = True) -> "Card":
        """The card of a stored run, as far as it is stored. Raises RigError if there is no such run."""
        stored = runs.get(run)
        try:
            comparison = compare(runs, [stored.id], ComparisonOptions(across_settings=True))
        except RigError:
            comparison = None
        told = stored.declaration
        scored = (cell for cell in runs.each_cell(stored) if cell.counts is not None)
        failing = (cell.conversation for cell in scored if not told.succeeded(cell.counts or {}))
        return cls(stored, str(runs.path), comparison, next(failing, None), is_kept)

    def text(self, width: int | None = None) -> str:
        """The card as text, this many cells wide."""
        return "\n".join("".join(text for text, _ in line).rstrip() for line in self.lines(width or 100))

    def lines(self, width: int) -> list[Line]:
        """The card as tinted lines, this many cells wide."""
        rule: Line = ((str(RULE) * width, "rule"),)
        lines = [self._title(), rule, *self._table(width), rule]
        caution = self.run.declaration.caution
        for label, note in (*self._notes(), *([("caution", caution)] if caution else [])):
            lines += _beside(label, note, width)
        return lines

    def _title(self) -> Line:
        run = self.run
        states = {sign.word: sign for sign in (signs.FINISHED_RUN, signs.RUNNING_RUN, signs.INTERRUPTED_RUN)}
        sign = states[run.state]
        played = sum(arm.counts.get(TASKS, 0) for arm in run.arms)
        planned = len(run.conversations) * run.repeats * len(run.arms)
        arms = f" by {len(run.arms)} arms" if len(run.arms) > 1 else ""
        seconds = sum(arm.speed.wall_s for arm in run.arms)
        return (
            (f"{sign.sign} ", sign.tint),
            (f"run {run.id} {run.state}", "strong"),
            (f"   {out_of(int(played), planned)} conversations{arms}, {clock_time(seconds)}", "muted"),
        )

    # The table

    def _table(self, width: int) -> list[Line]:
        arms, metrics = self.run.arms, self._metrics()
        table = [_Column("model", [(one_line(arm.name), "strong") for arm in arms], 9, is_text=True)]
        sizes = [file_size((arm.fingerprint or {}).get("model.file_bytes")) for arm in arms]
        if set(sizes) != {UNKNOWN}:
            table.append(_Column("size", [(size, "muted") for size in sizes], 3))
        for late, metric in enumerate(metrics):
            if not late and metric.format == "percent":
                full = [round(_BAR * (metric.rate(arm.rated) or 0.0)) for arm in arms]
                bars = [(str(FULL) * cells + str(TRACK) * (_BAR - cells), "bar") for cells in full]
                table.append(_Column("", bars, 0, is_text=True))
            tint = "strong" if metric.better == "higher" else "plain"
            rates = [(measured(metric, arm.rated), tint) for arm in arms]
            table.append(_Column(metric.title, rates, (9, 8, 2)[min(late, 2)]))
            if not late and self.comparison is not None:
                table.append(_Column(str(DELTA), [self._difference(metric, arm) for arm in arms], 9))
        table.append(_Column("tok/s", [(rate(arm.speed.decode_rate), "plain") for arm in arms], 7))
        verdicts = [self._verdict(arm) for arm in arms]
        if any(text for text, _ in verdicts):
            table.append(_Column("verdict", verdicts, 9, is_text=True))
        for least in range(5):
            kept = [column for column in table if column.last >= least]
            over = sum(column.width + len(_GAP) for column in kept) - len(_GAP) - width
            if over <= 0 or (least == 4 and kept[0].width - over >= _NAME):
                return _rows([kept[0].narrower(over), *kept[1:]])
        names, *titled = [column for column in table if column.title]
        room = (width - max(len(column.title) for column in (names, *titled))) // 2 - len(_GAP)
        below = (names.narrower(names.width - room), *titled)
        rows = [Row(column.title, [text for text, _ in column.cells]) for column in below]
        return [((line, "plain"),) for line in columns(rows, width)]

    def _metrics(self) -> list[Metric]:
        """The rate of success, or the first there is; then what is better low, then the others of a line."""
        declaration = self.run.declaration
        metrics = declaration.shown("lines")
        first = declaration.success_metric or next(iter(declaration.metrics), None)
        others = sorted(
            (metric for metric in metrics if metric != first), key=lambda metric: metric.better == "higher"
        )
        return [first, *others] if first else []

    def _pair(self, arm: StoredArm) -> ArmPair | None:
        if self.comparison is None:
            return None
        labels = {arm.label: arm.position for arm in self.comparison.arms}
        return next((pair for pair in self.comparison.pairs if labels[pair.arm] == arm.position), None)

    def _difference(self, metric: Metric, arm: StoredArm) -> Span:
        pair = self._pair(arm)
        value = pair.differences[metric.name].value if pair and metric.name in pair.differences else None
        return (UNKNOWN, "muted") if value is None else (signed(metric, value), "strong")

    def _verdict(self, arm: StoredArm) -> Span:
        if arm.failure or arm.not_evaluated:
            return f"{signs.ERROR.sign} {'failed' if arm.failure else 'not evaluated'}", "error"
        if pair := self._pair(arm):
            glyph, tint = _SIGNS[pair.verdict.kind]
            return f"{glyph} {pair.verdict.kind}", tint
        if self.comparison is not None and self.comparison.baseline.position == arm.position:
            return f"{signs.CALL.sign} reference", "call"
        return "", "plain"

    # Below it

    def _notes(self) -> Iterator[tuple[str, str]]:
        """What is said below the table, each with a word for the margin."""
        run = self.run
        for arm in run.arms:
            if reason := arm.failure or arm.not_evaluated:
                yield "failed" if arm.failure else "no answer", f"{arm.name}: {reason}"
        if self.comparison is not None:
            verdicts: dict[str, list[str]] = {}
            for pair in self.comparison.pairs:
                verdicts.setdefault(pair.verdict.text, []).append(pair.arm)
            for number, (text, arms) in enumerate(list(verdicts.items())[:_SENTENCES]):
                who = arms[0] if len(arms) == 1 else f"{len(arms)} arms"
                yield "" if number else "verdicts", f"{who}: {text}"
            if len(verdicts) > _SENTENCES:
                yield "", f"{len(verdicts) - _SENTENCES} more: rig compare {run.id}"
        elif estimate := self._alone():
            yield "verdict", estimate
        kinds: Counter[str] = Counter()
        for arm in run.arms:
            kinds.update(arm.faults or arm.error_types or arm.errors)
        commonest = [f"{kind} {count}" for kind, count in kinds.most_common(_FAULTS)]
        yield "faults", f" {DOT} ".join(commonest) or "none"
        if unclear := sum(arm.counts.get(UNCLEAR, 0) for arm in run.arms):
            texts = counted(int(unclear), "text")
            yield "unclear", f"{texts} undecided, counted as wrong: rig adjudicate {run.id}"
        yield from zip(("next", ""), self._next(), strict=True)

    def _alone(self) -> str:
        """What can be said about a single arm."""
        metrics, arm = self._metrics(), self.run.arms[0]
        if len(self.run.arms) > 1 or not metrics or not arm.rated:
            return ""
        rated = measured(metrics[0], arm.rated)
        played = counted(int(arm.counts.get(TASKS, 0)), "conversation")
        return f"{metrics[0].noun} {rated} of {played}; there is no second arm to compare it with"

    def _next(self) -> tuple[str, str]:
        """The command to type next, and what for."""
        run = self.run
        runs = "" if self.store == str(runs_file()) else f" --runs {shlex.quote(self.store)}"
        if not self.is_kept:
            return "rig run MODEL", "evaluates your own model; this was a recording"
        if run.state == "interrupted":
            return f"rig run --resume {run.id}{runs}", f"{run.turns_left} left"
        if run.state == "running":
            return f"rig watch {run.id}{runs}", f"{run.turns_left} still to be made"
        if self.comparison is not None:
            return f"rig compare {run.id}{runs}", "what each arm won and lost"
        if self.failing is not None:
            return f"rig show {run.id} {shlex.quote(self.failing)}{runs}", "the first failure, call by call"
        return f"rig report {run.id} --open{runs}", "all of it as a page to keep"


def ending(run: StoredRun, store: Path, width: int | None, *, full: bool, is_kept: bool = True) -> str:
    """What is printed when a run is through: its card, or all numbers and where it is, if it is kept."""
    if full:
        place = f"\n\n{whereabouts(run, str(store))}" if is_kept else ""
        return summary(run, width) + place
    with Runs.open(store) as runs:
        card = Card.of(runs, run.id, is_kept=is_kept).text(width)
    return f"{card}\n\nrun {run.id} is stored in {store}" if is_kept else card


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


def _beside(label: str, text: str, width: int) -> list[Line]:
    """A text with a word in the margin; a command is never broken."""
    margin = 10
    if label == "next":
        return [((label.ljust(margin), "muted"), (text, "call"))]
    lines = wrap(one_line(text), max(width - margin, 20), break_long_words=False, break_on_hyphens=False)
    words = [label, *("" for _ in lines[1:])]
    pairs = zip(words, lines, strict=False)
    return [((word.ljust(margin), "muted"), (line, "plain")) for word, line in pairs]
