"""A transcript laid out as lines, brought up to date only from where it changed."""

from bisect import bisect_right

from rig.calls import StepPlace
from rig.displays.steps import Called, CallVerdict, Returned, TurnHeading
from tui.live.blocks import BlockLayout, DraftBlock, block
from tui.live.transcript import Draft, Entry, LiveTranscript
from tui.text.lines import Line


class Column:
    """The lines of a transcript in one form. `full` are the calls that are shown in full."""

    def __init__(
        self, transcript: LiveTranscript, form: BlockLayout, full: frozenset[StepPlace] = frozenset()
    ) -> None:
        self.transcript = transcript
        self.form = form
        self.full = full
        self.lines: list[Line] = []
        self.entries: list[Entry] = []
        """The entries that are laid out."""
        self._starts: list[int] = []
        self._draft: DraftBlock | None = None
        self._revision = -1
        self._edits = transcript.edits

    def update(self) -> int | None:
        """Lay out what is new. The first line that is not as it was, None if all are."""
        entries = self.transcript.entries
        same = self._unchanged()
        draft = entries[-1] if entries and isinstance(entries[-1], Draft) else None
        if same == len(entries) == len(self.entries) and (not draft or draft.revision == self._revision):
            return None
        if draft and same == len(entries):
            same -= 1
        start = self._start_of(same)
        del self.entries[same:], self._starts[same:], self.lines[start:]
        for entry in entries[same:]:
            self.entries.append(entry)
            self._starts.append(len(self.lines))
            self.lines.extend(self._layout(entry))
        return start

    def entry_at(self, line: int) -> tuple[Entry | None, int]:
        """The entry that a line belongs to, and how many of its lines are above that one."""
        number = max(bisect_right(self._starts, line) - 1, 0)
        return (self.entries[number], line - self._starts[number]) if self.entries else (None, 0)

    def line_of(self, entry: Entry | None, line: int) -> int | None:
        """The same line of this very entry, or the last it has; None if the entry is no longer there."""
        for number, candidate in enumerate(self.entries):
            if candidate is entry:
                start, end = self._starts[number], self._start_of(number + 1)
                return min(start + line, max(end - 1, start))
        return None

    def _start_of(self, entry: int) -> int:
        return self._starts[entry] if entry < len(self._starts) else len(self.lines)

    def turns(self) -> list[int]:
        """The lines of the headings of turns."""
        return [
            start + (entry.number > 1)
            for entry, start in zip(self.entries, self._starts, strict=True)
            if isinstance(entry, TurnHeading)
        ]

    def calls(self) -> list[tuple[Called, range]]:
        """The complete calls, each with its lines: the call itself, what came back, and the verdict."""
        groups: list[tuple[Called, range]] = []
        for number, entry in enumerate(self.entries):
            if isinstance(entry, Called):
                last = number + 1
                for part in self.entries[last : last + 2]:
                    last += isinstance(part, Returned | CallVerdict) and (part.turn, part.step) == entry.place
                groups.append((entry, range(self._starts[number], self._start_of(last))))
        return groups

    def _unchanged(self) -> int:
        """How many entries from the beginning are as they were."""
        entries, edits = self.transcript.entries, self.transcript.edits
        if edits != self._edits:
            self._edits = edits
            return 0
        same = len(self.entries)
        while same and (same > len(entries) or self.entries[same - 1] is not entries[same - 1]):
            same -= 1
        return same

    def _layout(self, entry: Entry) -> list[Line]:
        if not isinstance(entry, Draft):
            self._draft = None
            chosen = isinstance(entry, Called | Returned) and (entry.turn, entry.step) in self.full
            return block(entry, self.form._replace(full=chosen or self.form.full))
        if self._draft is None or self._draft.draft is not entry:
            self._draft = DraftBlock(entry, self.form)
        self._revision = entry.revision
        return self._draft.lines()
