"""Which file to ship among those that are fast and small enough: quality, speed and memory together."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from rig.compare.findings import Comparison
from rig.compare.recommendation import obstacle
from rig.compare.verdict import Decision, points
from rig.core.calls import ByName, JsonObject
from rig.core.errors import RigError
from rig.plugins.resources.measured import Resources
from rig.show.texts import mebibytes, rate

_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:tok(?:ens)?/s|t/s)?", re.IGNORECASE)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]i?B?|B)?", re.IGNORECASE)
_POWERS = "KMGT"


class Demands(NamedTuple):
    """What a file has to reach: tokens per second, bytes of memory, and the loss that it may have."""

    rate: float | None
    memory: int | None
    loss: float
    memory_text: str = ""

    @classmethod
    def of(cls, at_least: str | None, memory: str | None, loss: float) -> "Demands":
        """Read what a user wrote. Raises RigError."""
        match = _RATE.fullmatch(at_least.strip()) if at_least else None
        if at_least and (match is None or not float(match[1])):
            raise RigError(f"--at-least {at_least}: not a speed; write it as in 20tok/s")
        size = size_in_bytes(memory, "--memory") if memory else None
        return cls(float(match[1]) if match else None, size, loss, memory or "")

    @property
    def words(self) -> str:
        """The demands in words."""
        parts = [f"without a loss above {points(self.loss)}"]
        parts += [f"that reaches {self.rate:g} tokens a second"] if self.rate else []
        parts += [f"in {self.memory_text} of memory"] if self.memory else []
        return " ".join(parts)


def size_in_bytes(text: str, option: str) -> int:
    """Return the bytes of a size as in 4GiB or 900MB, which this option has. Raises RigError."""
    size = _SIZE.fullmatch(text.strip())
    if size is None or not float(size[1]):
        raise RigError(f"{option} {text}: not a size; write it as in 4GiB or 900MB")
    unit = (size[2] or "B").upper()
    power = _POWERS.find(unit[0]) + 1
    return int(float(size[1]) * (1024 if "I" in unit else 1000) ** power)


class Met(StrEnum):
    """Whether an arm meets a demand."""

    YES = "yes"
    NO = "no"
    OPEN = "cannot tell"


@dataclass(frozen=True, slots=True)
class ArmDemands(ByName):
    """An arm beside the demands: whether it meets each, and why not in words. Arms that dominate it are as
    good in everything that is known of both, and better in something.
    """

    arm: str
    resources: Resources
    quality: Met
    speed: Met
    memory: Met
    why: tuple[str, ...]
    dominated_by: tuple[str, ...]

    @property
    def met(self) -> Met:
        """Whether it meets all of them."""
        demands = {self.quality, self.speed, self.memory}
        return Met.NO if Met.NO in demands else Met.OPEN if Met.OPEN in demands else Met.YES


@dataclass(frozen=True, slots=True)
class ResourceDecision(ByName):
    """The file to ship, None if none is shown to meet the demands; `undecided` are smaller ones that may."""

    arm: str | None
    undecided: tuple[str, ...]
    text: str
    arms: tuple[ArmDemands, ...]


def decide(
    comparison: Comparison,
    resources: Mapping[str, Resources],
    demands: Demands,
    names: Mapping[str, str] | None = None,
) -> ResourceDecision:
    """Return the smallest file that meets the demands, or why there is none. Its text calls arms by `names`,
    or by their labels.
    """
    qualities = _qualities(comparison, demands.loss)
    dominated = _dominated(comparison, resources)
    arms = []
    for arm in comparison.arms:
        of = resources[arm.label]
        speed, slow = _speed(of, demands.rate)
        memory, large = _memory(of, demands.memory)
        quality, worse = qualities[arm.label]
        why = tuple(filter(None, (worse, slow, large)))
        arms.append(ArmDemands(arm.label, of, quality, speed, memory, why, dominated[arm.label]))
    return _decision(arms, demands, obstacle(comparison), names or {arm.arm: arm.arm for arm in arms})


def _decision(
    arms: Sequence[ArmDemands], demands: Demands, reason: str, called: Mapping[str, str]
) -> ResourceDecision:
    sized = [arm for arm in arms if arm.resources.file_bytes is not None]
    ordered = sorted(sized, key=lambda arm: arm.resources.file_bytes or 0)
    if not ordered:
        reason = reason or "no arm has a file"
    if reason:
        return ResourceDecision(None, (), f"Cannot tell which file to ship: {reason}", tuple(arms))
    shipped = next((arm for arm in ordered if arm.met is Met.YES), None)
    smaller = ordered[: ordered.index(shipped)] if shipped else ordered
    undecided = [arm for arm in smaller if arm.met is Met.OPEN]
    open_ = "; ".join(f"{called[arm.arm]}: {', '.join(arm.why)}" for arm in undecided)
    if shipped is not None:
        text = f"Ship {called[shipped.arm]}: smallest file {demands.words} here"
        text += f"; whether a smaller one would do is open ({open_})" if undecided else ""
    elif undecided:
        text = f"Cannot tell whether a file {demands.words} is here: {open_}"
    else:
        text = f"No file {demands.words} is here: "
        text += "; ".join(f"{called[arm.arm]}: {', '.join(arm.why)}" for arm in ordered)
    names = tuple(arm.arm for arm in undecided)
    return ResourceDecision(shipped.arm if shipped else None, names, text, tuple(arms))


def _qualities(comparison: Comparison, loss: float) -> dict[str, tuple[Met, str]]:
    """Return whether each arm loses no more than that, beside the baseline."""
    qualities = {comparison.baseline.label: (Met.YES, "")}
    for pair in comparison.pairs:
        match pair.verdict.decision(loss):
            case Decision.PASSES:
                qualities[pair.arm] = Met.YES, ""
            case Decision.WORSE:
                qualities[pair.arm] = Met.NO, f"loses more than {points(loss)}"
            case _:
                qualities[pair.arm] = Met.OPEN, f"a loss above {points(loss)} could have gone unseen"
    return qualities


def _speed(of: Resources, least: float | None) -> tuple[Met, str]:
    # Other processes can only make it slower.
    slowest = of.at_worst.decode
    if least is None or (slowest and slowest.low and slowest.low >= least):
        return Met.YES, ""
    if of.decode is None or of.decode.low is None or of.decode.high is None:
        return Met.OPEN, f"its speed is not known: {of.too_few(of.decode)}"
    if of.decode.low >= least:
        return Met.YES, ""
    interval = f"{rate(of.decode.low)} to {rate(of.decode.high)} tokens a second"
    if of.decode.high < least:
        return Met.NO, f"generates {interval}"
    return Met.OPEN, f"generates {interval}, and {least:g} is between them"


def _memory(of: Resources, most: int | None) -> tuple[Met, str]:
    if most is None:
        return Met.YES, ""
    if (memory := of.whole_memory) is None:
        return Met.OPEN, "its memory is not known"
    return (Met.YES, "") if memory <= most else (Met.NO, f"takes {mebibytes(memory)} of memory")


def _dominated(comparison: Comparison, resources: Mapping[str, Resources]) -> dict[str, tuple[str, ...]]:
    """Return the arms that are as good as each in all that was measured, and better in something.

    The larger each of these numbers, the better: the rate, and less size and memory, and more speed.
    """
    name = comparison.metric.name
    sign = 1 if comparison.metric.better == "higher" else -1
    values: dict[str, list[float | None]] = {}
    for arm in comparison.arms:
        of, value = resources[arm.label], arm.rates[name].value
        values[arm.label] = [
            None if value is None else sign * value,
            None if of.file_bytes is None else -float(of.file_bytes),
            of.decode.median if of.decode else None,
            None if of.whole_memory is None else -float(of.whole_memory),
        ]
    return {
        label: tuple(other for other in values if other != label and _dominates(values[other], own))
        for label, own in values.items()
    }


def _dominates(one: Sequence[float | None], other: Sequence[float | None]) -> bool:
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    return len(pairs) > 1 and all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


def as_json(decision: ResourceDecision) -> JsonObject:
    """Return a decision as JSON, with whether each arm meets everything."""
    told = decision.as_json()
    for row, arm in zip(told["arms"], decision.arms, strict=True):
        row["met"] = arm.met
    return told
