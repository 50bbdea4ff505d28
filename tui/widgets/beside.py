"""Beside the transcript: the ground truth of the turn, and what a person who plays a role reads."""

from dataclasses import dataclass

from textual import events
from textual.message import Message

from rig.displays import signs
from rig.displays.signs import Glyph
from rig.displays.steps import Due
from rig.events import PersonAsked
from tui.live.state import ConversationState
from tui.text.lines import BLANK, Line, Span, Tint, inert_line, labelled
from tui.text.streams import tint_json, wrap
from tui.widgets.lines import Lines
from tui.widgets.page import Bar


@dataclass
class PersonAnswered(Message):
    """A person who plays a role said something."""

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
    """The current turn of a conversation that runs, every turn of one that is over.

    In ASCII `[+]` is matched, `[ ]` still open, `x` missed: a cross in brackets would look like a tick.
    """

    def show_conversation(self, conversation: ConversationState | None) -> None:
        """Bring the panel up to date, with the first open call of a turn under way in sight."""
        of = conversation and (
            conversation.status.over,
            len(conversation.expected),
            tuple(conversation.holds.values()),
        )
        before = self.version
        if not self.is_new(conversation and conversation.where, of):
            return
        lines, first_open = self._lines_of(conversation)
        self.show(lines)
        if conversation is None or conversation.status.over:
            if before[:2] != self.version[:2]:
                self.jump_to(0)
        elif first_open is not None:
            self.bring_into_sight(max(first_open - 2, 0), min(first_open + _LINES, len(lines) - 1))

    def _lines_of(self, conversation: ConversationState | None) -> tuple[list[Line], int | None]:
        """The lines, and where the first call that is still open begins."""
        turns = conversation.expected if conversation else []
        over = conversation is not None and conversation.status.over
        lines: list[Line] = [((f" expected in {'all turns' if over else 'this turn'}", Tint.TITLE),)]
        first_open = None
        matched = conversation.matched if conversation else set()
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
    """Who they are, and what they want."""

    def show_question(self, question: PersonAsked) -> None:
        """Show the script of the task that is asked about."""
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
    """It stays from the first question on. Enter says what is written, escape gives the keys back."""

    _role = ""

    def show_question(self, question: PersonAsked | None) -> None:
        """Ask for words, or wait for the other; it appears, and takes the keys, with the first question."""
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
