"""Compare a served arm with the same file in process: which turns differ, why, and when each calls at all.

The requests are rebuilt from what is stored: an episode is resumed up to a turn, with the stored answers.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from rig.core.calls import JsonObject
from rig.core.errors import ErrorKind
from rig.core.events import Where
from rig.core.models import Model, Prediction, Request
from rig.core.tasks import PlayedTurn, Task, turn_number
from rig.plugins.paths.difference import messages
from rig.running.stored_state import StoredState
from rig.stats.rates import interval

MOST = 200
"""The most differing turns of an arm that are examined."""
LEVEL = 0.05
_Place: TypeAlias = tuple[Task, int, int]
"""A task, the repeat and the turn."""


class TwinComparison:
    """One served arm and its reference, turn by turn."""

    def __init__(self, state: StoredState, position: int, reference: int) -> None:
        self._state, self._arms = state, (reference, position)
        self._tasks = {task.name: task for task in state.plan.tasks}
        self._episodes = sorted(
            (where.repeat, where.conversation)
            for where in state.cells
            if where.arm == position
            and state.is_finished(where)
            and state.is_finished(replace(where, arm=reference))
        )
        self._alike = self._following = self._others = 0
        self._causes: list[JsonObject] = []
        self._triggers: dict[str, Counter[str]] = {name: Counter() for _, name in self._episodes}

    def attributed(self, served: Model, load: Callable[[], Model]) -> JsonObject:
        """Return what differs and why, for the store. The reference is loaded only if anything does.

        `follows` counts the turns whose history differed, `others` those that were not examined.
        """
        from rig.plugins.served.attribution import ReferenceModel, attribute
        from rig.plugins.served.model import ServedModel

        assert isinstance(served, ServedModel)
        reference: ReferenceModel | None = None
        for (task, repeat, turn), mine, theirs, is_alike in self._differing():
            if len(self._causes) >= MOST:
                self._others += 1
                continue
            reference = reference or ReferenceModel(load())
            request, answer = mine
            cause = attribute(request, answer, theirs, reference, served)
            if not _differ(answer, theirs) and cause.kind not in ("calls", "reasoning"):
                # Nothing was wrong with what is only odd; a later step of the turn may differ.
                self._alike += is_alike
                self._following += not is_alike
                continue
            where = {"conversation": task.name, "repeat": repeat, "turn": turn_number(task, turn)}
            self._causes.append({"cause": cause.kind, "detail": cause.detail, **where})
        counts = {kind: np.array([of[kind] for of in self._triggers.values()], float) for kind in _KINDS}
        return {
            "reference": self._state.plan.arms[self._arms[0]].name,
            "alike": self._alike,
            "follows": self._following,
            "others": self._others,
            "causes": self._causes,
            "counts": {kind: int(values.sum()) for kind, values in counts.items()},
            **(_rates(counts) if self._triggers else {}),
            "noise_band": self._noise_band(),
        }

    def _differing(self) -> Iterator[tuple[_Place, tuple[Request, Prediction], Prediction, bool]]:
        """Yield each turn whose answers differ or are odd: its place, request, and both answers at the first
        such step.

        The last value says whether the turn counts as alike nevertheless.
        """
        for repeat, name in self._episodes:
            played = [self._state.played(Where(arm, name, repeat)) for arm in self._arms]
            for number, (mine, theirs) in enumerate(zip(*played, strict=False)):
                ours, other = _messages(mine), _messages(theirs)
                self._count(name, ours, other)
                pairs = list(zip(ours, other, strict=False))
                step = next((n for n, pair in enumerate(pairs) if _differ(*pair) or _is_odd(*pair)), None)
                if step is None:
                    self._alike += 1
                    continue
                requests = [
                    self._request(arm, self._tasks[name], repeat, turns[: number + 1], step)
                    for arm, turns in zip(self._arms, played, strict=True)
                ]
                is_alike = not any(_differ(*pair) for pair in pairs)
                if requests[0] is None or requests[0] != requests[1]:
                    self._alike += is_alike
                    self._following += not is_alike
                else:
                    place = self._tasks[name], repeat, mine.turn
                    yield place, (requests[0], ours[step]), other[step], is_alike

    def _request(
        self, position: int, task: Task, repeat: int, turns: Sequence[PlayedTurn], step: int
    ) -> Request | None:
        """Return the arm's request at a step of the last of these turns; None if another role's."""
        plan = self._state.plan
        where = Where(position, task.name, repeat)
        episode = plan.setup.start(task, plan.arms[position].settings, where, lambda _event: None, 0)
        *before, last = turns
        for played in before:
            episode.resume(played)
        playing = episode.play()
        ask = next(playing)
        for message in _messages(last)[:step]:
            ask = playing.send(message)
        return ask.request if ask.role == plan.method.roles[0] else None

    def _count(self, name: str, ours: Sequence[Prediction], theirs: Sequence[Prediction]) -> None:
        """Count whether each calls as the turn begins, and how many of the server's calls fit a schema."""
        mine, other = _calls(ours[0]), _calls(theirs[0])
        kind = ("tp" if mine else "fp") if other else ("fn" if mine else "tn")
        calling = [message for message in theirs if _calls(message)]
        self._triggers[name].update({kind: 1, "calling": len(calling)})
        self._triggers[name]["valid"] += sum(message.call is not None for message in calling)

    def _noise_band(self) -> list[float] | None:
        """Return the least and the mean trigger F1 between the reference's repeats; None for a single one."""
        turns: dict[int, dict[tuple[str, int], bool]] = {}
        for repeat, name in self._episodes:
            for played in self._state.played(Where(self._arms[0], name, repeat)):
                turns.setdefault(repeat, {})[name, played.turn] = _calls(_messages(played)[0])
        repeats = list(turns.values())
        scores = [_f1(one, other) for n, one in enumerate(repeats) for other in repeats[:n]]
        return [min(scores), sum(scores) / len(scores)] if scores else None


