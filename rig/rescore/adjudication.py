"""The texts of a stored run of which no rule says whether they mean the same: each pair once, to be asked."""

from dataclasses import dataclass, replace
from pathlib import Path

from rig.calls import JsonObject
from rig.events import Where
from rig.methods.base import Setup
from rig.rescore.scored import Scored
from rig.rescore.stored import scored_again
from rig.store import StoredRun
from rig.tasks import numbered
from rig.verdicts import Doubt


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A pair of texts where it was first met, and how many predicted calls hang on it."""

    where: Where
    arm: str
    scored: Scored
    doubt: Doubt
    times: int = 1

    @property
    def said(self) -> list[tuple[str, str]]:
        """The conversation up to the call, as (who, what)."""
        task, found = self.scored.conversation, []
        for turn in task.known_turns or sorted(self.scored.turns):
            if turn > self.doubt.turn:
                break
            expected = task.expected(turn)
            found += [("user", text) for text in expected.said]
            if turn < self.doubt.turn and expected.reply:
                found.append(("assistant", expected.reply))
        return found

    def as_json(self) -> JsonObject:
        """Where it is, both texts, and what was said before."""
        return {
            "arm": self.arm,
            "conversation": self.where.conversation,
            "repeat": self.where.repeat,
            **numbered(self.doubt.as_json(), self.scored.conversation),
            "calls": self.times,
            "said": [{"role": role, "text": text} for role, text in self.said],
        }


def unsettled(store: Path, run: StoredRun, setup: Setup) -> list[Unsettled]:
    """What is unclear in the finished conversations of a run, each pair of texts once, in order."""
    found: dict[tuple[str, str], Unsettled] = {}
    for where, scored in scored_again(store, run, setup):
        calls = {(doubt.pair, doubt.turn, doubt.step): doubt for doubt in scored.score.doubts}
        for doubt in calls.values():
            known = found.get(doubt.pair)
            if known is None:
                found[doubt.pair] = Unsettled(where, run.arms[where.arm].name, scored, doubt)
            else:
                found[doubt.pair] = replace(known, times=known.times + 1)
    return list(found.values())
