"""Sweeps: the levels of a dial, played in the order that soonest finds where success breaks.

Both ends come first, then always the middle between the levels that hold and those that lose. The levels
being played take turns in blocks of conversations, with the lowest ahead, so that they stay paired.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from rig.config.option import Option
from rig.config.options import TABLE, RunConfig
from rig.core.errors import RigError
from rig.core.events import EvidenceMoved, Where
from rig.core.metrics import Counts, Remark
from rig.plugins.strategies.breaking import Bisection, Break, BreakTest, Outcomes, differences
from rig.plugins.strategies.levels import curves_of, level_name
from rig.plugins.strategies.options import Strategies
from rig.plugins.strategies.sequential import Finding
from rig.plugins.strategies.until import ROUNDS, Deciding
from rig.running.plan import Arm, Plan
from rig.running.strategy import RunStrategy, Schedule, Visit
from rig.stats.rates import OutcomeBounds
from rig.store import Cell

CAUTION = Remark(
    "the run looked at its results after every conversation and chose levels by them: rates, intervals and"
    " p-values are biased; those of `rig compare --curve` hold",
    decides=False,
)


def swept(text: str) -> tuple[Option, tuple[object, ...]]:
    """Return the option that `--sweep OPTION=LEVEL,…` names, and its levels in order. Raises RigError."""
    name, is_given, levels = text.partition("=")
    option = TABLE.get(name.strip().replace("-", "_"))
    if option is None or not option.several or option.kind not in (int, float) or option.choices:
        raise RigError(f"--sweep {text}: {name or 'nothing'} is no option whose numbers make arms")
    if not is_given:
        raise RigError(f"--sweep {text}: give the levels too, as in {name.strip()}=0,2k,8k")
    try:
        values = sorted(option.levels(levels))
    except RigError as error:
        raise RigError(f"--sweep {text}: {error}") from error
    if len(values) < 2:
        raise RigError(f"--sweep {text}: give at least two levels, as in {name}=0,2k,8k")
    return option, tuple(values)


@dataclass(frozen=True, slots=True)
class Sweep(Schedule):
    """A run that searches for where success breaks: the `levels` of an option, lowest first, in words.

    `curves` are the arms by level, for each file and whatever else distinguishes arms. `size` is the loss
    that counts as a break, a fraction.
    """

    levels: tuple[str, ...]
    curves: tuple[tuple[int, ...], ...]
    size: float

    caution = CAUTION

    def check(self, plan: Plan) -> None:
        if plan.declaration.success_metric is None:
            raise RigError(f"--sweep: the method {plan.method.name} does not say what succeeds")

    def begin(self, plan: Plan, cells: Iterable[Cell]) -> "Sweeping":
        return Sweeping(plan, self, cells)


@dataclass(slots=True)
class _Curve:
    """The arms of a curve by level, and the findings on pairs of them."""

    arms: tuple[int, ...]
    findings: dict[tuple[int, int], Finding | None] = field(default_factory=dict)
    is_over: bool = False

    @property
    def located(self) -> Break:
        return Break.of(self.findings, len(self.arms))


class Sweeping(Deciding):
    """The state of a sweep. It takes in finished conversations and says what to play next."""

    def __init__(self, plan: Plan, sweep: Sweep, cells: Iterable[Cell]) -> None:
        self._sweep = sweep
        self._curves = [_Curve(arms) for arms in sweep.curves]
        super().__init__(plan, sweep.size, cells)

    def _begin(self, size: float) -> None:
        levels = len(self._sweep.levels)
        self._test = BreakTest(levels, size, curves=len(self._curves)).of_pair
        for curve in self._curves:
            outcomes = self._by_level(curve)
            for level in range(1, levels):
                self._look(curve, level, outcomes)

    def _curve(self, arm: int) -> _Curve:
        return next(curve for curve in self._curves if arm in curve.arms)

    def _by_level(self, curve: _Curve) -> list[Outcomes]:
        return [[self._outcomes(arm, task) for task in self._plan.tasks] for arm in curve.arms]

    def _look(self, curve: _Curve, level: int, outcomes: Sequence[Outcomes]) -> list[int]:
        """Test a level against all others. Return the levels with new evidence against the lowest."""
        moved = []
        for pair in combinations(range(len(curve.arms)), 2):
            if level in pair and (both := differences(*(outcomes[one] for one in pair))):
                curve.findings[pair] = self._test.finding(both)
                if not pair[0]:
                    self._evidence[curve.arms[pair[1]]] = self._test.evidence(both)
                    moved.append(pair[1])
        return moved

    def finished(self, where: Where, counts: Counts) -> list[EvidenceMoved]:
        """Take in a conversation that an arm has finished. Return the new evidence on levels and, for the
        lowest level, on where the curve breaks, with the success of all levels so far.
        """
        self._won[where] = OutcomeBounds.of(self._plan.declaration, counts)
        curve = self._curve(where.arm)
        outcomes = self._by_level(curve)
        levels = self._look(curve, curve.arms.index(where.arm), outcomes)
        was_over, curve.is_over = curve.is_over, not self._playing(curve)
        is_new = curve.is_over and not was_over
        evidence = [(arm, self._evidence[arm]) for arm in (curve.arms[level] for level in levels)]
        moved = [EvidenceMoved(arm, now.text, now.as_json()) for arm, now in evidence]
        left = [self._unplayed(arm) for arm in curve.arms] if is_new else []
        turns, tasks = sum(sum(arm.values()) for arm in left), sum(map(len, left))
        rates = [
            sum(outcome.least for row in level for outcome in row) / played if played else None
            for level, played in ((level, sum(map(len, level))) for level in outcomes)
        ]
        text = self._text(curve)
        return [*moved, EvidenceMoved(curve.arms[0], text, {"curve": rates}, is_new, turns, tasks)]

    def _text(self, curve: _Curve) -> str:
        text = curve.located.text(self._sweep.levels, self._sweep.size)
        played = sum(bool(self._outcomes(curve.arms[0], task)) for task in self._plan.tasks)
        return text or f"no break found after {played} of {len(self._plan.tasks)}"

    def _playing(self, curve: _Curve) -> tuple[int, ...]:
        """Return the levels that play next; none if the break is located or they cannot show more."""
        if not self._failed.isdisjoint(curve.arms):
            return ()

        def is_done(level: int) -> bool:
            return curve.findings.get((0, level)) is not None or not self._unplayed(curve.arms[level])

        begun = [level for level, arm in enumerate(curve.arms) if self._begun(arm)]
        return Bisection(len(curve.arms), is_done).playing(curve.located, begun)

    def _begun(self, arm: int) -> bool:
        return any(where.arm == arm for where in self._won)

    def is_over(self, arm: int) -> bool:
        """Return whether the arm's curve is played no further."""
        return not self._playing(self._curve(arm))

    def decided(self, arm: int) -> str | None:
        """Return the verdict on a level or, for the lowest, where the curve breaks."""
        curve = self._curve(arm)
        if arm == curve.arms[0]:
            return self._text(curve)
        if not self._begun(arm):
            return "not played: the sweep did not need it"
        return self._evidence[arm].text if arm in self._evidence else None

    def failed(self, arm: int) -> None:
        """Give up the curve of an arm."""
        self._failed.add(arm)

    def visits(self) -> Iterator[Visit]:
        """Yield which arm plays what next, until the breaks are located. Play each before asking for more."""
        tasks = self._plan.tasks
        block = math.ceil(len(tasks) / ROUNDS)
        for curve in self._curves:
            before = -1
            while (levels := self._playing(curve)) and len(self._won) > before:
                before = len(self._won)
                arms = [curve.arms[level] for level in levels]
                # Blocks end where they ended before a run was interrupted.
                reached = min(self._reached(arm) for arm in arms) // block * block + block
                for arm in arms:
                    yield from self._visit(arm, tasks[:reached])

    def _reached(self, arm: int) -> int:
        """Return how many conversations an arm has finished in a row from the first."""
        tasks = self._plan.tasks
        unfinished = (
            place for place, task in enumerate(tasks) if len(self._outcomes(arm, task)) < self._plan.repeats
        )
        return next(unfinished, len(tasks))


class LevelSweep(RunStrategy):
    """`--sweep OPTION=LEVEL,…`."""

    name = "sweep"

    def adapted(self, config: RunConfig) -> RunConfig:
        sweep = config.part(Strategies).sweep or ""
        option, levels = swept(sweep)
        if config.is_changed(option.name):
            raise RigError(f"--sweep {sweep} and {option.flag} both set its levels; give one of them")
        return config.replace(**{option.name: levels})

    def schedule(self, config: RunConfig, arms: Sequence[Arm]) -> Sweep:
        sweep = config.part(Strategies).sweep or ""
        option, levels = swept(sweep)
        names = [arm.name for arm in arms]
        curves = curves_of(names, option.name, levels).values()
        if sum(map(len, curves)) < len(arms) or {*map(len, curves)} != {len(levels)}:
            raise RigError(f"--sweep {sweep}: {option.flag} has no effect on some of these models")
        positions = (tuple(names.index(curve[level]) for level in range(len(levels))) for curve in curves)
        return Sweep(tuple(map(level_name, levels)), tuple(positions), config.loss / 100)


SWEEP = LevelSweep()
