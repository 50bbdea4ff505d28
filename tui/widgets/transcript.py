"""The transcript of one conversation: append-only, wrapped anew only when the width changes."""

from bisect import bisect_right

from tui.blocks import DraftBlock, block
from tui.lines import BLANK, Line, Tint
from tui.state import ConversationState, Status
from tui.transcript import Draft, Entry, Transcript
from tui.widgets.lines import Lines


class TranscriptView(Lines):
    """Shows what was said and done. It stays at the end while it is there, and where it is otherwise."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._transcript: Transcript | None = None
        self._width = 0
        self._entries: list[Entry] = []
        self._starts: list[int] = []
        self._draft: DraftBlock | None = None
        self._revision = -1

    def show_conversation(self, conversation: ConversationState | None, run: str) -> None:
        """Bring the view up to date with a conversation, this or another."""
        if self.size.width == 0:
            return
        transcript = conversation.transcript if conversation else None
        if conversation is None or transcript is None:
            self._begin(None)
            self.show(_placeholder(conversation, run))
            return
        at_end, top = self.at_end, self._entry_in_sight()
        moved, reflowed = transcript is not self._transcript, self.size.width != self._width
        if moved or reflowed:
            self._begin(transcript)
            self.replace(0, [])
        changed = self._append(transcript, conversation.turns)
        if moved and conversation.status.over:
            self.jump_to(0)
        elif moved or (changed and at_end):
            self.jump_to_end()
        elif reflowed and top < len(self._starts):
            self.jump_to(self._starts[top])

    def _begin(self, transcript: Transcript | None) -> None:
        self._transcript, self._width = transcript, self.size.width
        self._entries, self._starts, self._draft, self._revision = [], [], None, -1

    def _entry_in_sight(self) -> int:
        return max(bisect_right(self._starts, self.scroll_offset.y) - 1, 0)

    def _append(self, transcript: Transcript, turns: int) -> bool:
        """Lay out what is new; whether there was anything."""
        entries = transcript.entries
        same = len(self._entries)
        while same and (same > len(entries) or self._entries[same - 1] is not entries[same - 1]):
            same -= 1
        if same == len(entries) == len(self._entries) and not self._draft_moved(entries):
            return False
        if entries and same == len(entries) and isinstance(entries[-1], Draft):
            same -= 1
        start = self._starts[same] if same < len(self._starts) else (len(self._lines) if same else 0)
        new: list[Line] = []
        del self._entries[same:], self._starts[same:]
        for entry in entries[same:]:
            self._entries.append(entry)
            self._starts.append(start + len(new))
            new.extend(self._layout(entry, turns))
        self.replace(start, new)
        return True

    def _draft_moved(self, entries: list[Entry]) -> bool:
        last = entries[-1] if entries else None
        return isinstance(last, Draft) and last.revision != self._revision

    def _layout(self, entry: Entry, turns: int) -> list[Line]:
        if not isinstance(entry, Draft):
            self._draft = None
            return block(entry, self._width, turns)
        if self._draft is None or self._draft.draft is not entry:
            self._draft = DraftBlock(entry, self._width)
        self._revision = entry.revision
        return self._draft.lines()


def _placeholder(conversation: ConversationState | None, run: str) -> list[Line]:
    if conversation is None:
        text = "waiting for the run to start"
    elif conversation.dropped:
        text = f"not in memory; read it with: rig show {run} {conversation.where.conversation}"
    elif conversation.status is Status.WAITING:
        text = "not started yet"
    else:
        text = ""
    return [BLANK, ((f"   {text}", Tint.MUTED),)]
