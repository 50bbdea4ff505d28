"""The top line: which arm, which run, how far."""

from tui.inert import inert_line
from tui.lines import Line, Span, Tint, spread
from tui.state import RunState
from tui.widgets.lines import Lines

BAR = 20


class Header(Lines):
    """One line; the bar counts turns, the number beside it conversations."""

    def show_run(self, state: RunState, arm: int, condition: str) -> None:
        """Bring the line up to date. `condition` is a word for what the run is doing, or empty."""
        left: list[Span] = [(" rig ", Tint.BRAND), ("  ", Tint.PLAIN)]
        if state.arms:
            name = inert_line(state.arm(arm).info.name)
            of = f" ({arm + 1} of {len(state.arms)})" if len(state.arms) > 1 else ""
            left += [(name, Tint.STRONG), (of, Tint.MUTED)]
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
    full = min(size * state.turns_done // state.turns_total, size)
    return (
        (" " * full, Tint.BAR),
        (" " * (size - full), Tint.TRACK),
        (f" {over}/{len(state.conversations)} ", Tint.STRONG),
    )
