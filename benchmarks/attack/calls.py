"""Calls that no model should write, executed in the world: none raises, and a failed one changes nothing."""

from functools import cache
from random import Random
from typing import Any

from benchmarks.attack.campaign import Broken, main
from benchmarks.attack.hostile import changed, text, value
from rig import methods
from rig.core.calls import Call
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.world import ToolTalkWorld
from rig.world.toolbox import Simulator


@cache
def _simulator(compat: bool) -> Simulator:
    return Simulator(ToolTalkWorld.open(), TOOLTALK, upstream_compat=compat)


@cache
def _tasks() -> list[Any]:
    """The conversations that come with rig, whose ground truth goes through."""
    method, place = methods.suites()["hard"]
    return list(method.load(place))


def case(random: Random) -> str:
    """A conversation's true calls up to one that is true but for some places, or anything at all."""
    simulator = _simulator(random.random() < 0.25)
    task = random.choice(_tasks())
    simulator.start(*task.start, recorded=task.ground_truth)
    *earlier, true = task.ground_truth[: random.randrange(1, len(task.ground_truth) + 1)]
    for call in earlier:
        simulator.execute(Call(call.name, call.arguments))
    arguments = changed(random, true.arguments) if random.random() < 0.7 else value(random)
    name = true.name if random.random() < 0.9 else text(random)
    before = simulator.snapshot()
    executed = simulator.execute(Call(name, arguments))
    failed = executed.outcome.exception is not None
    if failed and not simulator._compat and simulator.snapshot() != before:
        raise Broken(f"{name} failed and changed the world: {arguments!r}"[:400])
    return "failed" if failed else "went through"


if __name__ == "__main__":
    main("calls", case, 1000)
