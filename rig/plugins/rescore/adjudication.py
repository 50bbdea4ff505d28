"""The texts of a stored run that no rule can judge: each pair is put to a person once."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from rig.core.calls import Doubt, JsonObject
from rig.core.events import Where
from rig.core.models import Model, Request, StepKey, ToolDoc, UserMessage
from rig.core.tasks import numbered
from rig.methods.base import Setup
from rig.plugins.rescore.setups import setup_of
from rig.plugins.rescore.stored import Scored, scored_again
from rig.scoring import Answer, add_answers, answers_file
from rig.store import Runs, StoredRun


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A pair of texts where it first occurred, and how many predicted calls depend on it."""

    where: Where
    arm: str
    scored: Scored
    doubt: Doubt
    times: int = 0

    @property
    def said(self) -> list[tuple[str, str]]:
        """The conversation up to the call, as (role, text)."""
        task, lines = self.scored.conversation, []
        for turn in task.known_turns or sorted(self.scored.turns):
            if turn > self.doubt.turn:
                break
            expected = task.expected(turn)
            lines += [("user", text) for text in expected.said]
            if turn < self.doubt.turn and expected.reply:
                lines.append(("assistant", expected.reply))
        return lines

    def as_json(self, *, is_blind: bool = True) -> JsonObject:
        """Return its place, both texts and the conversation before; unless `is_blind`, also the arm."""
        return {
            **({} if is_blind else {"arm": self.arm}),
            "conversation": self.where.conversation,
            "repeat": self.where.repeat,
            **numbered(self.doubt.as_json(), self.scored.conversation),
            "calls": self.times,
            "said": [{"role": role, "text": text} for role, text in self.said],
        }


class Adjudication:
    """The questions of a stored run that nobody has answered, in order, and the file for answers.

    Raises RigError if there is no such run, or its conversations cannot be scored again.
    """

    def __init__(self, store: Path, run: str) -> None:
        with Runs.open(store) as runs:
            self.run = runs.get(run)
        self.file = answers_file(store)
        self.questions = _unsettled(store, self.run, setup_of(self.run, answers=self.file))
        self.answered = 0

    def answer(self, question: Unsettled, *, same: bool | None) -> None:
        """Store an answer permanently; None takes it back. Raises RigError if that cannot be written."""
        add_answers(self.file, [Answer.now(question.doubt.expected, question.doubt.got, same=same)])
        self.answered += -1 if same is None else 1


def _unsettled(store: Path, run: StoredRun, setup: Setup) -> list[Unsettled]:
    """Return what is unclear in the finished conversations of a run, each pair of texts once, in order."""
    by_pair: dict[tuple[str, str], Unsettled] = {}
    for where, scored in scored_again(store, run, setup):
        calls = {(doubt.pair, doubt.turn, doubt.step): doubt for doubt in scored.score.doubts}
        for doubt in calls.values():
            met = by_pair.get(doubt.pair) or Unsettled(where, run.arms[where.arm].name, scored, doubt)
            by_pair[doubt.pair] = replace(met, times=met.times + 1)
    # Not arm by arm, which would reveal whose text it is.
    place = {name: number for number, name in enumerate(run.conversations)}
    return sorted(
        by_pair.values(),
        key=lambda one: (place[one.where.conversation], one.doubt.turn, one.doubt.expected, one.doubt.got),
    )


_SYSTEM = "You compare two texts and say whether they mean the same. Be strict about facts."
_LONGEST = 2_000
"""The most characters of each text that the model reads."""

_TOOL = ToolDoc(
    "compare_texts",
    "Say whether the two texts mean the same.",
    {
        "type": "object",
        "properties": {
            "reason": {"type": "string", "maxLength": 200, "description": "Why, in one sentence."},
            "same": {"enum": ["y", "n"], "description": "y if they mean the same, else n."},
        },
        "required": ["reason", "same"],
        "additionalProperties": False,
    },
)


class Opinion(NamedTuple):
    """A model's opinion and its `reason`; `same` is None if it said nothing usable."""

    model: str
    same: bool | None
    reason: str


class Opinions:
    """Asks a model for opinions. A grammar constrains its answers, as it does tool calls."""

    def __init__(self, model: Model) -> None:
        self._model = model
        model.prepare(self._request(), 1)

    def of(self, unsettled: Unsettled) -> Opinion:
        """Return the model's opinion of a pair."""
        doubt = unsettled.doubt
        about = f"Both are the {doubt.argument} of {doubt.tool}."
        texts = f"Text 1: {doubt.expected[:_LONGEST]}\nText 2: {doubt.got[:_LONGEST]}"
        prediction = self._model.predict(self._request(f"{about}\n{texts}"), lambda _piece: None)
        arguments = prediction.call.arguments if prediction.call else {}
        fields = arguments if isinstance(arguments, Mapping) else {}
        same = {"y": True, "n": False}.get(str(fields.get("same")))
        reason = fields.get("reason") or prediction.reply or prediction.error_detail
        return Opinion(self._model.name, same, str(reason or "no answer"))

    def close(self) -> None:
        """Release the model."""
        self._model.close()

    @staticmethod
    def _request(text: str = "") -> Request:
        messages = (UserMessage(text),) if text else ()
        return Request(StepKey("adjudication", 0, 0), _SYSTEM, (_TOOL,), "", messages)
