"""Strategies: which conversations of which arm are played next.

A plugin registers a `RunStrategy` (`registry.strategies`). The options of a run choose it, and it makes the
schedule of the run's plan (`rig.running.plan`). The scheduler that begins from it takes in finished
conversations. Without a strategy, every arm plays all its conversations in order.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from rig.config.options import RunConfig
from rig.core.events import EvidenceMoved, Where
from rig.core.metrics import NO_REMARK, Counts, Remark
from rig.core.tasks import Task
from rig.store import Cell

Visit: TypeAlias = tuple[int, list[tuple[Where, Task]]]
"""An arm, and what it plays next."""


class Scheduler:
    """The state of one run. It takes in finished conversations and says what to play next."""

    @property
    def is_complete(self) -> bool:
        """Whether every arm has played every conversation nevertheless."""
        return False

    def visits(self) -> Iterator[Visit]:
        """Yield which arm plays what next. What is yielded is played before the next is asked for."""
        raise NotImplementedError

    def finished(self, where: Where, counts: Counts) -> Sequence[EvidenceMoved]:
        """Take in a conversation that an arm has finished. Return what is known now and was not before."""
        return ()

    def is_over(self, arm: int) -> bool:
        """Return whether the arm is played no further."""
        return False

    def decided(self, arm: int) -> str | None:
        """Return what is decided on an arm, in a line, for the store."""
        return None

    def failed(self, arm: int) -> None:
        """Give up an arm that failed."""


class Schedule:
    """What the options of a run say about its order. `caution` is printed wherever the run's rates are."""

    caution: Remark = NO_REMARK
    has_bounds = False
    """Whether rates are bounds, with everything unplayed as wrong or as right."""

    def check(self, plan: Any) -> None:
        """Raise RigError if a plan cannot be played so."""

    def begin(self, plan: Any, cells: Iterable[Cell]) -> Scheduler:
        """Return the scheduler of a run that has finished these cells before, if any."""
        raise NotImplementedError


class RunStrategy:
    """A way to order what a run plays. If it is chosen, tasks are in a random order (`--seed`).

    `name` is the option that chooses it, `config` has those of the run.
    """

    name: str

    def is_chosen(self, config: RunConfig) -> bool:
        """Return whether the options choose it."""
        return bool(config.values(self.name)[0])

    def adapted(self, config: RunConfig) -> RunConfig:
        """Return the options of a new run as they hold with this strategy. Raises RigError."""
        return config

    def schedule(self, config: RunConfig, arms: Sequence[Any]) -> Schedule:
        """Return the schedule of a plan with these arms. Raises RigError."""
        raise NotImplementedError
