"""Questions with a few answers, each with its own key."""

from typing import NamedTuple

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui.screens.base import Leave
from tui.text.lines import inert


class Alternative(NamedTuple):
    """An answer: its key, what it says, and the value it stands for."""

    key: str
    says: str
    value: str


class AskScreen(ModalScreen[str | None]):
    """Asks, and is dismissed with the value of the answer chosen, or with None when nothing was.

    The last line is always `esc  cancel`. Texts are shown as they are, whatever they hold.
    """

    def __init__(self, question: str, *answers: Alternative) -> None:
        super().__init__()
        self.question = question
        self.answers = answers
        for answer in answers:
            self._bindings.bind(answer.key, f"choose({answer.value!r})", answer.says)
        for key in {"escape", "c", "q"} - {answer.key for answer in answers}:
            self._bindings.bind(key, "choose('')", "cancel")

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(inert(self.question), markup=False, id="question")
            yield OptionList(
                *(Option(f"{answer.key:<4} {inert(answer.says)}", answer.value) for answer in self.answers),
                Option("esc  cancel", ""),
                markup=False,
                compact=True,
            )

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()

    def action_choose(self, value: str) -> None:
        self.dismiss(value or None)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id or None)


class QuitScreen(AskScreen):
    """Dismissed with the value of a `Leave`, or None to stay."""

    def __init__(self) -> None:
        super().__init__(
            "The run is still going.",
            Alternative("s", "stop, and keep what there is (resumable)", Leave.STOP.value),
            Alternative("w", "keep it running without the view", Leave.DETACH.value),
        )


class WriteScreen(AskScreen):
    """Dismissed with the ending of the file to write, or None. `what` can be written as text."""

    def __init__(self, what: str) -> None:
        super().__init__(
            "Write to the folder that rig was started in:",
            Alternative("j", "this conversation as JSON, all that is stored of it", "json"),
            Alternative("t", f"this {what} as text", "txt"),
            Alternative("p", "this screen as a picture (SVG)", "svg"),
        )
