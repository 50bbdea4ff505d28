"""What an arm has achieved so far: the running sums in events, both live and in a replay."""

from collections import Counter
from dataclasses import asdict, dataclass, field, fields

from rig.events import Speed
from rig.meters import Costs
from rig.metrics import Counts, total
from rig.models import Usage
from rig.tasks import PlayedTurn

_SPEED = tuple(part.name for part in fields(Speed))
_USAGE = frozenset(part.name for part in fields(Usage)).intersection(_SPEED)


@dataclass(slots=True)
class Totals:
    """What an arm has achieved so far."""

    counts: Counts = field(default_factory=dict)
    speed: Speed = field(default_factory=Speed)
    errors: Counter[str] = field(default_factory=Counter)

    def add(self, played: PlayedTurn, store_s: float, costs: Costs | None = None) -> None:
        """Count a turn's tokens, seconds and errors; `costs` are the arm's so far."""
        sums = {name: getattr(self.speed, name) for name in _SPEED}
        for step in played.steps:
            for name in _USAGE:
                sums[name] += getattr(step.prediction.usage, name)
        sums["steps"] += len(played.steps)
        sums["tools_s"] += played.tools_s
        sums["scoring_s"] += played.scoring_s
        sums["store_s"] += store_s
        sums["wall_s"] += played.wall_s + store_s
        is_measured = sums["cpu_s"] is not None and played.cpu_s is not None
        sums["cpu_s"] = sums["cpu_s"] + played.cpu_s if is_measured else None
        self.speed = Speed(**{**sums, **(asdict(costs) if costs else {})})
        self.errors.update(errors_of(played))

    def add_score(self, counts: Counts) -> None:
        """Count a conversation that is finished."""
        self.counts = total((self.counts, counts))


def errors_of(played: PlayedTurn) -> list[str]:
    """The kinds of the errors in a turn, each as often as it occurred."""
    return [str(step.prediction.error) for step in played.steps if step.prediction.error]
