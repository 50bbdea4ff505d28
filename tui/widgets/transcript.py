"""One conversation as it is played: the transcript of an arm, or one turn in several arms.

Other widgets show the ground truth of the turn, and the script of a person who plays a role.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from textual import events
from textual.message import Message

from rig.core.calls import StepPlace
from rig.core.errors import counted
from rig.core.events import PersonAsked
from rig.show import signs
from rig.show.signs import CURSOR, MODEL, Glyph
from rig.show.steps import Called, TurnHeading
from rig.show.story import Due
from rig.show.texts import rate
from tui.live.layout import BlockLayout, Column, Draft, Entry, block
from tui.live.state import ConversationState
from tui.text.lines import (
    BLANK,
    Line,
    Span,
    Tint,
    columns_in_sight,
    fit,
    inert_line,
    labelled,
    side_by_side,
    spread,
    tint_json,
    wrap,
)
from tui.widgets.lines import Bar, Lines, Page


@dataclass
class Scrolled(Message):
    """A message that the reader scrolled the transcript with the mouse, or chose something in it."""


class TranscriptView(Page):
    """A transcript. It follows new lines if it is scrolled to the end, and otherwise stays in place.

    A call can be chosen, and words can be searched; both are marked when lines are painted.
    """

    _column: Column | None = None
    _full: frozenset[StepPlace] = frozenset()
    _chosen: StepPlace | None = None
    _chosen_lines = range(0)
    _stays_at_end = True

    def show_conversation(self, conversation: ConversationState | None, instead: str) -> None:
        """Update the view with the same or another conversation, or with words `instead` of one."""
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
        # `at_end` would be wrong here: the view may just have become lower, and was at the end until then.
        old, at_end = self._column, self._stays_at_end
        form = BlockLayout(self.size.width, conversation.turns, full=bool(self.term))
        if old is None or old.transcript is not transcript:
            self._chosen, self._full = None, frozenset()
            self._begin(Column(transcript, form, self._full))
            if conversation.over:
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
        """Scroll to the next turn, or to the previous one."""
        turns = self._column.turns() if self._column else []
        top = self.scroll_offset.y
        ahead = [line for line in turns if (line > top if step > 0 else line < top)]
        if ahead:
            self.jump_to(ahead[0 if step > 0 else -1])

    # Calls

    def _calls(self) -> list[tuple[Called, range]]:
        return self._column.calls() if self._column else []

    def next_call(self, step: int) -> None:
        """Choose the next or the previous call; if none is chosen yet, one that is in sight."""
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
        """Show the chosen call (or all calls, if none is) and the response in full, or shorten them again."""
        every = frozenset(call.place for call, _ in self._calls())
        these = every & {self._chosen} if self._chosen else every
        self._full = self._full - these if these <= self._full else self._full | these

    def on_click(self, event: events.Click) -> None:
        line = self.line_at(event)
        for call, lines in self._calls():
            if line in lines:
                if call.place == self._chosen:
                    self.toggle_full()
                self._choose(call)
                self.post_message(Scrolled())

    # Painting

    def mark(self) -> None:
        column = self._column
        self.find(column.lines if column else [], column.form.margin if column else 0)
        calls = [] if self._chosen is None else self._calls()
        blocks = (lines for call, lines in calls if call.place == self._chosen)
        self._chosen_lines = next(blocks, range(0))

    def look_of(self, number: int) -> Line:
        line = super().look_of(number)
        if line and number in self._chosen_lines:
            line = ((str(CURSOR), Tint.RUNNING), (line[0][0][1:], line[0][1]), *line[1:])
        return line

    def on_scroll_to(self) -> None:
        self.post_message(Scrolled())

    on_mouse_scroll_up = on_mouse_scroll_down = on_scroll_to


Side: TypeAlias = tuple[str, ConversationState | None, str]
"""A column: the arm's name, its conversation, and the words to show if there is no transcript."""