_KINDS = ("tp", "fp", "fn", "tn", "calling", "valid")


def _rates(counts: Mapping[str, Any]) -> JsonObject:
    """Return trigger F1 and schema accuracy as the K2 vendor verifier defines them, over conversations."""
    hits = 2 * counts["tp"]
    estimates = {
        "trigger_f1": interval(hits, hits + counts["fp"] + counts["fn"], LEVEL),
        "schema_accuracy": interval(counts["valid"], counts["calling"], LEVEL),
    }
    return {name: [rate.value, rate.low, rate.high] for name, rate in estimates.items()}


def _f1(reference: dict[tuple[str, int], bool], other: dict[tuple[str, int], bool]) -> float:
    pairs = Counter((reference[turn], other[turn]) for turn in reference.keys() & other.keys())
    hits, misses = 2 * pairs[True, True], pairs[True, False] + pairs[False, True]
    return hits / (hits + misses) if hits + misses else 1.0


def _messages(played: PlayedTurn) -> list[Prediction]:
    return [message.prediction for message in messages(played.steps)]


def _differ(mine: Prediction, theirs: Prediction) -> bool:
    return (mine.calls, mine.reply, mine.error) != (theirs.calls, theirs.reply, theirs.error)


def _is_odd(mine: Prediction, theirs: Prediction) -> bool:
    """Return whether answers count as alike, but might not to a client less lenient than rig's."""
    names = [[list(call.arguments) for call in message.calls] for message in (mine, theirs)]
    words = [message.content.strip() for message in (mine, theirs)]
    is_overlooked = any(note.startswith(("arguments", "two calls")) for note in theirs.notes)
    return (
        is_overlooked
        or names[0] != names[1]
        or words[0] != words[1]
        or bool(mine.reasoning) > bool(theirs.reasoning)
    )


def _calls(message: Prediction) -> bool:
    """Return whether an answer calls a tool, validly or not."""
    is_call_of_server = message.raw.startswith('{"content": ') and '"tool_calls"' in message.raw
    return message.call is not None or (
        message.error is ErrorKind.INVALID and (is_call_of_server or "{" in message.raw)
    )
