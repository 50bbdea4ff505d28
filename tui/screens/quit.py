"""The question that quitting asks while the run is going."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui.leave import Leave

_CHOICES: dict[str, Leave | None] = {"stop": Leave.STOP, "detach": Leave.DETACH, "cancel": None}


class QuitScreen(ModalScreen[Leave | None]):
    """Dismissed with the way to leave, or None to stay."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "choose('stop')", "stop and keep"),
        Binding("w", "choose('detach')", "go on without the view"),
        Binding("escape,c,q", "choose('cancel')", "cancel"),
    ]

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static("The run is still going.", markup=False, id="question")
            yield OptionList(
                Option("s  stop, and keep what there is (resumable)", "stop"),
                Option("w  go on without the view", "detach"),
                Option("c  cancel", "cancel"),
                markup=False,
                compact=True,
            )

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()

    def action_choose(self, choice: str) -> None:
        self.dismiss(_CHOICES[choice])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(_CHOICES[event.option_id or "cancel"])
