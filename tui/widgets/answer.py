"""For a person who plays a role: what they read about it, and a line to answer in."""

from textual import events
from textual.widgets import Input

from rig.events import PersonAsked
from tui.text.flow import wrap
from tui.text.inert import inert_line
from tui.text.lines import BLANK, Line, Tint
from tui.widgets.lines import Lines
from tui.widgets.messages import Answered


class Script(Lines):
    """Who they are, and what they want."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: tuple[object, ...] = ()

    def show_question(self, question: PersonAsked) -> None:
        """Show the script of the task that is asked about."""
        if not self.size.width or self._shown == (question.where, self.size.width):
            return
        self._shown = question.where, self.size.width
        width = max(self.size.width - 2, 8)
        lines: list[Line] = [((f" you are the {inert_line(question.role)}", Tint.TITLE),), BLANK]
        for text in question.script.split("\n"):
            name, colon, rest = inert_line(text).partition(": ")
            spans = [(name + colon, Tint.KEY), (rest, Tint.PLAIN)] if colon else [(name, Tint.PLAIN)]
            lines += [((" ", Tint.PLAIN), *line) for line in wrap(spans, width)]
        self.show(lines)
        self.jump_to(0)


class AnswerBar(Input):
    """One line that stays from the first question on. Enter says it, escape gives the keys back."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, compact=True)
        self.cursor_blink = False
        self.display = False
        self._role = ""

    def show_question(self, question: PersonAsked | None) -> None:
        """Ask for words, or wait for the other; it appears, and takes the keys, with the first question."""
        self._role = inert_line(question.role) if question else ""
        if question is not None and not self.display:
            self.display = True
            self.focus()
        self._show_hint(self.has_focus)

    def on_focus(self) -> None:
        self._show_hint(True)

    def on_blur(self) -> None:
        self._show_hint(False)

    def _show_hint(self, has_keys: bool) -> None:
        asks = f"what do you say as the {self._role}?" if self._role else "the other is to speak"
        self.placeholder = asks if has_keys else f"{asks} (press i)"

    def close(self) -> None:
        """Give the keys back and disappear."""
        self.blur()
        self.display = False

    def on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.post_message(Answered(self.value.strip()))
        elif event.key == "escape":
            event.stop()
            event.prevent_default()
            self.blur()
