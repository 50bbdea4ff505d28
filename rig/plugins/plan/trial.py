"""A trial: part of a run that is played only to time it, and is not kept."""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from rig.core.calls import ByName
from rig.core.events import ArmReady, ConversationFinished, Event, TurnFinished
from rig.core.tasks import in_random_order
from rig.running.control import Control
from rig.running.plan import Plan
from rig.running.runner import run


@dataclass(frozen=True, slots=True)
class ArmPace(ByName):
    """How fast an arm plays: the conversations that it finished and the turns that it made in some `seconds`.

    Loading its model took `load_s` before that.
    """

    arm: str
    conversations: int
    turns: int
    seconds: float
    load_s: float

    def seconds_for(self, turns: float) -> float | None:
        """Return how long this many turns take, loading included; None if no turn was made."""
        return self.load_s + turns * self.seconds / self.turns if self.turns else None


def try_out(plan: Plan, seconds: float, seed: int = 0) -> list[ArmPace]:
    """Have each arm of a plan play its tasks in a random order, for this many seconds.

    The turn in progress at the end is not counted. Raises RigError for an arm that cannot be loaded.
    """
    tasks = tuple(in_random_order(plan.tasks, seed))
    paces = []
    with TemporaryDirectory(prefix="rig-trial-") as folder:
        for number, arm in enumerate(plan.arms):
            store = Path(folder) / f"{number}.sqlite"
            part = replace(
                plan, store=store, arms=(arm,), tasks=tasks, repeats=1, schedule=None, resume=False
            )
            paces.append(_pace(part, seconds))
    return paces


def _pace(plan: Plan, limit_s: float) -> ArmPace:
    """Return how fast the one arm of a plan plays, which is stopped at the limit."""
    pace = ArmPace(plan.arms[0].name, 0, 0, 0.0, 0.0)
    began: float | None = None
    control = Control()

    def listen(event: Event) -> None:
        nonlocal pace, began
        now = monotonic()
        if isinstance(event, ArmReady):
            began, pace = now, replace(pace, load_s=event.seconds)
        elif began is not None and isinstance(event, TurnFinished):
            pace = replace(pace, turns=pace.turns + 1, seconds=now - began)
        elif began is not None and isinstance(event, ConversationFinished):
            pace = replace(pace, conversations=pace.conversations + 1)
        if began is not None and now - began > limit_s:
            control.stop()

    run(plan, listen, control)
    return pace
