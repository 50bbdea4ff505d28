"""The transcript of one conversation: append-only, and only wrapped again when the width changes."""

from textual import events

from rig.calls import StepPlace
from rig.displays.signs import CURSOR
from rig.displays.steps import Called
from tui.live.blocks import BlockLayout
from tui.live.column import Column
from tui.live.state import ConversationState
from tui.text.lines import Line, Tint
from tui.widgets.messages import Scrolled
from tui.widgets.page import Page


class TranscriptView(Page):
    """Shows what was said and done. It stays at the end while it is there, and where it is otherwise.

    A call can be chosen, and words can be searched; both are marked when lines are painted.
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._column: Column | None = None
        self._full: frozenset[StepPlace] = frozenset()
        self._chosen: StepPlace | None = None
        self._chosen_lines = range(0)
        self._stays_at_end = True

    def show_conversation(self, conversation: ConversationState | None, instead: str) -> None:
        """Bring the view up to date with a conversation, this or another, or with words `instead` of one."""
        if self.size.width == 0:
            return
        self._show(conversation, instead)
        self._stays_at_end = self.at_end

    def _show(self, conversation: ConversationState | None, instead: str) -> None:
        transcript = conversation.transcript if conversation else None
        if conversation is None or transcript is None:
            self._column, self._chosen = None, None
            self.mark()
            self.show([((instead, Tint.MUTED),)] if instead else [])
            return
        # Not whether it is at its end: it may just have become lower, and was at its end until then.
        old, at_end = self._column, self._stays_at_end
        form = BlockLayout(self.size.width, conversation.turns, full=bool(self.search.term))
        if old is None or old.transcript is not transcript:
            self._chosen, self._full = None, frozenset()
            self._begin(Column(transcript, form, self._full))
            if conversation.status.over:
                self.jump_to(0)
            else:
                self.jump_to_end()
            return
        top = old.entry_at(self.scroll_offset.y)
        if old.form != form or old.full != self._full:
            self._begin(Column(transcript, form, self._full))
        else:
            start = old.update()
            if start is not None:
                self.replace(start, old.lines[start:])
                self.mark()
            elif not at_end:
                return
        if not at_end:
            line = self._column.line_of(*top) if self._column else None
            if line is not None:
                self.jump_to(line)
        elif not self.at_end:
            self.jump_to_end()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._stays_at_end = self.at_end

    def _begin(self, column: Column) -> None:
        column.update()
        self._column = column
        self.replace(0, column.lines)
        self.mark()

    def next_turn(self, step: int) -> None:
        """Scroll to the next turn, or back to the one before."""
        turns = self._column.turns() if self._column else []
        top = self.scroll_offset.y
        ahead = [line for line in turns if (line > top if step > 0 else line < top)]
        if ahead:
            self.jump_to(ahead[0 if step > 0 else -1])

    # Calls

    def _calls(self) -> list[tuple[Called, range]]:
        return self._column.calls() if self._column else []

    def next_call(self, step: int) -> None:
        """Choose the next call, or the one before; at first one that is in sight."""
        calls = self._calls()
        places = [call.place for call, _ in calls]
        if not calls:
            return
        if self._chosen in places:
            number = min(max(places.index(self._chosen) + step, 0), len(calls) - 1)
        else:
            seen = [number for number, (_, lines) in enumerate(calls) if self._is_in_sight(lines)]
            number = seen[0 if step > 0 else -1] if seen else len(calls) - 1
        self._choose(calls[number][0])

    def _is_in_sight(self, lines: range) -> bool:
        top = self.scroll_offset.y
        return lines.start < top + self.size.height and lines.stop > top

    def _choose(self, call: Called) -> None:
        self._chosen = call.place
        self.mark()
        self.refresh()
        self.bring_into_sight(self._chosen_lines.start, self._chosen_lines.stop - 1)

    @property
    def call(self) -> Called | None:
        """The chosen call, or else the last one that is partly in sight."""
        calls = self._calls()
        chosen = [call for call, _ in calls if call.place == self._chosen]
        seen = [call for call, lines in calls if self._is_in_sight(lines)]
        return chosen[0] if chosen else seen[-1] if seen else None

    def toggle_full(self) -> None:
        """Show all that is kept of the chosen call and its response, or of all calls when none is chosen."""
        every = frozenset(call.place for call, _ in self._calls())
        these = every & {self._chosen} if self._chosen else every
        self._full = self._full - these if these <= self._full else self._full | these

    def on_click(self, event: events.Click) -> None:
        line = event.y + self.scroll_offset.y
        for call, lines in self._calls():
            if line in lines:
                if call.place == self._chosen:
                    self.toggle_full()
                self._choose(call)
                self.post_message(Scrolled())

    # Painting

    def mark(self) -> None:
        column = self._column
        self.search.update(column.lines if column else [], column.form.margin if column else 0)
        calls = [] if self._chosen is None else self._calls()
        blocks = (lines for call, lines in calls if call.place == self._chosen)
        self._chosen_lines = next(blocks, range(0))

    def look_of(self, number: int) -> Line:
        line = super().look_of(number)
        if line and number in self._chosen_lines:
            line = ((str(CURSOR), Tint.RUNNING), (line[0][0][1:], line[0][1]), *line[1:])
        return line

    def on_mouse_scroll_up(self) -> None:
        self.post_message(Scrolled())

    def on_mouse_scroll_down(self) -> None:
        self.post_message(Scrolled())

    def on_scroll_to(self) -> None:
        self.post_message(Scrolled())
