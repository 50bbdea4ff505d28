"""AutoDE's paper (arXiv 2403.11128): making its tables, reading its result files as runs, and writing them.

A result file has one dialogue per line. Each file is an arm, and each recorded dialogue an episode.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rig.core.calls import Call, ExecutedCall, JsonObject, Outcome
from rig.core.errors import ErrorKind, RigError, counted
from rig.core.files import json_text
from rig.core.paths import real
from rig.core.tasks import ASSISTANT as THE_ASSISTANT
from rig.core.tasks import PlayedTurn, Step
from rig.methods.base import Loaded
from rig.methods.scripted import called, failed, replied
from rig.plugins.autode import checkout
from rig.plugins.autode.checkout import DialogueRow
from rig.plugins.autode.judgement import arguments, verdict_of
from rig.plugins.autode.scenarios import ASSISTANT, Scenario
from rig.plugins.autode.scripted_user import FAILED
from rig.plugins.autode.talk import DONE, THE_USER, AutoDeSettings, Mode, Talk, usable
from rig.plugins.documents.documents import parsed, read_lines
from rig.plugins.papers.grids import ArmScore, Table
from rig.plugins.papers.paper import Paper, RecordedArm, RecordedRun

_REASONS = {
    "round_limit": "Round limit reached",
    "context_full": "Context length exceeded",
    "malformed": "Arguments parse failed: ",
    "assistant_failed": "Generation format error",
    "user_failed": "Annotator thought the dialogue is failed",
}
"""The text that a result's reason contains, by the conversation's outcome."""


class DialogueRecord(DialogueRow):
    """One dialogue of one trial: the words of both sides, and the call, or the reason why there is none.

    Upstream's older files lack the first query (`is_cut`), the state and the reason.
    """

    state: str | None = None
    reason: str = ""
    trial_uuid: str = ""

    @property
    def success(self) -> bool:
        """Whether the dialogue ended with a call."""
        return self.state in (None, "success")

    @property
    def is_cut(self) -> bool:
        """Whether the first query is missing."""
        return self.state is None and (not self.content or self.content[0].role == ASSISTANT)

    @property
    def outcome(self) -> str:
        """How the dialogue ended, as the name of one of the method's counts."""
        if self.success:
            return "called"
        named = (name for name, text in _REASONS.items() if text in self.reason)
        return next(named, "assistant_failed" if self.reason else "gave_up")

    def line(self) -> str:
        """Return the record as a line that upstream's scorer can read."""
        head = {"uuid": self.uuid, "content": [{"role": role, "message": text} for role, text in self.said]}
        state = "success" if self.success else "failure"
        return json_text({**head, **self.model_dump(exclude={"content"}), "state": state})


def record_of(scenario: Scenario, talk: Talk, *, compat: bool) -> DialogueRecord:
    """Return a finished conversation in upstream's form."""
    row = {
        "uuid": scenario.id,
        "content": [{"role": role, "message": text} for role, text in talk.said],
        "background": scenario.topic,
        "api": scenario.call.name,
        "slots": usable(arguments(talk.call), compat=compat) if talk.call else {},
        "state": "success" if talk.end == "called" else "failure",
        "reason": _REASONS.get(talk.end or "", ""),
        "trial_uuid": "rig",
    }
    return DialogueRecord.model_validate(row)


def read(path: Path) -> Loaded:
    """Read the rows of a result file of either format. Raises RigError if the file cannot be read."""
    faults: list[str] = []
    rows = read_lines(path, lambda value, where: parsed(DialogueRecord, value, where, "a result"), faults)
    return Loaded(list(rows), faults)


MAX_ROUNDS = 8
"""The limit in all of upstream's experiments."""

_NAMES = re.compile(r"^(?:u_(?P<user>[a-z0-9]+)_)?a_(?P<assistant>.+?)$")
_NO_NAME = re.compile(
    r"_(?:v\d+|complementary|\d+rounds?|good|force|substitute|legacy|part\d+|1round|static|human).*$"
)


def recorded_run(
    files: Sequence[Path], place: Path | None, values: Mapping[str, Any] | None = None
) -> RecordedRun:
    """Read the results in these files. The dialogues are those of `place`, or of the checkout around them.

    Raises RigError if there are no dialogues, or if a file cannot be read or has no results.
    """
    if place is None:
        above = (folder for folder in real(files[0]).parents[:3] if checkout.holds_data(folder))
        place = next(above, None)
    if place is None:
        raise RigError(f"{files[0]}: lies in no checkout of AutoDE; name one with --suite")
    loaded = checkout.load(place)
    scenarios = {scenario.id: scenario for scenario in loaded}
    faults, notes = list(loaded.faults), list[str]()
    arms = [_arm(path, scenarios, faults, notes) for path in files]
    names = [arm.name for arm in arms]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise RigError(f"two files are called {min(repeated)}; each is an arm, and needs a name of its own")
    return RecordedRun(tuple(scenarios.values()), arms, ("compat=true",), tuple(faults), tuple(notes))


