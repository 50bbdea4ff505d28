"""Upstream's result files: read, and written so that upstream reads them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rig.calls import Json, JsonObject
from rig.files import json_text
from rig.methods.autode.answers import usable
from rig.methods.autode.data.checkout import read_lines, read_turns
from rig.methods.autode.data.scenarios import Scenario, Utterance
from rig.methods.autode.scoring.judgement import arguments
from rig.methods.autode.talk import Talk

_REASONS = {
    "round_limit": "Round limit reached",
    "context_full": "Context length exceeded",
    "malformed": "Arguments parse failed: ",
    "assistant_failed": "Generation format error",
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
        return next(named, "assistant_failed" if self.reason else "gave_up")

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
        return json_text(row)


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


def read(path: Path) -> Records:
    """The rows of a result file, of either format. Raises RigError if the file cannot be read."""
    records, faults = [], []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            records.append(_record(json.loads(line)))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            faults.append(f"{path}, line {number}: not a result: {error!r}")
    return Records(tuple(records), tuple(faults))


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
