"""The stored runs, a line each."""

from textual import events

from rig.displays import signs
from rig.displays.texts import headline, out_of
from rig.store import StoredRun
from tui.stored.run_list import StoredRunList
from tui.text.lines import Line, Span, Tint, fit, inert_line, pad
from tui.widgets.lines import Lines
from tui.widgets.messages import RowOpened, RowPicked

STATES = {sign.word: sign for sign in (signs.FINISHED_RUN, signs.RUNNING_RUN, signs.INTERRUPTED_RUN)}

SIGNS = tuple((sign.glyph, sign.word) for sign in (*STATES.values(), signs.MARKED))
"""What the signs mean, for help and documentation."""


class RunList(Lines):
    """A header and a row for each run in sight of the filter. A second click on a row opens it."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._place = 0

    def show_runs(self, run_list: StoredRunList) -> None:
        """Bring the list up to date."""
        width, runs = self.size.width, run_list.visible
        if not width:
            return
        names = min(max([4, *(len(inert_line(run.name or "")) for run in runs)]), 16 if width < 100 else 28)
        rows = [
            _row(run, number == run_list.place, run.id in run_list.marked, names, width)
            for number, run in enumerate(runs)
        ]
        empty = "no run matches" if run_list.runs else "no run is stored yet; rig run makes one"
        header = f"    {'run':<7} {'name':<{names + 1}}{'started':<17}{'turns':>11}  success"
        self.show([fit([(header, Tint.MUTED)], width), *(rows or [((f"   {empty}", Tint.MUTED),)])])
        before, self._place = self._place, run_list.place
        if run_list.place != before:
            # The first run brings the header with it.
            self.bring_into_sight(run_list.place, min(run_list.place + 2, len(self.lines) - 1))

    def on_click(self, event: events.Click) -> None:
        number = event.y + self.scroll_offset.y - 1
        if 0 <= number < len(self.lines) - 1:
            self.post_message(RowOpened(number) if event.chain > 1 else RowPicked(number))


def _row(run: StoredRun, is_chosen: bool, is_marked: bool, names: int, width: int) -> Line:
    bar: Span = (str(signs.CURSOR) if is_chosen else " ", Tint.RUNNING)
    mark: Span = (signs.MARKED.sign if is_marked else " ", Tint.CALL)
    tint = Tint.STRONG if is_chosen else Tint.PLAIN
    state = STATES[run.state]
    line: list[Span] = [bar, mark, (state.sign, Tint(state.tint)), (f" {inert_line(run.id):<7}", tint)]
    line += pad(fit([(inert_line(run.name or ""), tint)], names), names + 1)
    line.append((f"{run.created.astimezone():%Y-%m-%d %H:%M} ", Tint.MUTED))
    done = out_of(run.turns_done, run.turns).rjust(11)
    line.append((done, Tint.MUTED if run.state == "finished" else tint))
    for number, arm in enumerate(run.arms):
        rate = headline(run.declaration, arm.rated)
        line += [(", " if number else "  ", Tint.MUTED), (rate, Tint.NUMBER)]
        line.append((f" {inert_line(arm.name)}", tint))
    return fit(line, width)
