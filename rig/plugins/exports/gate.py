"""A gate: whether arms may go on, by a policy of conditions on verdicts, rates, speed, memory and size.

A policy is a TOML file (docs/how-to/ci.md). A loss is judged by the verdicts of `rig compare`, a rate by its
interval over conversations, a speed by that of its median over quiet turns, and what was measured once by
that number.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from rig.compare.arms import ComparisonOptions, choose, metric_named, pick_baseline
from rig.compare.compare import compare_chosen
from rig.compare.findings import ArmResult, Comparison
from rig.compare.verdict import Decision
from rig.core.calls import JsonObject
from rig.core.errors import MACHINE, ErrorKind, RigError, counted, meant
from rig.core.files import read_toml
from rig.core.intervals import with_interval
from rig.core.metrics import UNPLAYED, Metric, if_right
from rig.plugins.resources.measured import Resources, TurnSpeeds, TurnSpread, resources_in
from rig.show.summary import contention_notes
from rig.stats import Estimate, estimates
from rig.store import Runs

_LARGEST_LIMIT = 1e18
_TOLERANCE = 1e-9


class Tier(StrEnum):
    """How much a condition weighs in the gate's decision."""

    REQUIRED = "required"
    """Must be shown to hold: a gate that cannot tell does not pass."""
    SUPPORTING = "supporting"
    """Must not be shown to fail: if that cannot be told, the gate says so and passes."""
    INFORMATIVE = "informative"
    """Is reported, and decides nothing."""


Bound: TypeAlias = Literal["max_loss", "min", "max", "min_ratio", "max_ratio"]
BOUNDS: tuple[Bound, ...] = get_args(Bound)


SPEEDS: Mapping[str, Callable[[TurnSpeeds], TurnSpread | None]] = {
    "prefill_rate": lambda of: of.prefill,
    "decode_rate": lambda of: of.decode,
    "first_token": lambda of: of.first_token,
    "turn_s": lambda of: of.turn,
}
"""Names that conditions can have besides the rates of a run: speeds in tokens per second, and seconds."""
MEASUREMENTS: Mapping[str, Callable[[ArmResult], float | None]] = {
    "wall_s": lambda arm: arm.speed.wall_s,
    "load_s": lambda arm: arm.load_s,
    "energy_j": lambda arm: arm.speed.energy_j,
    "peak_memory": lambda arm: arm.speed.peak_memory,
    "peak_device_memory": lambda arm: arm.speed.peak_device_memory,
    "file_bytes": lambda arm: arm.fingerprint.get("model.file_bytes"),
}
"""Those of what was measured once: seconds, joules and bytes."""
_SIZES = ("peak_memory", "peak_device_memory", "file_bytes")
"""The measurements that other processes cannot make larger."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A bound on a metric. `key` is its place in the policy, as in `required[2]`."""

    tier: Tier
    metric: str
    bound: Bound
    limit: float
    key: str

    @property
    def text(self) -> str:
        """The condition as it stands in the policy."""
        return f"{self.metric} {self.bound} {self.limit:,.12g}"


@dataclass(frozen=True, slots=True)
class Policy:
    """The conditions of a gate, and how arms are compared for them."""

    path: Path
    conditions: tuple[Condition, ...]
    question: ComparisonOptions

    @classmethod
    def read(cls, path: Path) -> "Policy":
        """Read a policy. Raises RigError that names the key if the policy cannot be used."""
        values = read_toml(path)
        tables = {tier: values.pop(tier, []) for tier in Tier}
        for key, value in values.items():
            if key not in _KEYS:
                near = meant(key, [*map(str, Tier), *_KEYS])
                raise RigError(f"{path}: {key}: is not a key of a policy{near}")
            kind, needed = _KEYS[key]
            if type(value) is not kind:
                raise RigError(f"{path}: {key}: needs {needed}")
        if not 0 < values.get("alpha", 0.05) < 1:
            raise RigError(f"{path}: alpha: is not between 0 and 1; 0.05 is usual")
        conditions = tuple(
            condition for tier, rows in tables.items() for condition in _conditions(path, tier, rows)
        )
        if not any(condition.tier is not Tier.INFORMATIVE for condition in conditions):
            raise RigError(f"{path}: required: has no condition, so nothing could fail; add [[required]]")
        return cls(path, conditions, ComparisonOptions(**values, one_will_do=True))


_KEYS: Mapping[str, tuple[type, str]] = {
    "baseline": (str, "the name of an arm in quotes"),
    "alpha": (float, "a number such as 0.05"),
    "across_settings": (bool, "true or false"),
}
"""Keys of a policy besides its conditions: the type of each, in Python and in words."""


