"""A trial: a part of a run that is played for its time alone, and kept nowhere."""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from rig.calls import ByName
from rig.events import ArmReady, ConversationFinished, Event, TurnFinished
from rig.running.control import Control
from rig.running.plan import Plan
from rig.running.runner import run
from rig.tasks import in_random_order


@dataclass(frozen=True, slots=True)
class ArmPace(ByName):
    """How fast an arm plays: the conversations it finished and the turns it made in so many seconds.

    Loading its model took `load_s` before that.
    """

    arm: str
    conversations: int
    turns: int
    seconds: float
    load_s: float

    def seconds_for(self, turns: float) -> float | None:
        """How long so many turns take, with the loading; None if no turn was made."""
        return self.load_s + turns * self.seconds / self.turns if self.turns else None


def try_out(plan: Plan, seconds: float, seed: int = 0) -> list[ArmPace]:
    """Have each arm of a plan play its tasks, in a random order, for so many seconds and no longer.

    The turn under way then is not counted. Raises RigError for an arm that cannot be loaded.
    """
    tasks = tuple(in_random_order(plan.tasks, seed))
    paces = []
    with TemporaryDirectory(prefix="rig-trial-") as folder:
        for number, arm in enumerate(plan.arms):
            store = Path(folder) / f"{number}.sqlite"
            part = replace(plan, store=store, arms=(arm,), tasks=tasks, repeats=1, until=None, resume=False)
            paces.append(_Stopwatch(arm.name, seconds).time(part))
    return paces


class _Stopwatch:
    """Listens to a run of one arm, and stops it in time."""

    def __init__(self, arm: str, limit_s: float) -> None:
        self._limit_s = limit_s
        self._pace = ArmPace(arm, 0, 0, 0.0, 0.0)
        self._began: float | None = None
        self._control = Control()

    def time(self, plan: Plan) -> ArmPace:
        run(plan, self._tell, self._control)
        return self._pace

    def _tell(self, event: Event) -> None:
        now, pace = monotonic(), self._pace
        if isinstance(event, ArmReady):
            self._began = now
            self._pace = replace(pace, load_s=event.seconds)
        elif self._began is None:
            return
        elif isinstance(event, TurnFinished):
            self._pace = replace(pace, turns=pace.turns + 1, seconds=now - self._began)
        elif isinstance(event, ConversationFinished):
            self._pace = replace(pace, conversations=pace.conversations + 1)
        if self._began is not None and now - self._began > self._limit_s:
            self._control.stop()
