"""Conversations that were scored together: those of a directory, or of one arm of a run."""

from collections import Counter
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile

from rig.calls import JsonObject
from rig.errors import RigError
from rig.files import json_text
from rig.methods.base import Setup
from rig.metrics import Counts, Declaration, total
from rig.rescore.reexecute import Reexecuted, reexecute
from rig.rescore.scored import Scored, breakdown

_IN_MEMORY = 1 << 20
_BREAK = "\x1e"
"""Stands for a line's end within a value; JSON text has no such character."""


class Spool:
    """Any number of JSON values, as text, in memory as long as they are few, else in a temporary file."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="ascii", newline="\n")  # noqa: SIM115
        self.length = 0

    def __del__(self) -> None:
        self._file.close()

    def add(self, value: JsonObject) -> None:
        """Keep a value. Raises RigError if there is no room for it."""
        try:
            self._file.write(json_text(value, indent=2).replace("\n", _BREAK) + "\n")
        except OSError as error:
            raise RigError(f"no room for what is printed at the end: {error.strerror}; set TMPDIR") from error
        self.length += 1

    def __iter__(self) -> Iterator[str]:
        """The values in order, each as indented JSON."""
        self._file.seek(0)
        return (line.rstrip("\n").replace(_BREAK, "\n") for line in self._file)


class Group:
    """Scored conversations, and their calls executed again where that is wanted; `arm` is "" for files.

    They are counted as they come. What is printed of each is kept only as text, and only with `as_json`.
    """

    def __init__(
        self, arm: str, declaration: Declaration, acting: Setup | None = None, *, as_json: bool = False
    ) -> None:
        self.arm = arm
        self.declaration = declaration
        self.counts: Counts = {}
        self.executed = self.differing = 0
        """Calls that were executed again, and those whose response is another one now."""
        self.conversations, self.differences = Spool(), Spool()
        self._acting = acting
        self._as_json = as_json
        self._broken_down: dict[str, Counter[str]] = {name: Counter() for name in breakdown(())}

    @property
    def is_executed(self) -> bool:
        """Whether calls are executed again."""
        return self._acting is not None

    def add(self, scored: Scored) -> list[Reexecuted]:
        """Take a conversation in. Returns those of its calls that come out otherwise when executed again."""
        self.counts = total((self.counts, scored.score.counts))
        for name, counts in breakdown([scored]).items():
            self._broken_down[name].update(counts)
        again = list(reexecute(scored.conversation, scored.turns, self._acting)) if self._acting else []
        differing = [call for call in again if call.differs]
        self.executed += len(again)
        self.differing += len(differing)
        if self._as_json:
            self.conversations.add(scored.as_json())
            for call in differing:
                place = {"conversation": scored.conversation.name, "repeat": scored.repeat}
                self.differences.add({**place, **call.as_json()})
        return differing

    def as_json(self) -> JsonObject:
        """Totals, every conversation, and what executing again found, with spools where lists are."""
        of_all = {name: dict(counts) for name, counts in self._broken_down.items()}
        summary: JsonObject = {
            "total": {"metrics": self.declaration.as_json(self.counts), **of_all},
            "conversations": self.conversations,
        }
        if self._acting is not None:
            summary["reexecuted"] = {"calls": self.executed, "differences": self.differences}
        return summary