def _arm(path: Path, scenarios: Mapping[str, Scenario], faults: list[str], notes: list[str]) -> RecordedArm:
    """Read the arm of a file. Adds unreadable lines to `faults`, and results left out by rule to `notes`."""
    rows = read(path)
    faults += rows.faults
    by_dialogue: dict[str, list[DialogueRecord]] = {}
    for record in rows:
        if record.uuid in scenarios:
            by_dialogue.setdefault(record.uuid, []).append(record)
        else:
            faults.append(f"{path}: a result of {record.uuid}, which is not a dialogue of the dataset")
    if not by_dialogue:
        why = f" ({rows.faults[0]})" if rows.faults else ""
        raise RigError(f"{path}: holds no result of a dialogue of the dataset{why}")
    missing = [name for name in scenarios if name not in by_dialogue]
    if missing:
        notes.append(f"{path}: no result of {counted(len(missing), 'dialogue')}, such as {missing[0]}")
    trials = min(map(len, by_dialogue.values()))
    if extra := sum(map(len, by_dialogue.values())) - trials * len(by_dialogue):
        notes.append(
            f"{path}: {extra} results beyond trial {trials} are left out, as upstream leaves them out"
        )
    mode = _mode(by_dialogue, scenarios)
    settings = AutoDeSettings(mode=mode, compat=True, max_rounds=MAX_ROUNDS)
    episodes = [
        (scenarios[name].name, trial, turns(records[trial], scenarios[name], mode))
        for trial in range(trials)
        for name, records in by_dialogue.items()
    ]
    return RecordedArm(path.stem, _fingerprint(path, settings), settings, episodes)


def _mode(by_dialogue: Mapping[str, Sequence[DialogueRecord]], scenarios: Mapping[str, Scenario]) -> Mode:
    """Return "static" for a file in which every dialogue begins with the whole history, else "dynamic"."""
    begins = (
        tuple(record.said[: len(scenarios[name].history)]) == scenarios[name].history
        or (record.is_cut and tuple(record.said) == scenarios[name].history[1:])
        for name, records in by_dialogue.items()
        for record in records
    )
    return "static" if all(begins) else "dynamic"


def _fingerprint(path: Path, settings: AutoDeSettings) -> JsonObject:
    """Return the fingerprint of a recorded arm: its file, and the players that the file's name tells."""
    named = _NAMES.match(path.stem)
    assistant = named["assistant"] if named else path.stem
    user = (named["user"] if named else None) or ("human" if "human" in path.stem else "")
    parts = {f"protocol.{name}": value for name, value in settings.fingerprint.items()}
    parts.pop("protocol.prompt_sha256")
    player = {"role.user.recorded": user} if user and settings.mode == "dynamic" else {}
    return {
        "model.engine": "recorded",
        "model.recorded": _NO_NAME.sub("", assistant),
        "model.file": path.name,
        "model.file_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        **player,
        **parts,
    }


def turns(record: DialogueRecord, scenario: Scenario, mode: Mode) -> list[PlayedTurn]:
    """Return a recorded dialogue as turns that rig reads as the same conversation with the same outcome."""
    begun = len(scenario.history) if mode == "static" else 1
    steps = [
        Step(replied(text), role=THE_ASSISTANT if role == ASSISTANT else THE_USER)
        for role, text in record.said[begun - record.is_cut :]
    ]
    if record.outcome == "gave_up" and steps:
        steps[-1] = Step(replied(f"{steps[-1].prediction.reply}{DONE}"), role=THE_ASSISTANT)
    if record.outcome not in ("gave_up", "round_limit"):
        steps.append(_last(record, scenario, after=steps[-1].role if steps else THE_USER))
    # A turn is a line of the user and the assistant's answer. The user's last line has no answer.
    by_turn: list[list[Step]] = []
    spoken = 0
    for step in steps:
        if not by_turn or (step.role == THE_USER and spoken < MAX_ROUNDS):
            by_turn.append([])
        by_turn[-1].append(step)
        spoken += step.role == THE_ASSISTANT
    return [PlayedTurn(number, tuple(of_turn)) for number, of_turn in enumerate(by_turn)]


def _last(record: DialogueRecord, scenario: Scenario, after: str) -> Step:
    """Return the last step of a dialogue that did not end with words."""
    if record.success:
        call = Call(scenario.call.name, dict(record.slots))
        prediction = called(call.name, call.arguments)
        return Step(prediction, ExecutedCall(call, Outcome()), verdict_of(scenario, call), THE_ASSISTANT)
    if record.outcome == "user_failed":
        return Step(replied(FAILED), role=THE_USER)
    kinds = {"context_full": ErrorKind.CONTEXT, "malformed": ErrorKind.INVALID}
    kind = kinds.get(record.outcome, ErrorKind.DECODE)
    prediction = failed(kind, record.reason.strip()[:500], record.reason)
    return Step(prediction, role=THE_ASSISTANT if after == THE_USER else THE_USER)


class AutoDEPaper(Paper):
    """AutoDE's paper, whose result files have one dialogue per line."""

    name = "autode"
    methods = ("autode",)
    writes = "lines"

    recorded = staticmethod(recorded_run)

    def tables(self, scores: Iterable[ArmScore]) -> Sequence[Table]:
        from rig.plugins.papers.autode.tables import published_tables  # needs numpy

        return published_tables(scores)

    def record(self, task: Any, turns: Mapping[int, PlayedTurn], settings: Any, setup: Any) -> str:
        return record_of(task, Talk(task, settings, turns.values()), compat=settings.compat).line()


PAPER: Paper = AutoDEPaper()
