"""The top line: which run, what it is doing, how far."""

from tui.live.state import RunState
from tui.text.bars import progress
from tui.text.inert import inert_line
from tui.text.lines import Line, Span, Tint, spread
from tui.widgets.lines import Lines

BAR = 20


class Header(Lines):
    """One line; the bar counts turns, the number beside it conversations."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: tuple[object, ...] = ()

    def show_run(self, state: RunState, condition: str) -> None:
        """Bring the line up to date. `condition` is a word for what the run is doing, or empty."""
        shown = (self.size.width, condition, state.run, state.changes, state.turns_done, len(state.arms))
        if shown == self._shown:
            return
        self._shown = shown
        left: list[Span] = [(" rig ", Tint.BRAND), ("  ", Tint.PLAIN)]
        if len(state.arms) == 1:
            left.append((inert_line(state.arms[0].info.name), Tint.STRONG))
        elif state.arms:
            left.append((f"{len(state.arms)} arms", Tint.STRONG))
        if state.run:
            left.append((f"   run {inert_line(state.run)}", Tint.MUTED))
        if condition:
            left.append((f"   {condition}", Tint.RUNNING))
        self.show([spread(left, _progress(state, self.size.width), self.size.width)])


def _progress(state: RunState, width: int) -> Line:
    if not state.turns_total:
        return ()
    over = sum(conversation.status.over for conversation in state.conversations.values())
    size = BAR if width >= 100 else BAR // 2
    return (
        *progress(state.turns_done, state.turns_total, size),
        (f" {over}/{len(state.conversations)} ", Tint.STRONG),
    )
