"""`rig compare`: arms of stored runs side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rig.cli.options import (
    AS_JSON,
    GRADED_BY,
    SHARE,
    STORE,
    FloatRange,
    complete_runs,
)
from rig.cli.output import paint, print_json, say, terminal_width
from rig.cli.runs import print_tables
from rig.cli.verbs import argument, option, verb
from rig.core.errors import RigError, counted

if TYPE_CHECKING:
    from rig.compare.arms import ComparisonOptions
    from rig.compare.findings import Comparison
    from rig.compare.noise import Noise
    from rig.compare.sequential import SequentialComparison
    from rig.compare.verdict import Decision
    from rig.store import Runs


@dataclass(frozen=True, kw_only=True)
class ComparisonQuestion:
    """The options that say what is compared, and how."""

    addresses: tuple[str, ...] = argument("RUN...", required=True, shell_complete=complete_runs)
    baseline: str | None = option("The arm to compare the others with.  [default: the first arm]", "ARM")
    metric: str | None = option(
        "The rate that decides the verdicts, by its name in --json.  [default: success]", "NAME"
    )
    loss: float = option(
        "The loss of success, in points, that a file to ship may have, and that --sequential tests for.",
        "X",
        type=FloatRange(0, 100, min_open=True),
        start=5.0,
    )
    alpha: float = option(
        "The chance of a false alarm, over all arms together. Intervals cover 1 - alpha.",
        "X",
        type=SHARE,
        start=0.05,
    )
    across_settings: bool = option(
        "Compare arms even if they differ from the baseline in more than one setting, and list the"
        " differences."
    )
    noise: str | None = option(
        "Show the noise that this run of `rig noise` measured next to the differences.",
        "RUN",
        shell_complete=complete_runs,
    )
    graded_by: str = GRADED_BY
    runs: Path = STORE

    @property
    def options(self) -> ComparisonOptions:
        """The options of the comparison."""
        from rig.compare.arms import ComparisonOptions

        return ComparisonOptions(self.baseline, self.metric, self.alpha, self.across_settings, loss=self.loss)

    def noise_in(self, store: Runs) -> Noise | None:
        """Return the noise to show as well. Raises RigError if that run does not have two equal arms."""
        from rig.compare.noise import noise_of

        return None if self.noise is None else noise_of(store, self.noise, self.alpha)


@dataclass(frozen=True, kw_only=True)
class DecisionOptions:
    """What to decide about the differences, or to show instead."""

    fail_if_worse: float | None = option(
        "Exit with code 1 if rig finds a loss of more than X points.", "X", type=FloatRange(0, 100)
    )
    fail_if_unsure: bool = option(
        "Exit with code 3 if a loss of more than X points could have gone unseen. X is that of"
        " --fail-if-worse, else of --loss."
    )
    full: bool = option("Also print the statistics: rates, costs, differences with their tests, and flips.")
    tables: bool = option("Print the tables of the method's paper for these arms instead, as Markdown.")
    sequential: bool = option(
        "Say instead whether each arm loses as much as --loss, using tests that you may repeat after every"
        " conversation."
    )
    in_suite: bool = option(
        "With --sequential, decide about this suite alone, not about conversations like these. One of two"
        " equally good files gets more of a small suite right, and the other then shows a loss."
    )
    curve: bool = option(
        "Say instead where success breaks over the levels of an option, as in --sweep: success level by"
        " level, and a sentence for each file, which hold however often you look."
    )

    def limit(self, loss: float) -> float | None:
        """Return the loss, in points, that makes an arm fail; None if nothing is decided."""
        return loss if self.fail_if_unsure and self.fail_if_worse is None else self.fail_if_worse

    def decisions(self, comparison: SequentialComparison | Comparison, points: float) -> dict[str, Decision]:
        """Return for each arm whether it loses more than this. Raises RigError if nothing may be decided."""
        from rig.compare.sequential import SequentialComparison
        from rig.compare.verdict import Decision

        if isinstance(comparison, SequentialComparison):
            decisions = {arm.arm: arm.decision for arm in comparison.arms}
        else:
            if not comparison.declaration.decides:
                asked = "unsure" if self.fail_if_worse is None else "worse"
                raise RigError(f"--fail-if-{asked} cannot decide here: {comparison.declaration.caution}")
            limit = points / comparison.metric.scale
            decisions = {pair.arm: pair.verdict.decision(limit) for pair in comparison.pairs}
        return decisions | dict.fromkeys(comparison.left_out, Decision.CANNOT_TELL)


@verb()
def command(
    question: ComparisonQuestion, deciding: DecisionOptions, *, as_json: bool = AS_JSON
) -> int | None:
    """Compare arms with a baseline, conversation by conversation.

    RUN is an id or its first characters, a name given with --name, or `latest`. It stands for all arms of the
    run; RUN/ARM is one of them.

    The first line says which file to ship: the smallest one that loses no more than --loss. Below it, each
    arm has its rates, its difference from the baseline and a verdict. --full adds the statistics: intervals,
    tests, the smallest loss that a suite of this size can show, and conversations and turns won and lost.

    --curve shows success over the levels of an option, such as --fill, and where it breaks.

    With --sequential you may look as often as you like while a run is in progress, and stop when you have
    seen enough. --fail-if-worse X then asks whether a loss of X points has been shown.

    The exit code is 1 if an arm is worse than --fail-if-worse allows, 3 if --fail-if-unsure is given and rig
    cannot tell, and else 0. A verdict holds however unclear texts are decided.
    """
    from rig.compare import leaderboard
    from rig.compare.compare import compare
    from rig.compare.sequential import SequentialComparison, compare_sequentially
    from rig.compare.verdict import Decision
    from rig.show.compare import looks_text
    from rig.store import Runs

    limit = deciding.limit(question.loss)
    if deciding.in_suite and not deciding.sequential:
        raise RigError("--in-suite is for --sequential; give both, or neither")
    if deciding.curve and (deciding.sequential or limit is not None):
        raise RigError("--curve decides nothing; leave out --sequential and --fail-if-…")
    with Runs.open(question.runs, question.graded_by) as stored:
        if deciding.tables:
            arms = question.addresses
            print_tables(leaderboard.published(stored, arms), {"arms": list(arms)}, as_json=as_json)
            return None
        comparison: SequentialComparison | Comparison
        if deciding.sequential:
            tested = question.loss if limit is None else limit
            if not tested:
                raise RigError("--sequential tests for a loss; give --fail-if-worse more than 0 points")
            options = question.options
            in_suite = deciding.in_suite
            comparison = compare_sequentially(
                stored, question.addresses, tested / 100, options, in_suite=in_suite
            )
            baseline = comparison.baseline
        else:
            noise = question.noise_in(stored)
            # Curves of several files differ in the file as well as in the level.
            options = replace(question.options, across_settings=question.across_settings or deciding.curve)
            comparison = compare(stored, question.addresses, options, noise)
            baseline = comparison.baseline.label
    decisions = {} if limit is None else deciding.decisions(comparison, limit)
    by = {kind: [arm for arm, decision in decisions.items() if decision is kind] for kind in Decision}
    if as_json:
        failed, unsure = by[Decision.WORSE], by[Decision.CANNOT_TELL]
        print_json({**comparison.as_json(), "failed": failed, "unsure": unsure})
    elif isinstance(comparison, SequentialComparison):
        say(looks_text(comparison))
    else:
        _say_comparison(comparison, deciding)
    # With --json, lines on what does not pass go to stderr.
    size = f"{'at least' if deciding.sequential else 'more than'} {counted(limit or 0.0, 'point')}"
    green = "" if deciding.fail_if_unsure else "; that passes all the same, unless --fail-if-unsure is given"
    for arm, decision in decisions.items():
        if decision is Decision.WORSE:
            say(f"\n{arm} is worse than {baseline} by {size}", err=as_json)
        elif decision is Decision.CANNOT_TELL:
            line = f"\n{arm}: cannot tell: a loss of {size} could have gone unseen{green}"
            say(line, err=as_json)
    if by[Decision.WORSE]:
        return Decision.WORSE
    is_unsure = deciding.fail_if_unsure and by[Decision.CANNOT_TELL]
    return Decision.CANNOT_TELL if is_unsure else Decision.PASSES


def _say_comparison(comparison: Comparison, deciding: DecisionOptions) -> None:
    from rig.show.card import opening
    from rig.show.compare import curves_text, statistics_text

    width = terminal_width()
    if deciding.curve:
        if not comparison.curves:
            raise RigError("these arms are no levels of one option; make some with `rig run FILE --sweep`")
        say(curves_text(comparison.curves, width))
        return
    paint(opening(comparison, width and min(width, 120)))
    if deciding.full:
        say(f"\n{statistics_text(comparison, width)}")
    else:
        say("\n--full prints the statistics behind it; rig report shows conversations side by side")
