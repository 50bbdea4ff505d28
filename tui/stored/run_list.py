"""The stored runs as a list to choose from: which are in sight, which are marked, where the cursor is."""

from collections.abc import Sequence

from rig.store import StoredRun


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
