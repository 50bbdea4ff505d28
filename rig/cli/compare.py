"""`rig compare`: arms of stored runs side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
from rig.cli.verbs import Viewed, argument, option, verb
from rig.core import registry
from rig.core.calls import JsonObject
from rig.core.errors import RigError, counted

if TYPE_CHECKING:
    from rig.compare.arms import ComparisonOptions
    from rig.compare.findings import Comparison
    from rig.compare.noise import Noise
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
    """What to decide about the differences, and how much to print."""

    fail_if_worse: float | None = option(
        "Exit with code 1 if rig finds a loss of more than X points.", "X", type=FloatRange(0, 100)
    )
    fail_if_unsure: bool = option(
        "Exit with code 3 if a loss of more than X points could have gone unseen. X is that of"
        " --fail-if-worse, else of --loss."
    )
    full: bool = option("Also print the statistics: rates, costs, differences with their tests, and flips.")

    def limit(self, loss: float) -> float | None:
        """Return the loss, in points, that makes an arm fail; None if nothing is decided."""
        return loss if self.fail_if_unsure and self.fail_if_worse is None else self.fail_if_worse

    def conclude(
        self, decisions: Mapping[str, Decision], baseline: str, size: str, *, as_json: bool
    ) -> Decision:
        """Print a line on each arm that does not pass, and return the exit code. `size` is that of the loss.

        With --json, the lines go to stderr.
        """
        from rig.compare.verdict import Decision

        green = "" if self.fail_if_unsure else "; that passes all the same, unless --fail-if-unsure is given"
        for arm, decision in decisions.items():
            if decision is Decision.WORSE:
                say(f"\n{arm} is worse than {baseline} by {size}", err=as_json)
            elif decision is Decision.CANNOT_TELL:
                say(f"\n{arm}: cannot tell: a loss of {size} could have gone unseen{green}", err=as_json)
        if Decision.WORSE in decisions.values():
            return Decision.WORSE
        is_unsure = self.fail_if_unsure and Decision.CANNOT_TELL in decisions.values()
        return Decision.CANNOT_TELL if is_unsure else Decision.PASSES


def decided_json(decisions: Mapping[str, Decision]) -> JsonObject:
    """Return the arms that fail, and those of which nothing can be told."""
    from rig.compare.verdict import Decision

    kinds = {"failed": Decision.WORSE, "unsure": Decision.CANNOT_TELL}
    return {name: [arm for arm, of in decisions.items() if of is kind] for name, kind in kinds.items()}


@verb(Viewed, "compare")
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
    from rig.compare.compare import compare
    from rig.compare.verdict import Decision
    from rig.store import Runs

    limit = deciding.limit(question.loss)
    with Runs.open(question.runs, question.graded_by) as stored:
        noise = question.noise_in(stored)
        comparison = compare(stored, question.addresses, question.options, noise)
    decisions: dict[str, Decision] = {}
    if limit is not None:
        if not comparison.declaration.decides:
            asked = "unsure" if deciding.fail_if_worse is None else "worse"
            raise RigError(f"--fail-if-{asked} cannot decide here: {comparison.declaration.caution}")
        lost = limit / comparison.metric.scale
        decisions = {pair.arm: pair.verdict.decision(lost) for pair in comparison.pairs}
        decisions |= dict.fromkeys(comparison.left_out, Decision.CANNOT_TELL)
    if as_json:
        print_json({**comparison.as_json(), **decided_json(decisions)})
    else:
        _say_comparison(comparison, deciding)
    size = f"more than {counted(limit or 0.0, 'point')}"
    return deciding.conclude(decisions, comparison.baseline.label, size, as_json=as_json)


def _say_comparison(comparison: Comparison, deciding: DecisionOptions) -> None:
    from rig.show.card import opening

    width = terminal_width()
    paint(opening(comparison, width and min(width, 120)))
    if deciding.full:
        for detail in registry.registered().details.values():
            say(f"\n{detail(comparison, width)}")
    else:
        say("\n--full prints the statistics behind it; rig report shows conversations side by side")