class SideBySide(Lines):
    """One conversation by several arms, a column for each: as many as fit, always with the chosen one."""

    def show_turn(self, sides: Sequence[Side], arm: int, number: int) -> None:
        """Update the columns to turn `number` (from 1); the reader's arm is at `arm`."""
        if self.size.width:
            visible, room = columns_in_sight(len(sides), arm, self.size.width)
            columns = [_side(sides[place], place, number, room, place == arm) for place in visible]
            self.show(side_by_side(columns, room))


def turns_of(conversation: ConversationState | None) -> int:
    """Return how many turns of a conversation can be shown."""
    return sum(isinstance(entry, TurnHeading) for entry in _entries(conversation))


def _entries(conversation: ConversationState | None) -> list[Entry]:
    return conversation.transcript.entries if conversation and conversation.transcript else []


def _side(side: Side, arm: int, number: int, width: int, is_read: bool) -> list[Line]:
    called, conversation, instead = side
    sign: Span = conversation.glyph if conversation else (" ", Tint.PLAIN)
    name: Span = (inert_line(called), Tint.STRONG if is_read else Tint.PLAIN)
    head = [fit([(f" {arm + 1} ", Tint.MUTED), name, (" ", Tint.PLAIN), sign], width), BLANK]
    form = BlockLayout(width, conversation.turns if conversation else 0)
    lines: list[Line] = []
    inside = False
    for entry in _entries(conversation):
        if isinstance(entry, TurnHeading):
            inside = entry.number == number
        elif inside and isinstance(entry, Draft):
            # The progress of a prediction being made; its text is in the transcript.
            writing = (f"writing, {counted(entry.tokens, 'token')}", Tint.MUTED)
            lines.append(fit([(f" {MODEL.glyph} ", Tint.RUNNING), writing], width))
        elif inside:
            lines += block(entry, form)
    return head + (lines or [fit([(f" {instead}", Tint.MUTED)], width)])


class Title(Lines):
    """The line above a transcript: the conversation, how it stands, and what the view does."""

    def show_conversation(
        self,
        conversation: ConversationState | None,
        following: bool,
        *,
        note: str = "",
        hits: str = "",
        pace: float | None = None,
    ) -> None:
        """Update the line. `note` is shown beside the name, and `hits` are the matches of a search.

        `pace` is the speed of the step being written, in tokens per second.
        """
        left: list[Span] = [(" ", Tint.PLAIN)]
        if conversation is not None:
            sign = conversation.sign
            left += [
                (inert_line(conversation.where.conversation), Tint.STRONG),
                (f" #{conversation.where.repeat + 1}" if conversation.where.repeat else "", Tint.STRONG),
                ("  ", Tint.PLAIN),
                (sign.label, Tint(sign.tint)),
                (f"  {inert_line(note)}" if note else "", Tint.MUTED),
            ]
        right: list[Span] = [(f"{hits}  ", Tint.FOUND_HERE)] if hits else []
        if pace is not None:
            right += [(f"{rate(pace):>4}", Tint.STRONG), (" tok/s   ", Tint.MUTED)]
        right.append(("following ", Tint.RUNNING) if following else ("reading ", Tint.MUTED))
        self.show([spread(left, right, self.size.width)])


@dataclass
class PersonAnswered(Message):
    """A message that a person who plays a role has answered."""

    text: str


_BOXES = {
    signs.MADE: Glyph(" ✓ ", " [+] "),
    signs.MISSED: Glyph(" ✗ ", "  x  "),
    signs.LEFT_OUT: Glyph(" – ", "  -  "),
    signs.OPEN: Glyph(" ○ ", " [ ] "),
}
_LINES = 4
_ARGUMENTS = 20


