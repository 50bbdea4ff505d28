"""The question that quitting asks while the run is going."""

from tui.leave import Leave
from tui.screens.ask import Answer, AskScreen


class QuitScreen(AskScreen):
    """Dismissed with the value of a `Leave`, or None to stay."""

    def __init__(self) -> None:
        super().__init__(
            "The run is still going.",
            Answer("s", "stop, and keep what there is (resumable)", Leave.STOP.value),
            Answer("w", "keep it running without the view", Leave.DETACH.value),
        )