def _conditions(path: Path, tier: Tier, rows: Any) -> Iterator[Condition]:
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise RigError(f"{path}: {tier}: begins a condition when it is written [[{tier}]]")
    for number, row in enumerate(rows, 1):
        key = f"{tier}[{number}]"
        for name in row.keys() - {"metric", *BOUNDS}:
            near = meant(name, ["metric", *BOUNDS])
            raise RigError(f"{path}: {key}.{name}: is not a key of a condition{near}")
        metric, bounds = row.get("metric"), [bound for bound in BOUNDS if bound in row]
        if not isinstance(metric, str):
            raise RigError(f"{path}: {key}.metric: needs the name of a metric, such as success_rate")
        if len(bounds) != 1:
            raise RigError(f"{path}: {key}: needs one of {', '.join(BOUNDS)}, and has {len(bounds)}")
        limit = row[bounds[0]]
        if type(limit) not in (int, float) or not 0 <= limit <= _LARGEST_LIMIT:
            raise RigError(f"{path}: {key}.{bounds[0]}: needs a number that is not below 0, such as 5")
        yield Condition(tier, metric, bounds[0], limit, key)


class ConditionFinding(NamedTuple):
    """What decides a condition for an arm: a sentence, and the value with the bounds of its interval.

    The numbers are in the unit of the condition's limit, and None where nothing was measured.
    """

    decision: Decision
    text: str
    value: float | None = None
    low: float | None = None
    high: float | None = None


class ConditionResult(NamedTuple):
    """The decision on a condition for one arm, with the reason in words and numbers."""

    condition: Condition
    arm: str
    found: ConditionFinding

    @property
    def decision(self) -> Decision:
        """Whether the condition holds."""
        return self.found.decision

    @property
    def text(self) -> str:
        """The reason in words."""
        return self.found.text

    @property
    def counts(self) -> bool:
        """Whether this result keeps the gate from passing."""
        if self.condition.tier is Tier.REQUIRED:
            return self.decision is not Decision.PASSES
        return self.condition.tier is Tier.SUPPORTING and self.decision is Decision.WORSE

    def as_json(self) -> JsonObject:
        """Return the result by name."""
        condition = self.condition
        about = {"tier": condition.tier, "metric": condition.metric, condition.bound: condition.limit}
        return {**about, "arm": self.arm, **self.found._asdict(), "decision": word(self.decision)}


@dataclass(frozen=True, slots=True)
class GateResult:
    """The gate's result for every arm and condition. Its notes are those of the comparison."""

    policy: Policy
    comparison: Comparison
    results: tuple[ConditionResult, ...]

    @property
    def decision(self) -> Decision:
        """The worst decision that counts: worse, cannot tell, or else passes."""
        decisions = {result.decision for result in self.results if result.counts}
        worst = (kind for kind in (Decision.WORSE, Decision.CANNOT_TELL) if kind in decisions)
        return next(worst, Decision.PASSES)

    def as_json(self) -> JsonObject:
        """Return the result by name."""
        return {
            "decision": word(self.decision),
            "exit_code": int(self.decision),
            "policy": str(self.policy.path),
            "baseline": self.comparison.baseline.label,
            "runs": list(dict.fromkeys(arm.run for arm in self.comparison.arms)),
            "grader": self.comparison.grader.as_json(),
            "alpha": self.comparison.alpha,
            "conditions": [result.as_json() for result in self.results],
            "notes": list(self.comparison.notes),
        }


def word(decision: Decision) -> str:
    """Return a decision as people read it: `passes`, `worse` or `cannot tell`."""
    return decision.name.lower().replace("_", " ")


def judge(runs: Runs, addresses: Sequence[str], policy: Policy) -> GateResult:
    """Judge arms, addressed as for `compare`, by a policy: all except the baseline, or the only one.

    For an arm that could not be evaluated, the decision is "cannot tell". Raises RigError as `compare` does,
    and for a condition on a metric that these runs do not have.
    """
    chosen, question = choose(runs, addresses), policy.question
    compared = compare_chosen(runs, chosen, question)
    first = pick_baseline(chosen, question.baseline)
    if first.label in compared.left_out:
        raise RigError(f"the baseline {first.label} is left out: {compared.left_out[first.label]}")
    comparisons = {compared.metric.name: compared}
    is_timed = any(condition.metric in SPEEDS for condition in policy.conditions)
    resources = resources_in(runs, compared.arms) if is_timed else {}
    results: list[ConditionResult] = []
    for condition in policy.conditions:
        _check(condition, policy.path, compared, alone=len(chosen) == 1)
        if condition.bound == "max_loss" and condition.metric not in comparisons:
            other = replace(question, metric=condition.metric)
            comparisons[condition.metric] = compare_chosen(runs, chosen, other)
        comparison = comparisons.get(condition.metric, compared)
        judged = comparison.arms[1:] or ([] if compared.left_out else comparison.arms)
        for arm in judged:
            if condition.metric in SPEEDS:
                finding = _speed(condition, resources[arm.label], resources[comparison.baseline.label])
            else:
                finding = _found(condition, arm, comparison)
            results.append(ConditionResult(condition, arm.label, finding))
        for label, why in compared.left_out.items():
            results.append(
                ConditionResult(condition, label, ConditionFinding(Decision.CANNOT_TELL, f"left out: {why}"))
            )
    return GateResult(policy, compared, tuple(results))


