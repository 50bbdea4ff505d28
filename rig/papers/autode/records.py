"""Upstream's result files: read, and written so that upstream reads them."""

from dataclasses import dataclass
from pathlib import Path

from rig.calls import Json, JsonObject
from rig.documents import Foreign, Many, parsed, read_lines
from rig.files import json_text
from rig.methods.autode.answers import usable
from rig.methods.autode.data.checkout import RowTurn
from rig.methods.autode.data.scenarios import Scenario, Utterance
from rig.methods.autode.judgement import arguments
from rig.methods.autode.talk import Talk
from rig.methods.base import Loaded

_REASONS = {
    "round_limit": "Round limit reached",
    "context_full": "Context length exceeded",
    "malformed": "Arguments parse failed: ",
    "assistant_failed": "Generation format error",
    "user_failed": "Annotator thought the dialogue is failed",
}
"""What is in the reason of a result, by how the conversation ended."""


@dataclass(frozen=True, slots=True)
class DialogueRecord:
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


def record_of(scenario: Scenario, talk: Talk, *, compat: bool) -> DialogueRecord:
    """A finished conversation as upstream records one."""
    slots = usable(arguments(talk.call), compat=compat) if talk.call else {}
    head = scenario.id, scenario.topic, scenario.call.name, tuple(talk.said), slots
    return DialogueRecord(*head, talk.end == "called", _REASONS.get(talk.end or "", ""), "rig")


class _ResultRow(Foreign):
    uuid: str
    background: str
    api: str
    content: Many[RowTurn]
    slots: JsonObject
    state: str | None = None
    reason: str = ""
    trial_uuid: str = ""


def read(path: Path) -> Loaded:
    """The rows of a result file, of either format. Raises RigError if the file cannot be read."""
    faults: list[str] = []
    return Loaded(list(read_lines(path, _record, faults)), faults)


def _record(value: Json, where: str) -> DialogueRecord:
    row = parsed(_ResultRow, value, where, "a result")
    is_old = row.state is None
    is_cut = is_old and (not row.content or row.content[0].role == "Assistant")
    utterances = tuple(turn.utterance() for turn in row.content)
    head = row.uuid, row.background, row.api, utterances, row.slots
    return DialogueRecord(*head, is_old or row.state == "success", row.reason, row.trial_uuid, is_cut)
