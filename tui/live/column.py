"""A transcript laid out as lines, brought up to date only from where it changed."""

from bisect import bisect_right

from rig.displays.steps import Called, Judged, Returned, TurnHeading
from rig.verdicts import StepPlace
from tui.live.blocks import DraftBlock, Form, block
from tui.live.transcript import Draft, Entry, Transcript
from tui.text.lines import Line


class Column:
    """The lines of a transcript in one form. `full` are the calls that are shown in full."""

    def __init__(self, transcript: Transcript, form: Form, full: frozenset[StepPlace] = frozenset()) -> None:
        self.transcript = transcript
        self.form = form
        self.full = full
        self.lines: list[Line] = []
        self._entries: list[Entry] = []
        self._starts: list[int] = []
        self._draft: DraftBlock | None = None
        self._revision = -1
        self._edits = transcript.edits

    @property
    def entries(self) -> list[Entry]:
        """The entries that are laid out."""
        return self._entries

    def update(self) -> int | None:
        """Lay out what is new. The first line that is not as it was, None if all are."""
        entries = self.transcript.entries
        same = self._unchanged()
        if same == len(entries) == len(self._entries) and not self._draft_moved():
            return None
        if entries and same == len(entries) and isinstance(entries[-1], Draft):
            same -= 1
        start = self._starts[same] if same < len(self._starts) else len(self.lines)
        del self._entries[same:], self._starts[same:], self.lines[start:]
        for entry in entries[same:]:
            self._entries.append(entry)
            self._starts.append(len(self.lines))
            self.lines.extend(self._layout(entry))
        return start

    def entry_at(self, line: int) -> int:
        """The number of the entry that a line belongs to."""
        return max(bisect_right(self._starts, line) - 1, 0)

    def start_of(self, entry: int) -> int:
        """The first line of an entry."""
        return self._starts[entry] if entry < len(self._starts) else len(self.lines)

    def find(self, entry: Entry) -> int | None:
        """The number of this very entry, if it is still there."""
        return next((number for number, candidate in enumerate(self._entries) if candidate is entry), None)

    def turns(self) -> list[int]:
        """The lines of the headings of turns."""
        return [
            start + (entry.number > 1)
            for entry, start in zip(self._entries, self._starts, strict=True)
            if isinstance(entry, TurnHeading)
        ]

    def calls(self) -> list[tuple[Called, range]]:
        """The complete calls, each with its lines: the call itself, what came back, and the verdict."""
        groups: list[tuple[Called, range]] = []
        for number, entry in enumerate(self._entries):
            if isinstance(entry, Called):
                last = number + 1
                while last < len(self._entries) and _of_call(self._entries[last], entry):
                    last += 1
                groups.append((entry, range(self._starts[number], self.start_of(last))))
        return groups

    def _unchanged(self) -> int:
        """How many entries from the beginning are as they were."""
        entries, edits = self.transcript.entries, self.transcript.edits
        if edits != self._edits:
            self._edits = edits
            return 0
        same = len(self._entries)
        while same and (same > len(entries) or self._entries[same - 1] is not entries[same - 1]):
            same -= 1
        return same

    def _draft_moved(self) -> bool:
        last = self.transcript.entries[-1] if self.transcript.entries else None
        return isinstance(last, Draft) and last.revision != self._revision

    def _layout(self, entry: Entry) -> list[Line]:
        if not isinstance(entry, Draft):
            self._draft = None
            chosen = isinstance(entry, Called | Returned) and (entry.turn, entry.step) in self.full
            return block(entry, self.form.of(chosen or self.form.full))
        if self._draft is None or self._draft.draft is not entry:
            self._draft = DraftBlock(entry, self.form)
        self._revision = entry.revision
        return self._draft.lines()


def _of_call(entry: Entry, call: Called) -> bool:
    return isinstance(entry, Returned | Judged) and (entry.turn, entry.step) == (call.turn, call.step)
