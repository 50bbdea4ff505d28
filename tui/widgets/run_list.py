"""The stored runs as a list to choose from, a line each."""

from collections.abc import Sequence

from textual import events

from rig.displays import signs
from rig.displays.texts import headline, out_of
from rig.store import StoredRun
from tui.text.lines import Line, Span, Tint, fit, inert_line, pad
from tui.widgets.lines import Lines, RowOpened, RowPicked


class StoredRunList:
    """Runs, newest first. The cursor stays with its run when others come, go, or are filtered out."""

    def __init__(self) -> None:
        self.runs: list[StoredRun] = []
        self.term = ""
        self.marked: list[str] = []
        """Ids, in the order in which they were marked."""
        self._id: str | None = None
        self.place = 0
        """The row of the cursor."""

    def take(self, runs: Sequence[StoredRun]) -> None:
        """These are the runs now."""
        self.runs = list(runs)
        ids = {run.id for run in runs}
        self.marked = [run_id for run_id in self.marked if run_id in ids]
        self._settle()

    def filter(self, term: str) -> None:
        """Show only runs that have every word of `term` in their id, name, state, day, arms or settings."""
        self.term = term
        self._settle()

    @property
    def visible(self) -> list[StoredRun]:
        """The runs that the filter lets through."""
        words = self.term.casefold().split()
        return [run for run in self.runs if not words or all(word in _haystack(run) for word in words)]

    @property
    def run(self) -> StoredRun | None:
        """The run at the cursor."""
        runs = self.visible
        return runs[self.place] if self.place < len(runs) else None

    def move(self, by: int) -> None:
        """Move the cursor, as far as there are rows."""
        self.move_to(self.place + by)

    def move_to(self, place: int) -> None:
        """Put the cursor on a row."""
        runs = self.visible
        self.place = min(max(place, 0), max(len(runs) - 1, 0))
        self._id = runs[self.place].id if runs else None

    def mark(self) -> None:
        """Mark the run at the cursor, or take its mark away, and go on to the next."""
        run = self.run
        if run is None:
            return
        if run.id in self.marked:
            self.marked.remove(run.id)
        else:
            self.marked.append(run.id)
        self.move(1)

    @property
    def chosen(self) -> list[str]:
        """The marked runs, else the one at the cursor."""
        return self.marked or ([self.run.id] if self.run else [])

    def _settle(self) -> None:
        runs = self.visible
        place = next((number for number, run in enumerate(runs) if run.id == self._id), self.place)
        self.move_to(place)


def _haystack(run: StoredRun) -> str:
    parts = [run.id, run.name or "", run.state, f"{run.created.astimezone():%Y-%m-%d}"]
    parts += [arm.name for arm in run.arms]
    parts += [f"{name}={value}" for name, value in run.settings.items()]
    return "\n".join(parts).casefold()


STATES = {sign.word: sign for sign in (signs.FINISHED_RUN, signs.RUNNING_RUN, signs.INTERRUPTED_RUN)}

SIGNS = tuple((sign.glyph, sign.word) for sign in (*STATES.values(), signs.MARKED))
"""What the signs mean, for help and documentation."""


class RunList(Lines):
    """A header and a row for each run in sight of the filter. A second click on a row opens it."""

    _place = 0

    def show_runs(self, run_list: StoredRunList) -> None:
        """Bring the list up to date."""
        width, runs = self.size.width, run_list.visible
        if not width:
            return
        names = min(max([4, *(len(inert_line(run.name or "")) for run in runs)]), 16 if width < 100 else 28)
        header = f"    {'run':<7} {'name':<{names + 1}}{'started':<17}{'turns':>11}  success"
        lines = [fit([(header, Tint.MUTED)], width)]
        for number, run in enumerate(runs):
            is_marked = run.id in run_list.marked
            lines.append(_row(run, number == run_list.place, is_marked, names, width))
        if not runs:
            empty = "no run matches" if run_list.runs else "no run is stored yet; rig run makes one"
            lines.append(((f"   {empty}", Tint.MUTED),))
        self.show(lines)
        before, self._place = self._place, run_list.place
        if run_list.place != before:
            # The first run brings the header with it.
            self.bring_into_sight(run_list.place, min(run_list.place + 2, len(self.lines) - 1))

    def on_click(self, event: events.Click) -> None:
        number = self.line_at(event) - 1
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
