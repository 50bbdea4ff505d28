"""Unclear texts of a stored run, one pair after another: do they mean the same?"""

from pathlib import Path

from textual.app import ComposeResult

from rig.displays.transcript import QUESTION, question_text
from rig.errors import RigError
from rig.rescore.adjudication import Adjudication, Unsettled
from tui.screens import keys
from tui.screens.base import RigScreen
from tui.text.lines import BLANK, Span, Tint, inert, inert_line
from tui.text.page_writer import PageWriter
from tui.widgets.keys import KeyBar
from tui.widgets.lines import Lines
from tui.widgets.page import Page


class AdjudicationScreen(RigScreen[None]):
    """Asks what no rule settles. An answer is kept as soon as it is given; leaving loses nothing."""

    SUBJECT = "Texts that no rule can judge"
    KEYS = keys.ADJUDICATION

    def __init__(self, store: Path, run: str) -> None:
        super().__init__()
        self.store = store
        self.run = run
        self.asking: Adjudication | None = None
        self.failure = ""
        self.at = 0
        self.decided: set[int] = set()

    @property
    def question(self) -> Unsettled | None:
        """The pair that is shown; None before there is one, and after the last."""
        questions = self.asking.questions if self.asking else []
        return questions[self.at] if self.at < len(questions) else None

    def compose(self) -> ComposeResult:
        yield Lines(id="header")
        yield Page(id="page")
        yield KeyBar()

    def on_mount(self) -> None:
        self.show_state()
        self.in_background(lambda: Adjudication(self.store, self.run), self._take, self._take)

    def _take(self, asking: Adjudication | str) -> None:
        if isinstance(asking, str):
            self.failure = asking
        else:
            self.asking = asking
        self.show_state()

    def show_state(self) -> None:
        """Show the pair, or why there is none."""
        of = len(self.asking.questions) if self.asking else 0
        right: list[Span] = [(f"{self.asking.answered} answered ", Tint.MUTED)] if self.asking else []
        self.show_header([(f"  unclear texts of run {inert_line(self.run)}", Tint.STRONG)], right)
        page = PageWriter(self.size.width)
        if self.question is not None:
            for line in question_text(self.question, self.at + 1, of).splitlines():
                page.flush([(inert(line), Tint.PLAIN)])
            page.gap()
            page.note(QUESTION, Tint.STRONG)
        else:
            page.note(self._nothing)
        self.query_one(Page).show_page([BLANK, *page.lines])
        self.refresh_bindings()

    @property
    def _nothing(self) -> str:
        if self.failure:
            return self.failure
        if self.asking is None:
            return "reading what is unclear .."
        if not self.asking.questions:
            return "no unclear text is left to judge"
        return f"that was the last one; rig score {self.run} scores the run with your answers"

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action not in ("answer", "skip") or self.question is not None

    def action_answer(self, same: bool) -> None:
        if self.asking is None or self.question is None:
            return
        try:
            self.asking.answer(self.question, same=same)
        except RigError as error:
            self.say_fault(str(error))
        else:
            self.decided.add(self.at)
            self.action_skip()

    def action_undo(self) -> None:
        """Go back to the pair before, and take back what was said of it here."""
        if self.asking is None or not self.at:
            return
        self.at -= 1
        if self.at in self.decided:
            self.asking.answer(self.asking.questions[self.at], same=None)
            self.decided.remove(self.at)
        self.show_state()

    def action_skip(self) -> None:
        self.at += 1
        self.show_state()
