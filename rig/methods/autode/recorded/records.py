"""Upstream's result files: read, scored as upstream scores them, and written so that upstream reads them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from rig.calls import Json, JsonObject
from rig.errors import RigError
from rig.methods.autode.answers import usable
from rig.methods.autode.data.checkout import read_lines, read_turns
from rig.methods.autode.data.scenarios import Scenario, Utterance
from rig.methods.autode.scoring import slots
from rig.methods.autode.scoring.judgement import arguments
from rig.methods.autode.talk import Talk

ROUND_LIMIT = "Round limit reached"
CONTEXT_FULL = "Context length exceeded"
_REASONS = {
    "round_limit": ROUND_LIMIT,
    "context_full": CONTEXT_FULL,
    "malformed": "Arguments parse failed: ",
    "user_failed": "Annotator thought the dialogue is failed",
}
"""What is in the reason of a result, by how the conversation ended."""


@dataclass(frozen=True, slots=True)
class Record:
    """One dialogue of one trial. `said` are the words of both without the call, `reason` why there is none.

    In upstream's older files the first query is missing (`is_cut`), and so are state and reason.
    """

    id: str
    background: str
    api: str
    said: tuple[Utterance, ...]
    slots: JsonObject
    success: bool = True
    reason: str = ""
    trial: str = ""
    is_cut: bool = False

    @property
    def outcome(self) -> str:
        """How it ended, by the name of a count of the method's."""
        if self.success:
            return "called"
        named = (name for name, text in _REASONS.items() if text in self.reason)
        return next(named, "failed" if self.reason else "gave_up")

    @property
    def is_reluctant(self) -> bool:
        """Whether rounds or context ran out before the assistant called."""
        return not self.success and any(text in self.reason for text in (ROUND_LIMIT, CONTEXT_FULL))

    @property
    def messages(self) -> int:
        """How many messages there were, the first query among them and the call not."""
        return len(self.said) + self.is_cut

    def line(self) -> str:
        """A line that upstream's scorer reads."""
        row = {
            "uuid": self.id,
            "content": [{"role": role, "message": text} for role, text in self.said],
            "background": self.background,
            "api": self.api,
            "slots": self.slots,
            "state": "success" if self.success else "failure",
            "reason": self.reason,
            "trial_uuid": self.trial,
        }
        return json.dumps(row, ensure_ascii=False)


def record_of(scenario: Scenario, talk: Talk, *, compat: bool) -> Record:
    """A finished conversation as upstream records one."""
    call = usable(arguments(talk.call), compat=compat) if talk.call else {}
    reason = _REASONS.get(talk.end or "", "")
    known = scenario.topic, scenario.call.name, tuple(talk.said), call
    return Record(scenario.id, *known, success=talk.end == "called", reason=reason, trial="rig")


class Records(NamedTuple):
    """What a result file holds, in its order, and a line on each row that could not be read."""

    records: tuple[Record, ...]
    faults: tuple[str, ...] = ()

    def trials(self, ids: Sequence[str]) -> list[list[Record]]:
        """The records of each trial, in the order of `ids`.

        A record's trial is its place among those of the same dialogue, since `trial_uuid` names a process.
        There are as many trials as every dialogue has. Raises RigError where a dialogue has none.
        """
        found: dict[str, list[Record]] = {name: [] for name in ids}
        for record in self.records:
            found.setdefault(record.id, []).append(record)
        missing = [name for name in ids if not found[name]]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise RigError(f"no result of dialogue {missing[0]}{more}; score a file with all of them")
        return [[found[name][trial] for name in ids] for trial in range(min(map(len, found.values())))]


def read(path: Path) -> Records:
    """The rows of a result file, of either format. Raises RigError where the file cannot be read."""
    records, faults = [], []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            records.append(_record(json.loads(line)))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            faults.append(f"{path}, line {number}: not a result: {error!r}")
    return Records(tuple(records), tuple(faults))


class Figures(NamedTuple):
    """What upstream reports of a file: means over trials of the means over dialogues, as shares.

    `spread` is the sample deviation of the trials' F1, NaN with one trial.
    """

    precision: float
    recall: float
    f1: float
    spread: float
    trials: tuple[float, ...]
    """The F1 of each trial."""


def score(trials: Sequence[Sequence[Record]], truths: Mapping[str, slots.Slots]) -> Figures:
    """Upstream's scores of trials, held against the true slots of each dialogue."""
    counted = [[slots.count(truths[record.id], record.slots) for record in trial] for trial in trials]
    f1 = tuple(fmean(each.f1 for each in trial) for trial in counted)
    return Figures(
        fmean(fmean(each.precision for each in trial) for trial in counted),
        fmean(fmean(each.recall for each in trial) for trial in counted),
        fmean(f1),
        stdev(f1) if len(f1) > 1 else nan,
        f1,
    )


class Behaviour(NamedTuple):
    """How many dialogues ended in which way, and how long they were on average, in messages."""

    reluctant: int
    illusory: int
    malformed: int
    gave_up: int
    user_failed: int
    length: float


def behaviour(records: Sequence[Record], scenarios: Mapping[str, Scenario]) -> Behaviour:
    """What upstream's analyses count. Upstream leaves the first query of its older files out of `length`."""

    def ended(outcome: str) -> int:
        return sum(record.outcome == outcome for record in records)

    return Behaviour(
        sum(record.is_reluctant for record in records),
        sum(_is_illusory(record, scenarios[record.id]) for record in records),
        ended("malformed"),
        ended("gave_up"),
        ended("user_failed"),
        fmean(record.messages for record in records),
    )


def _is_illusory(record: Record, scenario: Scenario) -> bool:
    return record.success and any(scenario.api.parameter(name) is None for name in record.slots)


def _record(row: Json) -> Record:
    is_old = "state" not in row
    return Record(
        id=row["uuid"],
        background=row["background"],
        api=row["api"],
        said=read_turns(row["content"]),
        slots=dict(row["slots"]),
        success=is_old or row["state"] == "success",
        reason=row.get("reason", ""),
        trial=row.get("trial_uuid", ""),
        is_cut=is_old and (not row["content"] or row["content"][0]["role"] == "Assistant"),
    )
