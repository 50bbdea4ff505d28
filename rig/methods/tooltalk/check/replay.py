"""Ground truth executed again: whether the simulator still returns what a file recorded."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from rig.calls import ExecutedCall, Json, JsonObject
from rig.methods.tooltalk.conversations import Conversation
from rig.methods.tooltalk.replay import replay
from rig.toolbox.rules import TrueCall
from rig.toolbox.simulator import Simulator
from rig.toolbox.spec import Match, Response

_LONGEST = 80


class ResponseDifference(StrEnum):
    """How a recorded response differs from the simulator's."""

    RANDOM_ID = "random id only"
    """The tool makes up an id; matching never looks at it."""
    MORE = "simulator returns more"
    """All that was recorded, and other records beside it."""
    ORDER = "other order"
    """The same records in another order."""
    FIELDS = "field values"
    """The same records with other content, or a response that is not a list of records."""
    LESS = "simulator returns less"
    """A recorded record is not returned, so no call can match."""
    EXCEPTION = "exception"
    """One is an error and the other is not, or they are different errors."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """One ground-truth call at (turn, call), as recorded and as executed now; how its tool is matched."""

    turn: int
    call: int
    recorded: TrueCall
    executed: ExecutedCall
    match: Match

    @property
    def difference(self) -> ResponseDifference | None:
        """How they differ, None when they do not."""
        if self.recorded.exception != self.executed.exception:
            return ResponseDifference.EXCEPTION
        if self.recorded.response == self.executed.response:
            return None
        if self.match.response is Response.IGNORED:
            return ResponseDifference.RANDOM_ID
        recorded, returned = self._records(self.recorded), self._records(self.executed)
        if recorded is None or returned is None:
            return ResponseDifference.FIELDS
        if not recorded.keys() <= returned.keys():
            return ResponseDifference.LESS
        if any(record != returned[key] for key, record in recorded.items()):
            return ResponseDifference.FIELDS
        return ResponseDifference.MORE if len(recorded) < len(returned) else ResponseDifference.ORDER

    @property
    def explanation(self) -> str:
        """What was recorded and what is returned, as far as they differ."""
        recorded, returned = self._records(self.recorded), self._records(self.executed)
        if self.difference is ResponseDifference.EXCEPTION:
            return _against(self.recorded.exception, self.executed.exception)
        if recorded is None or returned is None:
            return _against(self.recorded.response, self.executed.response)
        if self.difference is not ResponseDifference.FIELDS:
            return _against(", ".join(recorded), ", ".join(returned))
        key = next(key for key in recorded if recorded[key] != returned[key])
        was, now = recorded[key], returned[key]
        none = "no such field"
        fields = ((name, was.get(name, none), now.get(name, none)) for name in {**was, **now})
        field, before, after = next(field for field in fields if field[1] != field[2])
        return f"{field} of {key}: {_against(before, after)}"

    def _records(self, executed: ExecutedCall) -> dict[str, JsonObject] | None:
        """The records of a response by id; None when it is not a list of records."""
        ids = self.match.ids
        if ids is None:
            return None
        listed, key = ids
        try:
            return {str(record[key]): dict(record) for record in executed.response[listed]}
        except (KeyError, TypeError, ValueError):
            return None


def replayed_calls(conversation: Conversation, simulator: Simulator) -> Iterator[Replayed]:
    """Every ground-truth call, executed from the start. Raises RigError if it cannot start."""
    for true in replay(conversation, simulator):
        for number, (recorded, executed) in enumerate(zip(true.turn.calls, true.calls, strict=True)):
            tool = simulator.toolbox.tools.get(executed.name)
            yield Replayed(true.position, number, recorded, executed, tool.match if tool else Match())


def _against(recorded: Json, returned: Json) -> str:
    texts = (value if isinstance(value, str) else repr(value) for value in (recorded, returned))
    before, now = (text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…" for text in texts)
    return f"recorded {before}, the simulator gives {now}"
