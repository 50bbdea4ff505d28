"""Ways to play a conversation with given calls, without a model or a protocol."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from counted import measured

from rig.core.calls import Call, ExecutedCall, Verdict
from rig.plugins.matching.matching import Grader, Mode
from rig.plugins.tooltalk.conversations import Conversation, load_directory
from rig.plugins.tooltalk.faults import Acted
from rig.plugins.tooltalk.scoring import ErrorType, count, error_types
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.seeds import world_from
from rig.plugins.tooltalk_tools.world import ToolTalkWorld
from rig.scoring import Exact
from rig.world.toolbox import Simulator
from rig.world.world import Snapshot

Predictions = Mapping[int, Sequence[Call]]


@dataclass(frozen=True)
class Played:
    """What came of a conversation."""

    calls: list[ExecutedCall]
    verdicts: list[Verdict]
    metrics: SimpleNamespace
    errors: Counter[ErrorType]


@pytest.fixture(scope="session")
def upstream_conversations(tooltalk: Path) -> dict[str, Conversation]:
    """Every public conversation at hand, by name."""
    directories = [tooltalk / "data" / part for part in ("easy", "tooltalk")]
    found = [each for directory in directories if directory.is_dir() for each in load_directory(directory)]
    return {conversation.name: conversation for conversation in found}


@pytest.fixture(scope="session")
def upstream_world(tooltalk: Path) -> Iterator[ToolTalkWorld]:
    world = world_from(tooltalk / "data" / "databases")
    yield world
    world.close()


@pytest.fixture
def play(upstream_world: ToolTalkWorld) -> Iterator[Callable[..., Played]]:
    """Plays a conversation in the public world, with predictions by turn (ToolTalk's Algorithm 1)."""
    base = upstream_world.snapshot()

    def play(conversation: Conversation, predictions: Predictions, mode: Mode = "upstream") -> Played:
        upstream_world.restore(base)
        return _play(
            Simulator(upstream_world, TOOLTALK, upstream_compat=mode == "upstream"),
            conversation,
            predictions,
            mode,
        )

    yield play
    upstream_world.restore(base)


def _play(simulator: Simulator, conversation: Conversation, predictions: Predictions, mode: Mode) -> Played:
    simulator.start(*conversation.start)
    positions = list(conversation.ground_truth_positions())
    ground_truth = []
    states: dict[int, Snapshot] = {}
    for position, recorded in zip(positions, conversation.ground_truth, strict=True):
        states.setdefault(position[0], simulator.snapshot())
        replayed = simulator.execute(recorded.call)
        ground_truth.append((position, replace(recorded, username=replayed.username)))
    end = simulator.snapshot()
    matching = Grader(mode, Exact(), TOOLTALK).start(ground_truth)
    turns, calls, live = [], [], []
    for turn in conversation.known_turns:
        # The state before a turn without true calls is that before the next turn that has some.
        simulator.restore(next((states[index] for index in sorted(states) if index >= turn), end))
        for call in predictions.get(turn, ()):
            calls.append(simulator.execute(call))
            live.append(matching.add(turn, calls[-1]))
            turns.append(turn)
    verdicts = matching.verdicts()
    assert [(v.match, v.bad_action) for v in live] == [(v.match, v.bad_action) for v in verdicts]
    errors: Counter[ErrorType] = Counter()
    done: dict[int, list[tuple[ExecutedCall, Verdict]]] = {}
    for turn, call, verdict in zip(turns, calls, verdicts, strict=True):
        done.setdefault(turn, []).append((call, verdict))
    acted = {turn: Acted(tuple(pairs)) for turn, pairs in done.items()}
    for found in error_types(acted, ground_truth).values():
        errors += found
    return Played(
        calls, verdicts, measured(count(matching.judged(), len(ground_truth), TOOLTALK.is_action)), errors
    )
