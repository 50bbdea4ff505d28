"""Two arms beside one another, turn by turn: their calls and actions, and where they part in each flip."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rig import methods
from rig.compare.arms import (
    ChosenArm,
    ComparisonOptions,
    ConversationKey,
    ScoredArm,
    choose,
    prepare,
    shared_conversations,
)
from rig.compare.findings import Flip, flips
from rig.core import registry
from rig.core.calls import ByName, JsonObject, without_token
from rig.core.errors import RigError
from rig.core.files import json_text
from rig.core.tasks import PlayedTurn, turn_number
from rig.plugins.paths.difference import PathDifference, difference, same_calls
from rig.store import Runs, Transcript
from rig.world.toolbox import Toolbox, find_toolbox


@dataclass(frozen=True, slots=True)
class FlipPath(ByName):
    """A conversation that only one arm gets right: the repeat and the turn that were looked at, and where the
    arms part there; None if they wrote the same.
    """

    conversation: str
    outcome: str
    repeat: int
    position: int
    difference: PathDifference | None


@dataclass(frozen=True, slots=True)
class ActionPlace(ByName):
    """A call that changed something, and that an arm repeated in a turn, or that only it made in a turn."""

    arm: str
    what: str
    conversation: str
    turn: int
    call: str
    times: int


@dataclass(frozen=True, slots=True)
class ArmPaths(ByName):
    """An arm beside the baseline: in how many of the turns that both played they made the same calls, and
    wrote the same text. `unknown` are tools of which nobody knows whether they change anything.
    """

    baseline: str
    arm: str
    turns: int
    same_calls: int
    same_text: int
    flips: tuple[FlipPath, ...]
    actions: tuple[ActionPlace, ...]
    unknown: tuple[str, ...]
    transcripts: Mapping[tuple[str, int], tuple[Transcript, Transcript]] = field(
        default_factory=dict, repr=False
    )

    def as_json(self) -> JsonObject:
        """Return everything but the transcripts by name."""
        parts = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "transcripts"}
        listed = {
            name: [one.as_json() if hasattr(one, "as_json") else one for one in value]
            for name, value in parts.items()
            if isinstance(value, tuple)
        }
        share = self.same_calls / self.turns if self.turns else None
        return {**parts, **listed, "same_calls_share": share}


def paths_of(runs: Runs, addresses: Sequence[str], question: ComparisonOptions) -> Iterator[ArmPaths]:
    """Yield the paths of each arm beside those of the baseline. Raises RigError as a comparison does."""
    scored = prepare(runs, choose(runs, addresses), question).scored
    if len(scored) < 2:
        raise RigError("--paths compares arms, and there is one; name another run or arm as well")
    baseline, *others = scored
    for arm in others:
        keys = shared_conversations([baseline, arm]).by_arm[-1]
        yield _Pair(runs, baseline, arm).paths(keys)


class _Pair:
    """The baseline and another arm."""

    def __init__(self, runs: Runs, baseline: ScoredArm, arm: ScoredArm) -> None:
        self._runs, self._sides = runs, (baseline, arm)
        run = baseline.chosen.run
        self._role = methods.evaluated_role(run.declaration.method)
        method = methods.known().get(run.declaration.method)
        self._begins_from_truth = method is not None and method.begins_from_truth
        self._toolbox = _toolbox(baseline.chosen)

    def paths(self, keys: Sequence[ConversationKey]) -> ArmPaths:
        baseline, arm = self._sides
        flipped, turns = flips(baseline, arm, keys, self._runs.path)
        outcomes = {flip.conversation: flip for flip in flipped}
        count, alike, equal = 0, 0, 0
        paths: list[FlipPath] = []
        actions: list[ActionPlace] = []
        unknown: set[str] = set()
        transcripts = {}
        for key in keys:
            for repeat in sorted(baseline.cells[key].keys() & arm.cells[key].keys()):
                pair = self._transcripts(key.name, repeat)
                for turn in sorted(pair[0].turns.keys() & pair[1].turns.keys()):
                    mine, theirs = (transcript.turns[turn] for transcript in pair)
                    count += 1
                    alike += same_calls(mine, theirs, self._role)
                    equal += _texts(mine, self._role) == _texts(theirs, self._role)
                    number = turn_number(pair[0].conversation, turn)
                    actions += self._actions(key.name, number, (mine, theirs), unknown)
                flip = outcomes.get(key.name)
                if flip is not None and (path := self._flip(flip, key, repeat, pair, turns)) is not None:
                    del outcomes[key.name]
                    paths.append(path)
                    transcripts[key.name, repeat] = pair
        paths.sort(key=lambda path: path.outcome)
        labels = baseline.chosen.label, arm.chosen.label
        return ArmPaths(
            *labels, count, alike, equal, tuple(paths), tuple(actions), tuple(sorted(unknown)), transcripts
        )

    def _transcripts(self, name: str, repeat: int) -> tuple[Transcript, Transcript]:
        first, second = (
            self._runs.transcript(side.chosen.run, name, side.chosen.arm.position, repeat)
            for side in self._sides
        )
        return first, second

    def _flip(
        self,
        flip: Flip,
        key: ConversationKey,
        repeat: int,
        pair: tuple[Transcript, Transcript],
        turns: Sequence[Flip],
    ) -> FlipPath | None:
        """Return where the arms part in a flip; None if this repeat is not one that only one got right."""
        cells = [side.cells[key][repeat] for side in self._sides]
        succeeded = self._sides[0].chosen.run.declaration.succeeded
        if succeeded(cells[0].counts) == succeeded(cells[1].counts):
            return None
        task = pair[0].conversation
        rights = [cell.rights for cell in cells]
        flipped = [number for number in rights[0] if rights[0][number] != rights[1].get(number)]
        shared = sorted(pair[0].turns.keys() & pair[1].turns.keys())
        # Where each turn begins from the truth, what was done in earlier ones does not matter.
        if self._begins_from_truth and flipped:
            shared = [turn for turn in shared if turn_number(task, turn) in flipped]
        for turn in shared:
            mine, theirs = (transcript.turns[turn] for transcript in pair)
            if parting := difference(mine, theirs, turn_number(task, turn), self._role):
                return FlipPath(flip.conversation, flip.outcome, repeat, turn, parting)
        return FlipPath(flip.conversation, flip.outcome, repeat, shared[0] if shared else 0, None)

    def _actions(
        self, conversation: str, turn: int, played: tuple[PlayedTurn, PlayedTurn], unknown: set[str]
    ) -> Iterator[ActionPlace]:
        """Yield the actions of a turn that an arm repeated, and those that only one made."""
        made = [self._acted(of, unknown) for of in played]
        for side, own, other in zip(self._sides, made, reversed(made), strict=True):
            label = side.chosen.label
            for call, times in own.items():
                # What both repeat is told once of each.
                if times > 1:
                    yield ActionPlace(label, "repeated", conversation, turn, call, times)
                if call not in other:
                    yield ActionPlace(label, "only", conversation, turn, call, times)

    def _acted(self, played: PlayedTurn, unknown: set[str]) -> Counter[str]:
        """Count the calls of a turn that changed something."""
        acted: Counter[str] = Counter()
        for step in played.steps:
            if step.role != self._role or step.executed is None or step.executed.exception is not None:
                continue
            name = step.executed.name
            is_known = self._toolbox is not None and name in self._toolbox.tools
            if not is_known:
                unknown.add(name)
            bad = step.verdict is not None and step.verdict.bad_action
            if bad or (self._toolbox is not None and self._toolbox.is_action(name)):
                acted[f"{name} {json_text(without_token(step.executed.arguments))}"] += 1
        return acted


def _toolbox(arm: ChosenArm) -> Toolbox | None:
    """Return the tools of an arm if they are registered: no code that a stored run names is run."""
    name = arm.run.settings.get("toolbox")
    if name is not None and name not in registry.registered().toolboxes:
        return None
    return find_toolbox(name)


def _texts(played: PlayedTurn, role: str) -> list[str]:
    return [step.prediction.raw for step in played.steps if step.role == role]