class Expectations(Lines):
    """The ground truth of the current turn or, once the conversation is over, of every turn.

    In ASCII `[+]` is matched, `[ ]` still open, `x` missed: a cross in brackets would look like a tick.
    """

    def show_conversation(self, conversation: ConversationState | None) -> None:
        """Update the panel, with the first open call of the current turn in sight."""
        of = conversation and (
            conversation.over,
            len(conversation.expected),
            tuple(conversation.holds.values()),
        )
        before = self.version
        if not self.is_new(conversation and conversation.where, of):
            return
        lines, first_open = self._lines_of(conversation)
        self.show(lines)
        if conversation is None or conversation.over:
            if before[:2] != self.version[:2]:
                self.jump_to(0)
        elif first_open is not None:
            self.bring_into_sight(max(first_open - 2, 0), min(first_open + _LINES, len(lines) - 1))

    def _lines_of(self, conversation: ConversationState | None) -> tuple[list[Line], int | None]:
        """Return the lines, and the line where the first call that is not matched begins."""
        turns = conversation.expected if conversation else []
        over = conversation is not None and conversation.over
        lines: list[Line] = [((f" expected in {'all turns' if over else 'this turn'}", Tint.TITLE),)]
        first_open = None
        matched = set(conversation.holds.values()) if conversation else set()
        for number, turn in enumerate(turns, 1):
            if conversation is None or (number < len(turns) and not over):
                continue
            if over:
                lines += [BLANK, ((f" turn {number}", Tint.TITLE),)]
            for due in turn:
                lines += [] if over else [BLANK]
                is_matched = due.place in matched
                if first_open is None and not is_matched:
                    first_open = len(lines)
                lines += self._due(due, is_matched, over)
            if not turn:
                lines += [*([] if over else [BLANK]), ((" no call, only a reply", Tint.MUTED),)]
        return lines, first_open

    def _due(self, due: Due, is_matched: bool, over: bool) -> list[Line]:
        sign = signs.due(made=is_matched, over=over, optional=due.is_optional)
        box: Span = (str(_BOXES[sign]), Tint(sign.tint))
        width = max(self.size.width - len(box[0]) - 1, 8)
        missed: list[Span] = [(f" {sign.word}", Tint(sign.tint))] if sign is signs.MISSED else []
        lines = wrap([(inert_line(due.call.name.text), Tint.CALL), *missed], width)
        for name, value in due.call.pairs[:_ARGUMENTS]:
            key: Span = (f"{inert_line(name.text)} ", Tint.KEY)
            argument = wrap([key, *tint_json(inert_line(value.text))], width)
            if len(argument) > _LINES or value.omitted:
                argument[_LINES - 1 :] = [((str(signs.ELLIPSIS), Tint.MUTED),)]
            lines += argument
        return labelled([box], len(box[0]), lines)


class Script(Lines):
    """The script of a person who plays a role: who they are, and what they want."""

    def show_question(self, question: PersonAsked) -> None:
        """Show the script of the task that the question belongs to."""
        if not self.is_new(question.where):
            return
        lines: list[Line] = [((f" you are the {inert_line(question.role)}", Tint.TITLE),), BLANK]
        for text in question.script.split("\n"):
            name, colon, rest = inert_line(text).partition(": ")
            spans = [(name + colon, Tint.KEY), (rest, Tint.PLAIN)] if colon else [(name, Tint.PLAIN)]
            lines += labelled((), 1, wrap(spans, max(self.size.width - 2, 8)))
        self.show(lines)
        self.jump_to(0)


class AnswerBar(Bar):
    """The line for a person's answers, shown from the first question on. Enter sends, escape leaves it."""

    _role = ""

    def show_question(self, question: PersonAsked | None) -> None:
        """Ask for an answer, or wait for the other role; the first question opens the line."""
        self._role = inert_line(question.role) if question else ""
        if question is not None and not self.display:
            self.open()
        self._show_hint(self.has_focus)

    def on_focus(self) -> None:
        self._show_hint(True)

    def on_blur(self) -> None:
        self._show_hint(False)

    def _show_hint(self, has_keys: bool) -> None:
        asks = f"what do you say as the {self._role}?" if self._role else "the other is to speak"
        self.placeholder = asks if has_keys else f"{asks} (press i)"

    def on_key(self, event: events.Key) -> None:
        if event.key in ("enter", "escape"):
            event.stop()
            event.prevent_default()
            if event.key == "enter":
                self.post_message(PersonAnswered(self.value.strip()))
            else:
                self.blur()
