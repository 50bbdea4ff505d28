"""The results of a comparison as typed values, for tables, reports and scripts."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from rig.compare import brief
from rig.compare.arms import ChosenArm, ConversationKey, ScoredArm
from rig.compare.early import bounded_rates
from rig.compare.noise import Noise
from rig.compare.settings import Factor
from rig.compare.trends import Trend
from rig.compare.verdict import ArmVerdict, Recommendation
from rig.config.limits import CutAnswers, cut_answers
from rig.core.calls import ByName, JsonObject
from rig.core.events import Speed
from rig.core.intervals import with_interval
from rig.core.metrics import UNPLAYED, Counts, Declaration, Metric, total
from rig.core.paths import runs_file
from rig.stats import Estimate, Tallied
from rig.stats.agreement import Interval
from rig.stats.paired import RateDifference
from rig.stats.repeats import Reliability, reliability
from rig.store import GraderInfo, ScoredCell, TurnSpeed

Outcome = Literal["won", "lost"]


@dataclass(frozen=True, slots=True)
class Flip(ByName):
    """A conversation, or with `turn` (from 1) one of its assistant turns, that only one arm gets right.

    `won` means that the arm gets it right and the baseline does not. With repeats the arm gets it right more
    often: `baseline_right` of `baseline_repeats` times, and `arm_right` of `arm_repeats`. The `commands`, for
    a shell, print what the baseline and the arm did there.
    """

    conversation: str
    suite: str
    outcome: Outcome
    baseline_right: int
    baseline_repeats: int
    arm_right: int
    arm_repeats: int
    commands: tuple[str, ...]
    turn: int | None = None


def flips(
    baseline: ScoredArm, arm: ScoredArm, keys: Sequence[ConversationKey], store: Path
) -> tuple[tuple[Flip, ...], tuple[Flip, ...]]:
    """Return the conversations that flipped, and the turns: lost ones first, then in the order of `keys`.

    A turn is right as `ScoredTurn.right` has it.
    """
    commands = cache(partial(_commands, (baseline.chosen, arm.chosen), store))
    conversations: list[Flip] = []
    turns: list[Flip] = []
    for key in keys:
        cells = baseline.cells[key], arm.cells[key]
        played = [[(cell.counts, cell.turns) for cell in side.values()] for side in cells]
        if played[0] == played[1]:
            continue
        before, after = map(_rights, cells)
        rights = {turn: (before[turn], after[turn]) for turn in sorted(before.keys() & after.keys())}
        whole = baseline.successes(key), arm.successes(key)
        for turn, (was, now) in [(None, whole), *rights.items()]:
            # Multiplied, because the arms may have repeated it a different number of times.
            more = sum(now) * len(was) - sum(was) * len(now)
            if more:
                right = sum(was), len(was), sum(now), len(now)
                outcome: Outcome = "won" if more > 0 else "lost"
                flip = Flip(key.name, arm.suite(key), outcome, *right, commands(key.name), turn)
                (conversations if turn is None else turns).append(flip)
    first, second = (sorted(flipped, key=lambda flip: flip.outcome) for flipped in (conversations, turns))
    return tuple(first), tuple(second)


def _commands(arms: Sequence[ChosenArm], store: Path, conversation: str) -> tuple[str, ...]:
    """Return the commands that print what these arms did in a conversation, one for each run."""
    elsewhere = [] if store == runs_file() else ["--runs", str(store)]
    options: dict[str, list[str]] = {}
    for arm in arms:
        options.setdefault(arm.run.id, []).extend(("--arm", arm.arm.name))
    return tuple(
        shlex.join(["rig", "show", run, conversation, *named, *elsewhere]) for run, named in options.items()
    )


def _rights(cells: Mapping[int, ScoredCell]) -> dict[int, list[bool]]:
    """Return whether each turn is right, repeat by repeat."""
    rights: dict[int, list[bool]] = {}
    for cell in cells.values():
        for turn, right in cell.rights.items():
            rights.setdefault(turn, []).append(right)
    return rights


@dataclass(frozen=True, slots=True)
class TurnTimes(ByName):
    """How long turns take, in seconds, for the model and everything around it."""

    turns: int
    mean_s: float | None
    median_s: float | None
    p95_s: float | None

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "TurnTimes":
        """Summarize turns that took these seconds."""
        if not seconds:
            return cls(0, None, None, None)
        median, late = np.quantile(seconds, [0.5, 0.95])
        return cls(len(seconds), float(np.mean(seconds)), float(median), float(late))


class ConversationResult(NamedTuple):
    """The results of an arm on one conversation: sums over its `repeats`, of which `successes` succeeded.

    `cuts` are the answers that limits cut off, by option.
    """

    conversation: str
    suite: str
    repeats: int
    counts: Counts
    errors: Mapping[str, int]
    successes: int
    cuts: Mapping[str, int]

    @property
    def success_share(self) -> float:
        """The share of the repeats in which it succeeded: 0 or 1 without repeats."""
        return self.successes / self.repeats

    def as_json(self, declaration: Declaration) -> JsonObject:
        """Return all fields by name."""
        return {
            "conversation": self.conversation,
            "suite": self.suite,
            "repeats": self.repeats,
            "success_share": self.success_share,
            "metrics": declaration.as_json(self.counts),
            "errors": dict(self.errors),
            "cuts": dict(self.cuts),
        }


@dataclass(frozen=True, slots=True)
class ArmResult(ByName):
    """One arm over the conversations compared.

    `counts` are sums over conversations and repeats, `rates` the estimates by the names of metrics, with
    intervals over conversations. `errors`, `error_types` and `faults` are counts by kind. `speed` sums the
    tokens and seconds of the turns (not the time of storing them); its costs, such as peak memory and energy,
    are those of the whole arm. `factors` says how the arm differs from the baseline; `finished` of the
    `planned` conversations, repeats counted, are done. `made_from` says what its model's file was made from,
    if rig made it, `notes` what plugins noted on the arm, by name. `conversations` are
    those that it shares with the baseline, in order. `reliability` is pass^k and pass@k over them; empty
    where some were played only once. `limits` say how often each known limit cut off an answer.
    """

    label: str
    run: str
    arm: str
    position: int
    rates: Mapping[str, Estimate]
    counts: Counts
    repeats: tuple[int, int]
    finished: int
    planned: int
    errors: Mapping[str, int]
    error_types: Mapping[str, int]
    faults: Mapping[str, int]
    speed: Speed
    turn_times: TurnTimes
    load_s: float | None
    failure: str | None
    fingerprint: JsonObject
    made_from: str | None
    notes: Mapping[str, JsonObject]
    factors: tuple[Factor, ...]
    conversations: tuple[ConversationResult, ...]
    reliability: tuple[Reliability, ...]
    limits: tuple[CutAnswers, ...]

    @property
    def rated(self) -> Counts:
        """The counts that `rates` follow from: a conversation counts once, however often it was played."""
        if self.repeats[0] == self.repeats[1] or UNPLAYED in self.counts:
            return self.counts
        return total(
            {name: count / row.repeats for name, count in row.counts.items()} for row in self.conversations
        )

    @property
    def flaky(self) -> list[str]:
        """The conversations that succeeded in some repeats and failed in others."""
        return [result.conversation for result in self.conversations if 0 < result.successes < result.repeats]

    def as_json(self, declaration: Declaration) -> JsonObject:  # type: ignore[override]
        """Return everything by name; `repeats` are the fewest and the most of any conversation."""
        values = ByName.as_json(replace(self, conversations=()))
        if self.reliability:
            values["flaky"] = self.flaky
        else:
            del values["reliability"]
        names = {"label": "arm", "arm": "name", "counts": "metrics"}
        return {names.get(name, name): value for name, value in values.items()} | {
            "metrics": declaration.as_json(self.counts, self.rated),
            "conversations": [conversation.as_json(declaration) for conversation in self.conversations],
        }


@dataclass(frozen=True, slots=True)
class Agreement(ByName):
    """In how many conversations, each played once by both arms, both, one or neither succeeded."""

    both: int
    won: int
    lost: int
    neither: int


@dataclass(frozen=True, slots=True)
class ArmPair(ByName):
    """An arm beside the baseline. `conversations` is the number of those that both are compared on.

    `differences` are by the names of metrics, arm less baseline. `agreement` is None with repeats.
    `correlation` is that of the arms' success over conversations, None if either never varies; `alike` is
    ICC3 and Pearson's R of the metric that the comparison is about, conversation by conversation. `won` and
    `lost` conversations flipped for the better and for the worse, `flip_rate` is the share of both. Where
    results chose what an arm played, all of these are missing, and a difference has bounds but no value.
    """

    baseline: str
    arm: str
    conversations: int
    differences: Mapping[str, RateDifference]
    flips: tuple[Flip, ...]
    turn_flips: tuple[Flip, ...]
    verdict: ArmVerdict
    agreement: Agreement | None = None
    correlation: float | None = None
    alike: Mapping[str, Interval] = field(default_factory=dict)
    won: int | None = None
    lost: int | None = None
    flip_rate: float | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Arms side by side, the baseline first.

    `metric` is the one that verdicts are about, `declaration` says what else is counted. `conversations` are
    the (name, suite) that all arms have finished, in order; an arm is compared on those that it shares with
    the baseline. `notes` are lines that a reader must know: what was left out, and in what else the arms
    differ. `recommendation` says which file to ship, if files were compared; `trends` what arms show
    together, by kind.
    """

    store: Path
    declaration: Declaration
    metric: Metric
    alpha: float
    grader: GraderInfo
    conversations: tuple[tuple[str, str], ...]
    arms: tuple[ArmResult, ...]
    pairs: tuple[ArmPair, ...]
    resamples: int
    seed: int
    notes: tuple[str, ...] = ()
    noise: Noise | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    recommendation: Recommendation | None = None
    trends: Mapping[str, tuple[Trend, ...]] = field(default_factory=dict)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that arms are compared by, in order."""
        return self.declaration.shown("tables")

    @property
    def baseline(self) -> ArmResult:
        """The arm that the others are compared with."""
        return self.arms[0]

    @property
    def curves(self) -> list[Trend]:
        """The trends that have points to draw, as success over the levels of a dial has."""
        return [trend for trends in self.trends.values() for trend in trends if trend.points]

    @property
    def verdicts(self) -> dict[str, ArmVerdict]:
        """The verdict on each arm except the baseline, by its label."""
        return {pair.arm: pair.verdict for pair in self.pairs}

    def __repr__(self) -> str:
        return brief.as_text(*self._in_brief())

    def _repr_html_(self) -> str:
        return brief.as_html(*self._in_brief())

    def _in_brief(self) -> tuple[str, brief.Table]:
        """Return the decision and a table with its header: rate, difference and verdict of each arm."""
        metric, pairs = self.metric, {pair.arm: pair for pair in self.pairs}
        rows: list[Sequence[str]] = [("arm", metric.noun, "points more or less", "verdict")]
        for arm in self.arms:
            pair = pairs.get(arm.label)
            difference = with_interval(metric.amount, pair.differences[metric.name]) if pair else ""
            verdict = pair.verdict.text if pair else "baseline"
            rate = with_interval(metric.amount, arm.rates[metric.name])
            rows.append((arm.label, rate, difference, verdict))
        return (self.recommendation.text() if self.recommendation else ""), rows

    def to_dicts(self) -> list[JsonObject]:
        """Return a flat row for each arm and metric, as dataframes take them: the rate, and the difference
        from the baseline with its interval. All but counts are fractions; the verdict is on `metric` alone.
        """
        rows = []
        for pair in self.pairs:
            arm = next(arm for arm in self.arms if arm.label == pair.arm)
            for name, difference in pair.differences.items():
                is_judged = name == self.metric.name
                rate, before = arm.rates[name].value, self.baseline.rates[name].value
                if pair.conversations < len(self.baseline.conversations):
                    # Other arms share more with the baseline, whose rate is over all of these.
                    before = None if rate is None or difference.value is None else rate - difference.value
                rows.append(
                    {
                        "arm": pair.arm,
                        "baseline": pair.baseline,
                        "metric": name,
                        "rate": rate,
                        "baseline_rate": before,
                        **difference.as_json(),
                        "conversations": pair.conversations,
                        "won": pair.won,
                        "lost": pair.lost,
                        "verdict": str(pair.verdict.kind) if is_judged else None,
                        "text": pair.verdict.text if is_judged else None,
                    }
                )
        return rows

    def as_json(self) -> JsonObject:
        """Return everything by name. `left_out` has the reason for each arm that is not compared."""
        return {
            "store": str(self.store),
            "metric": self.metric.name,
            "alpha": self.alpha,
            "baseline": self.baseline.label,
            "grader": self.grader.as_json(),
            "conversations": [{"conversation": name, "suite": suite} for name, suite in self.conversations],
            "arms": [arm.as_json(self.declaration) for arm in self.arms],
            "recommendation": self.recommendation.as_json() if self.recommendation else None,
            "pairs": [pair.as_json() for pair in self.pairs],
            **{kind: [trend.as_json() for trend in trends] for kind, trends in self.trends.items()},
            "bootstrap": {"resamples": self.resamples, "seed": self.seed},
            "noise": self.noise.as_json() if self.noise else None,
            "notes": list(self.notes),
            "caution": self.declaration.caution,
            "left_out": dict(self.left_out),
        }


def arm_result(
    scored: ScoredArm,
    took: TurnSpeed,
    declaration: Declaration,
    tallied: Tallied,
    alpha: float,
    keys: Sequence[ConversationKey],
    factors: tuple[Factor, ...],
) -> ArmResult:
    """Return all results of an arm, over the conversations of these `keys`."""
    chosen = scored.chosen
    played = {key: list(scored.cells[key].values()) for key in keys}
    cells = [cell for row in played.values() for cell in row]
    results = tuple(
        ConversationResult(
            row[0].conversation,
            row[0].suite,
            len(row),
            row[0].counts if len(row) == 1 else total(cell.counts for cell in row),
            _summed(cell.errors for cell in row),
            sum(declaration.succeeded(cell.counts) for cell in row),
            _summed(cell.cuts for cell in row),
        )
        for row in played.values()
    )
    attempts = np.array([result.repeats for result in results])
    successes = np.array([result.successes for result in results])
    counts = total(
        [*(cell.counts for cell in cells), *([{UNPLAYED: scored.unplayed}] * bool(scored.unplayed))]
    )
    rates = {metric.name: tallied.estimate(metric, alpha) for metric in declaration.shown("tables")}
    is_repeated = attempts.min() > 1 and not scored.unplayed
    return ArmResult(
        label=chosen.label,
        run=chosen.run.id,
        arm=chosen.arm.name,
        position=chosen.arm.position,
        rates=bounded_rates(counts, declaration) if scored.unplayed else rates,
        counts=counts,
        repeats=(int(attempts.min()), int(attempts.max())),
        finished=sum(map(len, scored.cells.values())),
        planned=len(chosen.run.conversations) * chosen.run.repeats,
        errors=_summed(cell.errors for cell in cells),
        error_types=_summed(cell.error_types for cell in cells),
        faults=_summed(cell.faults for cell in cells),
        speed=replace(took.speed, **asdict(chosen.arm.costs)),
        turn_times=TurnTimes.of(took.walls),
        load_s=chosen.arm.load_s,
        failure=chosen.arm.failure,
        fingerprint=chosen.settings.fingerprint,
        made_from=chosen.arm.made_from,
        notes=chosen.arm.notes,
        factors=factors,
        conversations=results,
        reliability=tuple(reliability(attempts, successes, alpha)) if is_repeated else (),
        limits=cut_answers(
            chosen.settings.fingerprint,
            took.answers,
            ((cell.cuts, not declaration.succeeded(cell.counts)) for cell in cells if cell.cuts),
        ),
    )


def _summed(counts: Iterable[Counts]) -> dict[str, Any]:
    return dict(sorted(total(counts).items()))
