"""BFCL's categories of several turns as a method: states and results of calls are judged turn by turn.

The user names the classes that calls act in.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rig.core.calls import Call, ExecutedCall, Fault, FaultKind, JsonObject, Outcome, Verdict
from rig.core.errors import ErrorKind, RigError
from rig.core.events import Rejudged
from rig.core.files import read_bytes
from rig.core.metrics import Part, Score
from rig.core.models import Prediction, Request
from rig.core.tasks import PlayedTurn
from rig.methods.base import Method, Option
from rig.methods.episode import Episode
from rig.methods.scripted import called, replied
from rig.plugins.bfcl import turn_entries as data
from rig.plugins.bfcl.data import BfclSettings, files, opening, tools_of
from rig.plugins.bfcl.method import BfclMethod, BfclSetup, counts_of, rates
from rig.plugins.bfcl.turn_entries import FILES, Instances, MultiTurnEntry

MOST_STEPS = 20
"""The most messages with calls in a turn. One more ends the entry."""

_PLACES = ("func_source_code", "bfcl_eval/eval_checker/multi_turn_eval/func_source_code")
"""The folders of the classes in a copy of the package, or in a checkout."""


class Calling(Episode):
    """An episode whose calls are answered by the classes of `world`, until a message has none."""

    world: Instances
    verdict: str
    """The reason in the verdict on a call when it is made."""
    makes_again = True

    def begin(self) -> None:
        self._calling = 0
        super().begin()

    def read(self, prediction: Prediction, role: str) -> Prediction:
        """Return the prediction, or an error if the turn has more than `MOST_STEPS` messages with calls."""
        self._calling += prediction.call is not None
        if self._calling <= MOST_STEPS:
            return prediction
        detail = f"still calling after {MOST_STEPS} messages with calls; it ends here"
        return replace(prediction, call=None, further=(), error=ErrorKind.CALL_CAP, error_detail=detail)

    def execute(self, call: Call) -> ExecutedCall:
        return ExecutedCall(call, Outcome(self.world.make(call)))

    def judge(self, executed: ExecutedCall) -> tuple[Verdict, tuple[Rejudged, ...]]:
        return Verdict(False, reason=self.verdict), ()


class MultiTurn(Calling):
    """An episode of an entry, which is given up after a turn with an error."""

    task: MultiTurnEntry
    settings: BfclSettings
    verdict = "judged when the entry has ended"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.world = Instances.of(self.task, self.setup.code)

    @property
    def is_over(self) -> bool:
        is_given_up = bool(self.played) and self.played[-1].error is not None
        return is_given_up or len(self.played) == len(self.task.turns)

    def opening(self, role: str) -> Request:
        opening: Request = self.setup.method.opening(self.task, self.settings, role, self.turn)
        return opening

    def score(self) -> Score:
        return judge(self.task, self.played, self.setup.code)


def true_step(entry: MultiTurnEntry, request: Request) -> Prediction:
    """Predict the next true call of a turn, and finally a reply. Too many calls go into one message."""
    calls = tuple(entry.calls(request.key.turn))[request.key.step :]
    if not calls:
        return replied("Done.")
    if request.key.step + len(calls) > MOST_STEPS:
        return Prediction(raw=str(calls), call=calls[0], further=calls[1:])
    return called(calls[0].name, calls[0].arguments)


def fault_of(entry: MultiTurnEntry, calls: Sequence[Sequence[Call]], code: Path) -> tuple[int, str] | None:
    """Return the first turn that is wrong, and why; None if all are right.

    `calls` are the calls of each turn that was played. A turn without due calls is not judged.
    """
    world, truth = (Instances.of(entry, code) for _ in range(2))
    results: list[str] = []
    for turn, due in enumerate(entry.truth):
        if turn >= len(calls):
            return turn, "multi_turn:force_terminated: the entry was given up before"
        results += map(world.make, calls[turn])
        expected = [truth.call(*call) for call in due]
        if not due:
            continue
        if not calls[turn]:
            return turn, "multi_turn:empty_turn_model_response: nothing was called"
        if wrong := list(world.differences(truth)):
            return turn, f"multi_turn:instance_state_mismatch: {', '.join(wrong)}"
        if missing := Counter(expected) - Counter(results):
            lacking = next(iter(missing))[:200]
            return turn, f"multi_turn:execution_response_mismatch: no call gave {lacking}"
    return None


def judge(entry: MultiTurnEntry, turns: Sequence[PlayedTurn], code: Path) -> Score:
    """Score an entry that was played, up to the turn in which it was given up, if it was."""
    calls = [[executed.call for executed in turn.executed] for turn in turns]
    stopped = next((number for number, turn in enumerate(turns) if turn.error), None)
    fault = fault_of(entry, calls if stopped is None else calls[:stopped], code)
    wrong_turn, reason = fault or (len(entry.truth), "")
    # The calls of the turns before it are right, and all others are wrong.
    reasons = (reason if turn >= wrong_turn else "" for turn, of_turn in enumerate(calls) for _ in of_turn)
    verdicts = tuple(Verdict(not text, reason=text) for text in reasons)
    right, sizes = int(fault is None), {"turns": len(entry.truth), "turns_right": wrong_turn}
    counts = {**counts_of(entry, right), **sizes}
    if fault is None:
        return Score(counts, verdicts)
    faults = (Fault(FaultKind.WORLD_DIFFERS, wrong_turn, reason),)
    return Score(counts, verdicts, {wrong_turn: {reason.split(": ")[0]: 1}}, faults)


class MultiTurnSetup(BfclSetup):
    """The classes that calls act in. Their code is run, so only the user says where it is."""

    grader_name = "state"

    @cached_property
    def code(self) -> Path:
        """The folder with the classes. Raises RigError if none was named, or if it has no classes."""
        place = self.place("code")
        if not place:
            raise RigError(
                "where are BFCL's classes? Their code is run: name it with --set code=DIR, or in $RIG_BFCL"
            )
        for folder in (Path(place, inside) for inside in ("", *_PLACES)):
            if (folder / f"{FILES['MathAPI']}.py").is_file():
                return folder
        raise RigError(f"{place}: holds none of BFCL's classes, such as {FILES['MathAPI']}.py")

    @property
    def fingerprint(self) -> JsonObject:
        modules = sorted(self.code.glob("*.py"))
        return {"code_sha256": sha256(b"\0".join(read_bytes(path) for path in modules)).hexdigest()}

    def check(self, task: MultiTurnEntry, settings: BfclSettings) -> None:
        """Raise RigError if an entry's classes are missing."""
        Instances.of(task, self.code)

    def score(self, task: MultiTurnEntry, turns: Sequence[PlayedTurn], settings: BfclSettings) -> Score:
        return judge(task, turns, self.code)

    def data(self) -> Sequence[MultiTurnEntry]:
        """Load the entries of several turns that `--set data=DIR` or $RIG_BFCL names."""
        by_category = files(self.folder, data.CATEGORIES)
        return [entry for file in by_category.values() for entry in data.load(file)]


