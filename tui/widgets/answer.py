"""For a person who plays a role: what they read about it, and a line to answer in."""

from textual import events

from rig.events import PersonAsked
from tui.text.flow import wrap
from tui.text.lines import BLANK, Line, Tint, inert_line, labelled
from tui.widgets.lines import Lines
from tui.widgets.messages import PersonAnswered
from tui.widgets.page import Bar


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
