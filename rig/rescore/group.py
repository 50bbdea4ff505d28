"""Conversations that were scored together: those of a directory, or of one arm of a run."""

from collections.abc import Sequence
from dataclasses import dataclass

from rig.calls import JsonObject
from rig.methods.offers import Executes
from rig.metrics import Counts, Declaration, total
from rig.rescore.reexecute import Reexecuted, reexecute
from rig.rescore.scored import Scored, breakdown


@dataclass(frozen=True, slots=True)
class Group:
    """Scored conversations, and their calls executed again where that was wanted. `arm` is "" for files."""

    arm: str
    scored: Sequence[Scored]
    declaration: Declaration
    reexecuted: Sequence[tuple[Scored, Reexecuted]] | None = None

    @classmethod
    def of(
        cls, arm: str, scored: Sequence[Scored], declaration: Declaration, acting: Executes | None
    ) -> "Group":
        """A group, with its calls executed again where that is wanted."""
        if acting is None:
            return cls(arm, scored, declaration)
        again = [(each, call) for each in scored for call in reexecute(each.conversation, each.turns, acting)]
        return cls(arm, scored, declaration, again)

    @property
    def counts(self) -> Counts:
        """The counts of all conversations taken together."""
        return total(each.score.counts for each in self.scored)

    @property
    def differences(self) -> list[tuple[Scored, Reexecuted]]:
        """The calls whose response is another one now."""
        return [(scored, call) for scored, call in self.reexecuted or () if call.differs]

    def as_json(self) -> JsonObject:
        """Totals, every conversation, and what executing again found."""
        found: JsonObject = {
            "total": {"metrics": self.declaration.as_json(self.counts), **breakdown(self.scored)},
            "conversations": [each.as_json() for each in self.scored],
        }
        if self.reexecuted is not None:
            found["reexecuted"] = {
                "calls": len(self.reexecuted),
                "differences": [
                    {"conversation": scored.conversation.name, "repeat": scored.repeat, **call.as_json()}
                    for scored, call in self.differences
                ],
            }
        return found