class BFCLTurns(BfclMethod):
    """The Berkeley Function Calling Leaderboard's categories of several turns."""

    name = "bfcl-turns"
    categories = data.CATEGORIES
    parts = (Part("turns_right", "turns right", "turns", short="turns"),)
    declaration = rates("bfcl-turns", data.CATEGORIES, *parts)
    options: tuple[Option, ...] = (Option("code", "", opens=True), Option("data", "", opens=True))
    oracles = MappingProxyType({"oracle": true_step})
    episode = MultiTurn
    load = staticmethod(data.load)
    parse = staticmethod(data.parse)

    def recognises(self, place: Path) -> bool:
        return place.is_file() and bool(files(place, data.CATEGORIES))

    def settings(self, values: Mapping[str, Any]) -> BfclSettings:
        return BfclSettings("dots")

    def opening(self, task: MultiTurnEntry, settings: BfclSettings, role: str, turn: int = 0) -> Request:
        """Return how a request begins in a turn, with the functions that are on offer by then."""
        messages = [message for of_turn in task.turns for message in of_turn]
        return opening(task.name, turn, messages, tools_of(task.offered(turn), "python", settings))

    def ready(self, values: Mapping[str, Any]) -> MultiTurnSetup:
        return MultiTurnSetup(self, values)


METHOD: Method = BFCLTurns()
