"""How a turn ends: what its conversation expects of the world then, whichever calls led there."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from rig.calls import Call, Fault, FaultKind, Json
from rig.errors import RigError
from rig.metrics import Counts, Declaration, Metric, Part, Score
from rig.scoring import reasons
from rig.toolbox import rules
from rig.toolbox.rules import Rule, equal
from rig.toolbox.toolbox import Simulator
from rig.toolbox.world import Snapshot

SAME = "same"
"""What is written where a world has to be what the true calls make of it."""


class Expectation(NamedTuple):
    """A call that looks at the world, and what it has to return: a `value`, or what agrees with a `rule`.

    With `fails` it has to fail.
    """

    call: Call
    value: Json = None
    rule: Rule | None = None
    fails: bool = False

    @classmethod
    def from_json(cls, source: Json) -> "Expectation":
        """As conversations have it: `{"call": {tool: arguments}, "returns": …}`. Raises RigError."""
        if not isinstance(source, dict) or not source.keys() <= {"call", "returns", "fails"}:
            raise RigError("expect: needs `same`, or a list of `call` with what it `returns`")
        calls = source.get("call")
        calls = {calls: {}} if isinstance(calls, str) else calls
        if not isinstance(calls, dict) or len(calls) != 1:
            raise RigError("expect: a call names one tool, with its arguments")
        ((name, arguments),) = calls.items()
        if not isinstance(arguments or {}, dict):
            raise RigError(f"expect: the arguments of {name} need names")
        if ("returns" in source) == (source.get("fails") is True):
            raise RigError("expect: a call either `returns` something, or `fails: true`")
        value = source.get("returns")
        rule = rules.parse(value) or rules.nested(value)
        return cls(Call(name, arguments or {}), value, rule, source.get("fails") is True)

    def unmet(self, simulator: Simulator) -> str | None:
        """Why it does not hold in the simulator's world, in a line; None if it does."""
        executed = simulator.execute(self.call)
        if executed.exception is not None or self.fails:
            is_met = executed.exception is not None and self.fails
            got = f"fails: {executed.exception}" if executed.exception else "does not fail"
        else:
            due, returned, rule = self.value, executed.response, self.rule
            is_met = equal(due, returned) if rule is None else rule.agrees(due, returned)
            place, due, returned = rules.first_difference(rule.as_json() if rule else due, returned)
            at = f" at {place.removeprefix('.')}" if place else ""
            got = f"expected {reasons.show(due)}, got {reasons.show(returned)}{at}"
        return None if is_met else f"{self.call.name} {reasons.show(self.call.arguments)} in the end: {got}"


Expected = Sequence[Expectation] | None
"""What is expected of the end of a turn: these, or with None the world that the true calls make."""


def parsed(source: Json) -> Expected:
    """What is stored under `expect`. Raises RigError."""
    if source == SAME:
        return None
    if not isinstance(source, list) or not source:
        raise RigError("expect: needs `same`, or a list of `call` with what it `returns`")
    return tuple(map(Expectation.from_json, source))


def unmet(expected: Expected, simulator: Simulator, true_end: Snapshot) -> tuple[str, ...]:
    """What does not hold at the end of a turn, a line on each, in the world as the turn left it."""
    if expected is None:
        return simulator.compare(true_end, simulator.snapshot()).lines
    return tuple(filter(None, (expectation.unmet(simulator) for expectation in expected)))


def declared(declaration: Declaration) -> Declaration:
    """What is counted of tasks that expect something of how turns end: beside calls, and apart from them."""
    metric = Metric("end_rate", "ends right", "right_ends", "ends", label="ends right")
    part = Part("right_ends", "turns end right", "ends", short="ends")
    return declaration._replace(metrics=(*declaration.metrics, metric), outcome=(*declaration.outcome, part))


def with_ends(score: Score, turns: Mapping[int, tuple[str, ...]]) -> Score:
    """A score that counts how turns ended: by turn, what does not hold."""
    if not turns:
        return score
    counts: Counts = {"ends": len(turns), "right_ends": sum(not lines for lines in turns.values())}
    faults = [Fault(FaultKind.WORLD_DIFFERS, turn, line) for turn, lines in turns.items() for line in lines]
    return replace(score, counts={**score.counts, **counts}, faults=(*score.faults, *faults))