def _check(condition: Condition, path: Path, comparison: Comparison, *, alone: bool) -> None:
    """Raise RigError if these arms cannot be judged by a condition."""
    rates = [metric.name for metric in comparison.metrics]
    name, key = condition.metric, condition.key
    names = [*rates, *SPEEDS, *MEASUREMENTS]
    if name not in names:
        near = meant(name, names)
        raise RigError(f"{path}: {key}.metric: these runs have no metric {name!r}{near}")
    bounds = ["min", "max", *(["max_loss"] if name in rates else ["min_ratio", "max_ratio"])]
    if condition.bound not in bounds:
        others = f"{', '.join(bounds[:-1])} or {bounds[-1]}"
        raise RigError(f"{path}: {key}.{condition.bound}: {name} takes {others}")
    if alone and condition.bound not in ("min", "max"):
        raise RigError(
            f"{path}: {key}.{condition.bound}: {comparison.baseline.label} is the only arm; name another run"
            " or arm to compare it with"
        )


def _found(condition: Condition, arm: ArmResult, comparison: Comparison) -> ConditionFinding:
    rates = {metric.name: metric for metric in comparison.metrics}
    if condition.metric not in rates:
        return _measured(condition, arm, comparison.baseline)
    if condition.bound == "max_loss":
        verdict = next(pair.verdict for pair in comparison.pairs if pair.arm == arm.label)
        limit = condition.limit / comparison.metric.scale
        finding = ConditionFinding(verdict.decision(limit), verdict.text)
        doubts = list(_doubts(comparison, [arm, comparison.baseline]))
        share, cut = _cut_short(comparison.baseline)
        is_of_success = comparison.declaration.is_of_success(comparison.metric)
        if not is_of_success or verdict.decision(limit - share) is not Decision.PASSES:
            doubts += cut
    else:
        metric = metric_named(comparison.declaration, condition.metric)
        finding = _rate(condition, arm, comparison, metric)
        doubts = list(_doubts(comparison, [arm]))
    if not comparison.declaration.decides or (finding.decision is Decision.PASSES and doubts):
        finding = finding._replace(decision=Decision.CANNOT_TELL)
    return finding._replace(text="; ".join((finding.text, *doubts)))


def _doubts(comparison: Comparison, sides: Sequence[ArmResult]) -> Iterator[str]:
    """Yield why rates cannot make a condition pass, although it may still be found worse."""
    if not comparison.declaration.decides:
        yield comparison.declaration.caution
    for arm in sides:
        if arm.finished < arm.planned and UNPLAYED not in arm.counts:
            yield f"{arm.label} has finished {arm.finished} of {counted(arm.planned, 'conversation')}"


_CUT = MACHINE | {ErrorKind.TRUNCATED, ErrorKind.CALL_CAP}


def _cut_short(baseline: ArmResult) -> tuple[float, list[str]]:
    """Return the share of conversations in which the machine or a limit may have made the baseline do worse,
    which makes losses look smaller than they are, and a line that says so.
    """
    cut = [row for row in baseline.conversations if not _CUT.isdisjoint(row.errors) and row.success_share < 1]
    if not cut:
        return 0.0, []
    kinds = ", ".join(sorted({kind for row in cut for kind in _CUT.intersection(row.errors)}))
    where = f"in {counted(len(cut), 'conversation')} that failed"
    share = sum(1 - row.success_share for row in cut) / len(baseline.conversations)
    return share, [f"the machine or a limit cut the baseline short ({kinds}) {where}"]


def _rate(condition: Condition, arm: ArmResult, comparison: Comparison, metric: Metric) -> ConditionFinding:
    """Decide by a rate's interval, whichever way unclear texts are decided."""
    ends = [arm.rates[metric.name]]
    if metric.bounds(arm.counts):
        rows = (
            (row.conversation, {name: count / row.repeats for name, count in if_right(row.counts).items()})
            for row in arm.conversations
        )
        ends.append(estimates(rows, comparison.declaration, comparison.alpha)[metric.name])
    text = " to ".join(with_interval(metric.amount, end, metric.unit) for end in ends)
    bounds = [bound for end in ends for bound in (end.low, end.high)]
    numbers = [metric.scale * bound for bound in bounds if bound is not None]
    if len(numbers) < len(bounds):
        return ConditionFinding(Decision.CANNOT_TELL, f"{text}: there is no interval")
    low, high, value = min(numbers), max(numbers), ends[0].value
    printed = None if value is None or len(ends) > 1 else metric.scale * value
    return ConditionFinding(_bounded(condition, low, high), text, printed, low, high)


