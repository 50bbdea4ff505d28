"""What a dial is: a setting of how much harder a task is made before a model sees it.

A dial is declared once and registered (`rig.core.registry`). Its levels are values of an option of the same
name, and each level is an arm. The world, the ground truth and the grader stay the same.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from rig.config.options import TABLE, Option
from rig.core import registry
from rig.core.calls import Call, ExecutedCall, JsonObject, Outcome
from rig.core.errors import RigError
from rig.core.metrics import Counts, Declaration, Metric, Score
from rig.core.models import Message, ToolDoc
from rig.core.tasks import PlayedTurn
from rig.world.toolbox import Simulator, Toolbox
from rig.world.world import World

Counting: TypeAlias = Callable[[Sequence[PlayedTurn]], Counts]
"""A function that counts something in the played turns of a task."""


class Attempt(NamedTuple):
    """A call that is about to be made: its turn, its step's number, and the earlier calls of the turn."""

    turn: int
    step: int
    call: Call
    before: tuple[ExecutedCall, ...]


def _nothing(_attempt: Attempt) -> None:
    return None


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Presentation:
    """How a task is presented to a model, which is all that dials change.

    The model is offered `tools`, and reads the messages `before` the conversation. `hears` turns a line of
    the user into the one that the model reads, and `instructs` does so with the instructions. `fails` returns
    the exception with which a call fails, or None. `returns` turns an executed call into the one that the
    model sees, and `cleaned` undoes this for the grader. Calls of `distractors` are answered without the
    world. `counting` makes the counts for the metrics of dials.
    """

    task: Any
    tools: tuple[ToolDoc, ...] = ()
    before: tuple[Message, ...] = ()
    hears: Callable[[str], str] = _same
    instructs: Callable[[str], str] = _same
    fails: Callable[[Attempt], str | None] = _nothing
    returns: Callable[[ExecutedCall], ExecutedCall] = _same
    cleaned: Callable[[ExecutedCall], ExecutedCall] = _same
    distractors: Toolbox | None = None
    counting: tuple[Counting, ...] = ()

    def executed(self, attempt: Attempt, simulator: Simulator) -> ExecutedCall:
        """Execute a call and return it as the model sees it."""
        call = attempt.call
        if (exception := self.fails(attempt)) is not None:
            return ExecutedCall(call, Outcome(exception=exception), simulator.world.username)
        if self.distractors is not None and call.name in self.distractors.tools:
            simulator = Simulator(World(), self.distractors)
        return self.returns(simulator.execute(call))

    def cleaned_turns(self, played: Iterable[PlayedTurn]) -> list[PlayedTurn]:
        """Return the turns with what the tools really returned."""
        if self.cleaned is _same:
            return list(played)
        clean = self.cleaned
        return [
            replace(
                turn, steps=tuple(replace(s, executed=s.executed and clean(s.executed)) for s in turn.steps)
            )
            for turn in played
        ]

    def scored(self, score: Score, played: Sequence[PlayedTurn]) -> Score:
        """Return a score with the counts of the dials added."""
        counts = {name: n for counting in self.counting for name, n in counting(played).items()}
        return replace(score, counts={**score.counts, **counts}) if counts else score


Apply: TypeAlias = Callable[[Presentation, int, Any, Toolbox], Presentation]
"""Changes a presentation, given a seed, a level and the toolbox. Equal arguments give equal results. Raises
RigError for a level that this task cannot be played at.
"""


@dataclass(frozen=True, slots=True)
class Dial:
    """A dial. At its `neutral` level it does nothing, and is not applied.

    `metrics` are made from its counts. `version` is raised with every change of what a level does. A
    plugin's dial is set with `--set NAME=LEVEL`, and its `help` is shown there.
    """

    name: str
    neutral: Any
    apply: Apply
    metrics: tuple[Metric, ...] = ()
    version: str = "1"
    help: str = ""


def options() -> tuple[Option, ...]:
    """Return the option of each dial and of their seed, for the `options` of a method that has dials."""
    dials = registry.registered().dials
    own = (
        TABLE.get(name)
        or Option(
            name,
            dials[name].neutral,
            several=True,
            commas=True,
            key=f"stress.{name}",
            kind=type(dials[name].neutral),
            help=dials[name].help,
        )
        for name in dials
    )
    return (*own, TABLE["seed"])


@dataclass(frozen=True, slots=True)
class Stress:
    """The dials that are not neutral, each with its level, in the order in which they are applied."""

    levels: tuple[tuple[str, Any], ...] = ()
    seed: int = 0

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Stress":
        """Read the levels from a run's options. Raises RigError for an invalid one, as in a foreign store."""
        levels = []
        for dial in options():
            if (level := values.get(dial.name, dial.default)) != dial.default and dial.commas:
                try:
                    (value,) = dial.levels(str(level))
                except (RigError, ValueError) as error:
                    raise RigError(f"{dial.flag}: {error}") from error
                levels.append((dial.name, value))
        return cls(tuple(levels), values.get("seed", 0) if levels else 0)

    def __bool__(self) -> bool:
        return bool(self.levels)

    @property
    def fingerprint(self) -> JsonObject:
        """The levels by `stress.NAME`, a hash of the dials' versions, and the seed; empty without dials."""
        if not self.levels:
            return {}
        versions = "".join(f"{name} {dial.version}\n" for name, dial, _ in self._dials())
        digest = hashlib.sha256(versions.encode()).hexdigest()
        levels = {f"stress.{name}": level for name, level in self.levels}
        return {**levels, "stress_sha256": digest, **({"stress_seed": self.seed} if self.seed else {})}

    def _dials(self) -> Iterable[tuple[str, Dial, Any]]:
        dials = registry.registered().dials
        return ((name, dials[name], level) for name, level in self.levels)

    def applied(self, plain: Presentation, toolbox: Toolbox) -> Presentation:
        """Apply the dials to a presentation. Raises RigError for a level that the task does not allow."""
        for _, dial, level in self._dials():
            plain = dial.apply(plain, self.seed, level, toolbox)
        return plain

    def declared(self, declaration: Declaration) -> Declaration:
        """Return a declaration with the metrics of these dials added."""
        metrics = (metric for _, dial, _ in self._dials() for metric in dial.metrics)
        return declaration._replace(metrics=tuple(dict.fromkeys((*declaration.metrics, *metrics))))


@lru_cache(maxsize=64)
def offering(toolbox: Toolbox, distractors: Toolbox) -> Toolbox:
    """Return a copy of a toolbox that also has the distractors, for judging calls."""
    more = copy(toolbox)
    more.tools = MappingProxyType({**toolbox.tools, **distractors.tools})
    return more


CALM = Stress()
"""A stress without any dial."""
