"""How the world ends: as the true calls leave it, and as an assistant's own calls do."""

from collections.abc import Sequence
from dataclasses import dataclass

from rig.calls import Call, ExecutedCall
from rig.methods.dynamic.said import Fact, asked_for
from rig.methods.dynamic.tasks import LiveTask
from rig.methods.tooltalk.replay import replay
from rig.toolbox.content import Differences
from rig.toolbox.simulator import Simulator
from rig.toolbox.world import Snapshot
from rig.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class TrueEnd:
    """The world after the true conversation, and what the user was told of what tools returned."""

    world: Snapshot
    told: tuple[Fact, ...]


def true_end(task: LiveTask, simulator: Simulator) -> TrueEnd:
    """Play the true conversation to the end."""
    turns: list[tuple[list[str], Sequence[ExecutedCall], str]] = []
    words: list[str] = []
    world = None
    for _, turn, before, calls in replay(task.conversation, simulator):
        world = before
        if turn.role == "user":
            words.append(turn.text)
            continue
        if calls:
            # Its calls are the last that were executed.
            world = simulator.snapshot()
        turns.append((words, calls, turn.text))
        words = []
    assert world is not None
    return TrueEnd(world, asked_for(turns, simulator.drawn(world)))


@dataclass(frozen=True, slots=True)
class Ended:
    """How the world that an assistant acted in differs, and what each of its calls that was not due adds."""

    differences: Differences
    by_call: dict[int, Differences]


def ended(
    task: LiveTask,
    calls: Sequence[ExecutedCall],
    verdicts: Sequence[Verdict],
    expected: Snapshot,
    simulator: Simulator,
) -> Ended:
    """Let an assistant's calls happen again, and hold the world against the expected one.

    A call that was found to be a true one is executed as that: texts that mean the same are the same then.
    """
    truths = dict(task.truths(simulator.toolbox))
    simulator.start(*task.conversation.start, recorded=task.conversation.ground_truth)
    by_call = {}
    for number, (call, verdict) in enumerate(zip(calls, verdicts, strict=True)):
        truth = truths[verdict.ground_truth] if verdict.ground_truth is not None else None
        before = simulator.snapshot()
        simulator.execute(_without(simulator, truth.call if truth else call.call))
        if truth is None and (changed := simulator.compare(before, simulator.snapshot())):
            by_call[number] = changed
    return Ended(simulator.compare(expected, simulator.snapshot()), by_call)


def _without(simulator: Simulator, call: Call) -> Call:
    """A call without what no model writes."""
    injected = simulator.toolbox.injected
    if not isinstance(call.arguments, dict):
        return call
    return Call(call.name, {name: value for name, value in call.arguments.items() if name not in injected})
