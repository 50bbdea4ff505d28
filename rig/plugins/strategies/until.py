"""Runs until a verdict: which arms are still undecided, and which conversations they play next.

Every arm is compared with the first, conversation by conversation in the plan's random order. A conversation
counts once both have finished it and all those before it, so it does not matter which ends first. If the
first arm got a conversation wrong, no arm can lose it. So it counts as one that ended alike, the worst case,
and is not played until wins matter.

The verdict is about the files, in conversations like these, as those of gates and comparisons are. About the
suite alone (`in_suite`) it comes sooner, and says less: of two equally good files, one gets more right.

Every arm plays the first conversation. From then on they take turns in blocks, with the first arm ahead. So
no arm plays more conversations than it takes to decide on it, and if memory does not hold the models of all
arms, each is loaded a dozen times instead of once for every conversation.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rig.config.options import RunConfig
from rig.core.errors import RigError
from rig.core.events import EvidenceMoved, Where
from rig.core.metrics import Counts, Remark
from rig.core.tasks import Task
from rig.plugins.strategies.options import Strategies
from rig.plugins.strategies.sequential import DifferenceBounds, Evidence, LossTest
from rig.running.plan import Arm, Plan
from rig.running.strategy import RunStrategy, Schedule, Scheduler, Visit
from rig.stats.rates import OutcomeBounds
from rig.store import Cell

ROUNDS = 16
"""Roughly the most times that every model is loaded."""

CAUTION = Remark(
    "the run stopped arms by their results, and they skipped conversations that the first got wrong; rates of"
    " what they played would be biased, so there are bounds, with everything unplayed as wrong or as right",
)


class Deciding(Scheduler):
    """The state of a run until a verdict. It takes in finished conversations and says what to play next."""

    def __init__(self, plan: Plan, size: float, cells: Iterable[Cell], *, in_suite: bool = False) -> None:
        self._plan, self._in_suite = plan, in_suite
        self._won: dict[Where, OutcomeBounds] = {}
        self._turns: dict[Where, int] = {}
        self._failed: set[int] = set()
        self._evidence: dict[int, Evidence] = {}
        for cell in cells:
            where = Where(cell.arm, cell.conversation, cell.repeat)
            self._turns[where] = cell.turns_done
            if cell.counts is not None:
                self._won[where] = OutcomeBounds.of(plan.declaration, cell.counts)
        self._begin(size)

    def _begin(self, size: float) -> None:
        """Evaluate what earlier starts of the run left."""
        others = range(1, len(self._plan.arms))
        repeats, tasks = self._plan.repeats, len(self._plan.tasks)
        of = tasks if self._in_suite else None
        self._test = LossTest(size, of, arms=max(len(others), 1), step=1 / repeats)
        self._soonest = self._test.soonest(tasks)
        for arm in others:
            self._evidence[arm] = self._test.evidence(self.differences(arm))

    def finished(self, where: Where, counts: Counts) -> list[EvidenceMoved]:
        """Take in a conversation that an arm has finished. Return the arms' evidence that this changed."""
        self._won[where] = OutcomeBounds.of(self._plan.declaration, counts)
        moved = []
        for arm in self.undecided if where.arm == 0 else [where.arm]:
            before, now = self._evidence[arm], self._test.evidence(self.differences(arm))
            if now != before:
                self._evidence[arm] = now
                is_new = now.found is not None and before.found is None
                left = self._unplayed(arm) if is_new else {}
                moved.append(
                    EvidenceMoved(arm, now.text, now.as_json(), is_new, sum(left.values()), len(left))
                )
        return moved

    def _unplayed(self, arm: int) -> dict[Where, int]:
        """Return the unfinished conversations of an arm, with the number of turns still to be played."""
        return {
            where: max(len(task.known_turns) - self._turns.get(where, 0), 0)
            for task in self._plan.tasks
            for where in self._repeats(arm, task)
            if where not in self._won
        }

    def differences(self, arm: int) -> DifferenceBounds:
        """Return the arm's outcomes minus the first's, for the conversations that both have finished."""
        outcomes = ((self._outcomes(0, task), self._outcomes(arm, task)) for task in self._plan.tasks)
        return DifferenceBounds.of_outcomes(outcomes, self._plan.repeats)

    def _outcomes(self, arm: int, task: Task) -> list[OutcomeBounds]:
        """Return an arm's outcomes of a conversation, one for each time that it has finished it."""
        return [self._won[where] for where in self._repeats(arm, task) if where in self._won]

    @property
    def undecided(self) -> list[int]:
        """The arms that still have to be played."""
        open_arms = (arm for arm, evidence in self._evidence.items() if evidence.found is None)
        return [arm for arm in open_arms if arm not in self._failed]

    def is_over(self, arm: int) -> bool:
        """Return whether the arm is played no further; the first is played while any other is undecided."""
        return arm not in self.undecided if arm else not self.undecided

    @property
    def is_complete(self) -> bool:
        """Whether every arm has played every conversation nevertheless."""
        return not any(self._unplayed(arm) for arm in range(len(self._plan.arms)))

    def decided(self, arm: int) -> str | None:
        """Return the verdict on an arm, in a line, or that unclear texts decide it; else None."""
        evidence = self._evidence.get(arm)
        return evidence.text if evidence and (evidence.found or evidence.is_for_texts) else None

    def failed(self, arm: int) -> None:
        """Give an arm up; without the first, the others cannot be compared and are given up too."""
        self._failed |= set(range(len(self._plan.arms))) if arm == 0 else {arm}

    def visits(self) -> Iterator[Visit]:
        """Yield which arm plays what next, until all is decided. Play each before requesting the next."""
        for arm in (0, *self.undecided):
            yield from self._visit(arm, self._plan.tasks[:1])  # so that each is known to work
        before = -1
        block = math.ceil(len(self._plan.tasks) / ROUNDS)
        while self.undecided and len(self._won) > before:
            before = len(self._won)
            # The conversations so far and the next: as many as any arm needs, and enough to load a model for.
            # Blocks end where they ended before a run was interrupted.
            begin = min(len(self.differences(arm)) for arm in self.undecided) + 1
            blocks = math.ceil(max(begin - self._soonest, 0) / block)
            reached = self._plan.tasks[: self._soonest + blocks * block]
            yield from self._visit(0, reached)
            for arm in self.undecided:
                # Where the first arm got nothing right, even at most, no arm can lose.
                can_lose = [task for task in reached if any(won.most for won in self._outcomes(0, task))]
                yield from self._visit(arm, can_lose)
                if self._test.wins_matter(self.differences(arm)):
                    yield from self._visit(arm, reached)
        # What is left can only have been won. Where even that may not decide, it makes the rates whole.
        for arm in self.undecided:
            yield from self._visit(arm, self._plan.tasks)

    def _visit(self, arm: int, tasks: Sequence[Task]) -> Iterator[Visit]:
        """Yield what an arm has not played of these, unless it has been decided on."""
        left = [
            (where, task) for task in tasks for where in self._repeats(arm, task) if where not in self._won
        ]
        if left and not self.is_over(arm):
            yield arm, left

    def _repeats(self, arm: int, task: Task) -> list[Where]:
        return [Where(arm, task.name, repeat) for repeat in range(self._plan.repeats)]


@dataclass(frozen=True, slots=True)
class UntilVerdict(Schedule):
    """Arms are played until it is clear whether they lose this much, a fraction, against the first.

    It is about conversations like these or, with `in_suite`, about the tasks of the run alone.
    """

    size: float
    in_suite: bool = False

    caution = CAUTION
    has_bounds = True

    def check(self, plan: Plan) -> None:
        if len(plan.arms) < 2:
            raise RigError("--until verdict compares arms with the first; give a second model or setting")
        if plan.declaration.success_metric is None:
            raise RigError(f"--until verdict: the method {plan.method.name} does not say what succeeds")

    def begin(self, plan: Plan, cells: Iterable[Cell]) -> Deciding:
        return Deciding(plan, self.size, cells, in_suite=self.in_suite)


class Until(RunStrategy):
    """`--until verdict`."""

    name = "until"

    def schedule(self, config: RunConfig, arms: Sequence[Arm]) -> UntilVerdict:
        return UntilVerdict(config.loss / 100, config.part(Strategies).until == "verdict-in-suite")


UNTIL = Until()