def _speed(condition: Condition, arm: Resources, baseline: Resources) -> ConditionFinding:
    """Decide by the interval of the median over quiet turns, or of its ratio to the baseline's."""
    read = SPEEDS[condition.metric]
    if read(arm.at_worst) is None:
        return ConditionFinding(Decision.CANNOT_TELL, f"{condition.metric} was not measured")
    if condition.bound.endswith("_ratio"):
        return _ratio(condition, arm, baseline)
    quiet = read(arm)
    finding = _median(condition, quiet)
    if finding is None or quiet is None:
        finding = ConditionFinding(
            Decision.CANNOT_TELL, f"its {condition.metric} is not known: {arm.too_few(quiet)}"
        )
    elif arm.is_known:
        finding = finding._replace(text=f"{finding.text}, the median of {quiet.count} quiet turns")
    else:
        finding = finding._replace(text=f"{finding.text}, the median of {quiet.count} turns, quiet or not")
    if finding.decision is Decision.PASSES:
        return finding
    at_worst = _median(condition, read(arm.at_worst))
    is_slower = condition.bound == ("min" if condition.metric.endswith("_rate") else "max")
    if is_slower and at_worst is not None and at_worst.decision is Decision.PASSES:
        why = "the median of all turns, which other processes can only have slowed down"
        return at_worst._replace(text=f"{at_worst.text}, {why}")
    return finding


def _ratio(condition: Condition, arm: Resources, baseline: Resources) -> ConditionFinding:
    """Decide by the ratio of two medians: the lowest is the arm's low end by the baseline's high one."""
    read = SPEEDS[condition.metric]
    own, other = read(arm), read(baseline)
    if not (own and other and own.low and own.high and other.low and other.high):
        sides = ("its", arm), ("the baseline's", baseline)
        few = ((whose, of.too_few(read(of))) for whose, of in sides)
        why = (f"{whose} {condition.metric} is not known: {reason}" for whose, reason in few if reason)
        return ConditionFinding(Decision.CANNOT_TELL, "; ".join(why))
    value, low, high = own.median / other.median, own.low / other.high, own.high / other.low
    text = " against ".join(with_interval(_number, of) for of in (own, other))
    ratio = with_interval("{:.2f}".format, Estimate(value, low, high))
    text += f", {ratio} times as much in quiet turns"
    return ConditionFinding(_bounded(condition, low, high), text, value, low, high)


def _median(condition: Condition, of: TurnSpread | None) -> ConditionFinding | None:
    """Decide by the interval of a median; None if it has none."""
    if of is None or of.low is None or of.high is None:
        return None
    text = with_interval(_number, of)
    return ConditionFinding(_bounded(condition, of.low, of.high), text, of.median, of.low, of.high)


def _number(number: float) -> str:
    return f"{number:,.0f}" if number >= 1000 else f"{number:,.3g}"


def _measured(condition: Condition, arm: ArmResult, baseline: ArmResult) -> ConditionFinding:
    """Decide by what was measured once, unless other processes were busy meanwhile."""
    sides = [arm, baseline] if condition.bound.endswith("_ratio") else [arm]
    values = [MEASUREMENTS[condition.metric](side) for side in sides]
    if any(value is None or (value == 0 and len(sides) > 1) for value in values):
        return ConditionFinding(Decision.CANNOT_TELL, f"{condition.metric} was not measured")
    numbers = [float(value) for value in values if value is not None]
    text = " against ".join(map(_number, numbers))
    value = numbers[0] / numbers[1] if len(numbers) > 1 else numbers[0]
    text += f", {value:.2f} times as much" if len(numbers) > 1 else ""
    busy = contention_notes((side.label, side.speed, side.fingerprint) for side in sides)
    if busy and condition.metric not in _SIZES:
        return ConditionFinding(Decision.CANNOT_TELL, f"{text}; {busy[0]}", value)
    return ConditionFinding(_bounded(condition, value, value), text, value)


def _bounded(condition: Condition, low: float, high: float) -> Decision:
    """Decide whether all values from `low` to `high` are within the bound, all beyond it, or only some."""
    least = condition.bound.startswith("min")
    within = low >= condition.limit - _TOLERANCE if least else high <= condition.limit + _TOLERANCE
    beyond = high < condition.limit - _TOLERANCE if least else low > condition.limit + _TOLERANCE
    return Decision.PASSES if within else Decision.WORSE if beyond else Decision.CANNOT_TELL
