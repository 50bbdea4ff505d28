"""What one arm did in the conversations compared: its counts by conversation, and its report."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np

from rig.compare.arms import Key, Scored
from rig.compare.findings import ArmResult, ConversationResult, TurnTimes
from rig.metrics import Counts, Declaration, total
from rig.rates import Tallied
from rig.store import ScoredCell, Took


def arm_result(
    scored: Scored, took: Took, declaration: Declaration, tallied: Tallied, alpha: float, keys: Sequence[Key]
) -> ArmResult:
    """All that is reported of an arm but in what it differs from others."""
    chosen = scored.chosen
    played = {key: list(scored.cells[key].values()) for key in keys}
    cells = [cell for row in played.values() for cell in row]
    return ArmResult(
        label=chosen.label,
        run=chosen.run.id,
        arm=chosen.arm.name,
        position=chosen.arm.position,
        rates={each.name: tallied.estimate(each, alpha) for each in declaration.shown("tables")},
        counts=_total([cell.counts for cell in cells]),
        repeats=(min(map(len, played.values())), max(map(len, played.values()))),
        finished=sum(map(len, scored.cells.values())),
        planned=len(chosen.run.conversations) * chosen.run.repeats,
        errors=_summed(cell.errors for cell in cells),
        error_types=_summed(cell.error_types for cell in cells),
        faults=_summed(cell.faults for cell in cells),
        speed=replace(took.speed, **asdict(chosen.arm.costs)),
        turn_times=_turn_times(took.walls),
        load_s=chosen.arm.load_s,
        failure=chosen.arm.failure,
        fingerprint=chosen.settings.fingerprint,
        made_from=chosen.arm.made_from,
        conversations=tuple(_conversation(row, declaration) for row in played.values()),
    )


def _conversation(cells: Sequence[ScoredCell], declaration: Declaration) -> ConversationResult:
    return ConversationResult(
        cells[0].conversation,
        cells[0].suite,
        len(cells),
        cells[0].counts if len(cells) == 1 else total(cell.counts for cell in cells),
        _summed(cell.errors for cell in cells),
        sum(declaration.succeeded(cell.counts) for cell in cells),
    )


def _total(parts: Sequence[Counts]) -> Counts:
    """As `total`, of many parts of which few are different objects."""
    often = Counter(map(id, parts))
    distinct = {id(each): each for each in parts}
    sums: dict[str, float] = {}
    for name in dict.fromkeys(name for each in distinct.values() for name in each):
        if all(isinstance(each.get(name, 0), int) for each in distinct.values()):
            sums[name] = sum(number * distinct[part].get(name, 0) for part, number in often.items())
        else:
            sums[name] = sum(each.get(name, 0) for each in parts)
    return sums


def _summed(counts: Iterable[Mapping[str, int]]) -> Mapping[str, int]:
    found = list(filter(None, counts))
    if not found:
        return _NONE
    total: Counter[str] = Counter()
    for each in found:
        total.update(each)
    return dict(sorted(total.items()))


_NONE: Mapping[str, int] = {}


def _turn_times(seconds: Sequence[float]) -> TurnTimes:
    if not seconds:
        return TurnTimes(0, None, None, None)
    median, late = np.quantile(seconds, [0.5, 0.95])
    return TurnTimes(len(seconds), float(np.mean(seconds)), float(median), float(late))
