"""The end of a run on one screen: a row for each arm, the commonest faults, and the command to type next."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.compare.arms import ComparisonOptions
from rig.compare.compare import compare
from rig.compare.findings import Comparison
from rig.displays import signs, summary, verdicts
from rig.displays.attribution import attribution_lines
from rig.displays.curves import curve_line
from rig.displays.signs import DOT, RULE
from rig.displays.texts import clip, clock_time, measured, out_of, printable
from rig.displays.verdicts import SENTENCES, Line, told_metrics
from rig.errors import RigError, counted
from rig.metrics import TASKS, UNCLEAR
from rig.paths import runs_file
from rig.rates.repeats import RepeatOutcomes
from rig.store import Runs, StoredRun

_FAULTS = 3


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
    repeated: Sequence[RepeatOutcomes] = ()

    @classmethod
    def of(cls, runs: Runs, run: str, *, is_kept: bool = True) -> "Card":
        """The card of a stored run, as far as it is stored. Raises RigError if there is no such run."""
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
        """The card as text, this many cells wide."""
        return "\n".join("".join(text for text, _ in line).rstrip() for line in self.lines(width or 100))

    def lines(self, width: int) -> list[Line]:
        """The card as tinted lines, this many cells wide."""
        rule: Line = ((str(RULE) * width, "rule"),)
        decision = verdicts.headline(self.comparison, width) if self.comparison else []
        table = verdicts.arms_table(self._entries(), told_metrics(self.run.declaration), width)
        arms = ((arm.name, arm.attribution) for arm in self.run.arms)
        causes: list[Line] = [
            ((clip(printable(line), width).text, "plain"),) for line in attribution_lines(arms)
        ]
        lines = [*decision, self._title(), rule, *table, *causes, rule]
        caution = self.run.declaration.caution
        for label, note in (*self._notes(), *([("caution", caution)] if caution else [])):
            lines += verdicts.beside(label, note, width)
        return lines

    def _title(self) -> Line:
        run = self.run
        states = {sign.word: sign for sign in (signs.FINISHED_RUN, signs.RUNNING_RUN, signs.INTERRUPTED_RUN)}
        sign = states[run.state]
        played = sum(arm.counts.get(TASKS, 0) for arm in run.arms)
        planned = len(run.conversations) * run.repeats * len(run.arms)
        arms = f" by {len(run.arms)} arms" if len(run.arms) > 1 else ""
        seconds = sum(arm.speed.wall_s for arm in run.arms)
        how_far = f"   {out_of(int(played), planned)} conversations{arms}, {clock_time(seconds)}"
        return ((f"{sign.sign} ", sign.tint), (f"run {run.id} {run.state}", "strong"), (how_far, "muted"))

    def _entries(self) -> list[verdicts.ArmEntry]:
        """Rows of the table. What the comparison left out has no pair."""
        compared = self.comparison
        labels = {arm.label: arm.position for arm in compared.arms} if compared else {}
        pairs = {labels[pair.arm]: pair for pair in compared.pairs} if compared else {}
        baseline = compared.baseline.position if compared else None
        return [
            verdicts.ArmEntry(
                arm.name,
                arm.fingerprint or {},
                arm.rated,
                arm.speed,
                "failed" if arm.failure else "not evaluated" if arm.not_evaluated else "",
                pairs.get(arm.position),
                arm.position == baseline,
                arm.limits,
            )
            for arm in self.run.arms
        ]

    # Below it

    def _notes(self) -> Iterator[tuple[str, str]]:
        """What is said below the table, each with a word for the margin."""
        run = self.run
        for arm in run.arms:
            if reason := arm.failure or arm.not_evaluated:
                yield "failed" if arm.failure else "no answer", f"{arm.name}: {reason}"
        if self.comparison is not None:
            for number, text in enumerate(verdicts.sentences(self.comparison, SENTENCES)):
                yield "" if number else "verdicts", text
        elif estimate := self._alone():
            yield "verdict", estimate
        for number, curve in enumerate(self.comparison.curves if self.comparison else ()):
            yield "" if number else "curve", curve_line(curve)
        cut = summary.limit_notes({arm.name: arm.limits for arm in run.arms})
        yield from zip(("limits", *[""] * SENTENCES), cut[:SENTENCES], strict=False)
        if len(cut) > SENTENCES:
            yield "", f"{len(cut) - SENTENCES} more: rig show {run.id}"
        # How reliable each arm is, and what it succeeds in now and then.
        repeats: list[str] = []
        for arm, repeated in zip(run.arms, self.repeated, strict=False):
            repeats += summary.repeat_rates(arm.name, repeated)
            repeats += summary.repeat_notes(arm.name, repeated, arm.fingerprint or {})
        yield from zip(("repeats", *[""] * SENTENCES), repeats[:SENTENCES], strict=False)
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
        metrics, arm = told_metrics(self.run.declaration), self.run.arms[0]
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
    with Runs.open(store) as runs:
        if full:
            place = f"\n\n{summary.whereabouts(run, str(store))}" if is_kept else ""
            return summary.summary(run, width, summary.repeated_arms(run, runs.each_cell(run))) + place
        card = Card.of(runs, run.id, is_kept=is_kept).text(width)
    return f"{card}\n\nrun {run.id} is stored in {store}" if is_kept else card
