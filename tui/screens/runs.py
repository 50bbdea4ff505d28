"""The stored runs: choose one to open, watch, resume, compare or delete."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Vertical

from rig.core.calls import Json
from rig.core.errors import RigError
from rig.plugins.replay.player import Player
from rig.show.summary import summary
from rig.show.texts import clock_time, out_of
from rig.store import Runs, StoredRun, delete_run
from tui.live.live_run import Replay
from tui.screens import keys
from tui.screens.base import Alternative, AskScreen, Resume, RigScreen
from tui.screens.pages import AdjudicationScreen, TextScreen
from tui.screens.run import WatchScreen
from tui.text.lines import Span, Tint, fit, inert, inert_line
from tui.text.page_writer import PageWriter, unread
from tui.widgets.keys import KeyBar
from tui.widgets.lines import Lines, RowPicked, SearchBar, SearchChanged
from tui.widgets.lists import SIGNS, RunList, StoredRunList

LOOK_S = 1.0
"""The seconds between checks whether the store changed."""

PRESENCE_S = 5.0
"""The seconds between reads of an unchanged store while a process writes a run, as it may have died."""

_SHARE = 0.05
"""The largest share of time that is spent reading the store."""


class RunsScreen(RigScreen[None]):
    """The list of stored runs, newest first, and below it the numbers of the run at the cursor.

    `may_resume` says whether the application can end to resume a run.
    """

    SUBJECT = "The stored runs"
    LISTS_RUNS = True
    KEYS = keys.RUNS
    SIGNS = SIGNS

    def __init__(self, store: Path, *, may_resume: bool = True) -> None:
        super().__init__()
        self.store = store
        self.may_resume = may_resume
        self.run_list = StoredRunList()
        self.failure = ""
        self.is_read = False
        self._seen: tuple[object, ...] = ()
        self._next_look = 0.0
        self._process: CompareProcess | None = None
        self._previewed: StoredRun | None = None

    def compose(self) -> ComposeResult:
        yield Lines(id="header")
        with Vertical(id="run_list"):
            yield RunList(id="runs")
            yield SearchBar("words that the run has to have", id="search")
            yield Lines(id="page")
        yield KeyBar()

    @property
    def page(self) -> Lines:
        """The widget with the numbers of a run."""
        return self.query_one("#page", Lines)

    # Reading the store

    def on_mount(self) -> None:
        self.look()
        self.set_interval(LOOK_S, self._look_again)

    def _look_again(self) -> None:
        now = time.monotonic()
        if self._process is not None:
            self._show_header()
        is_written = any(run.is_running for run in self.run_list.runs)
        if now >= self._next_look and (is_written or _signs(self.store) != self._seen):
            self.look()

    def look(self) -> None:
        """Read the store in a thread."""
        self._next_look = float("inf")
        self._seen = _signs(self.store)
        began = time.monotonic()

        def read() -> list[StoredRun]:
            with Runs.open(self.store) as runs:
                return runs.all()

        def take(result: list[StoredRun] | str) -> None:
            took_s = time.monotonic() - began
            self.is_read = True
            self.failure = result if isinstance(result, str) else ""
            if not isinstance(result, str):
                self.run_list.take(result)
            is_quiet = _signs(self.store) == self._seen
            pause_s = PRESENCE_S if is_quiet and any(run.is_running for run in self.run_list.runs) else LOOK_S
            self._next_look = time.monotonic() + max(pause_s, took_s / _SHARE)
            self.show_state()

        self.in_background(read, take, take, group="runs")

    # Showing

    def show_state(self) -> None:
        """Update every widget."""
        if not self.is_shown or not self.page.size.width:
            return
        self._show_header()
        if self.failure or not self.is_read:
            self.query_one(RunList).styles.height = 0
            self.page.show(unread(self.failure, self.page.size.width))
        else:
            # The list gets the lines it needs, up to two fifths of the height; the numbers get the rest.
            room = max(2 * self.query_one("#run_list").size.height // 5, 5)
            self.query_one(RunList).styles.height = min(len(self.run_list.visible) + 2, room)
            self.query_one(RunList).show_runs(self.run_list)
            self._show_preview(self.run_list.run)
        self.refresh_bindings()

    def _show_header(self) -> None:
        run_list = self.run_list
        store = (f"  {inert_line(str(self.store))}", Tint.MUTED)
        right: list[Span] = [(f"{len(run_list.marked)} marked  ", Tint.CALL)] if run_list.marked else []
        if self._process is not None:
            right.append((f"comparing, {self._process.elapsed_s:.0f} s   ", Tint.RUNNING))
        if run_list.term:
            right.append((f"{inert_line(run_list.term)}: {len(run_list.visible)} of ", Tint.RUNNING))
        self.show_header([("  runs", Tint.STRONG), store], [*right, (f"{len(run_list.runs)} ", Tint.STRONG)])

    def _show_preview(self, run: StoredRun | None) -> None:
        page = PageWriter(self.page.size.width)
        if run is not None:
            write_run(page, run)
        self.page.show(page.lines)
        before, self._previewed = self._previewed, run
        if (before.id if before else None) != (run.id if run else None):
            self.page.jump_to(0)

    def on_screen_resume(self) -> None:
        self.show_state()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        run = self.run_list.run
        match action:
            case "compare":
                return self._process is None and run is not None
            case "open" | "mark" | "copy" | "move" | "scroll" | "watch":
                return run is not None
            case "delete":
                return run is not None and not run.is_running
            case "resume":
                return self.may_resume and run is not None and run.state == "interrupted"
            case "filter":
                return bool(self.run_list.runs)
            case "end_filter":
                return bool(self.run_list.term or self.run_list.marked)
            case _:
                return True

    # The list

    def action_move(self, by: int) -> None:
        self.run_list.move(by)
        self.show_state()

    def action_mark(self) -> None:
        self.run_list.mark()
        self.show_state()

    def action_scroll(self, pages: int) -> None:
        self.page.scroll_pages(pages)

    def action_filter(self) -> None:
        self.query_one(SearchBar).open()

    def action_end_filter(self) -> None:
        self.query_one(SearchBar).value = ""
        self.run_list.marked = []
        self.run_list.filter("")
        self.show_state()

    def on_search_changed(self, message: SearchChanged) -> None:
        self.run_list.filter(message.term)
        self.show_state()

    def on_row_picked(self, message: RowPicked) -> None:
        self.run_list.move_to(message.number)
        if message.opens:
            self.action_open()
        else:
            self.show_state()

    # The run at the cursor

    def action_open(self) -> None:
        self._play(at_end=True)

    def action_watch(self) -> None:
        self._play(at_end=False)

    def _play(self, *, at_end: bool) -> None:
        """Open a run once it is read, which takes long if the run is large or its store is locked."""
        run = self.run_list.run
        if run is None:
            return

        def show(player: Player) -> None:
            if self.is_current:
                self.app.push_screen(WatchScreen(Replay(player)))

        self.in_background(lambda: Player(self.store, run.id, at_end=at_end, stay=True), show, group="play")

    def action_resume(self) -> None:
        if self.run_list.run is not None:
            self.app.exit(Resume(self.run_list.run.id))

    def action_adjudicate(self) -> None:
        if self.run_list.run is not None:
            self.app.push_screen(AdjudicationScreen(self.store, self.run_list.run.id))

    def action_copy(self) -> None:
        if self.run_list.run is not None:
            self.app.copy_to_clipboard(self.run_list.run.id)
            self.notify(f"copied {inert_line(self.run_list.run.id)}", markup=False)

    def action_compare(self, is_of_paths: bool = False) -> None:
        if self.run_list.run is None:
            return
        runs = self.run_list.marked or [self.run_list.run.id]
        try:
            process = self._process = CompareProcess(
                self.store, runs, self.size.width if is_of_paths else None
            )
        except RigError as error:
            self.say_fault(str(error))
            return
        self.notify(f"comparing {', '.join(map(inert_line, process.runs))} ..", timeout=2, markup=False)

        def end(show: Callable[[str], object], text: str) -> None:
            self._process = None
            show(text)
            self.refresh_bindings()

        def show(text: str) -> None:
            if self.is_current:
                self.app.push_screen(TextScreen(f"compare {' '.join(process.runs)}", text))

        self.in_background(process.text, partial(end, show), partial(end, self.say_fault), group="compare")
        self.refresh_bindings()

    def on_unmount(self) -> None:
        if self._process is not None:
            # The process would keep the application from ending.
            self._process.give_up()

    def action_delete(self) -> None:
        run = self.run_list.run
        if run is None:
            return
        name = f" ({run.name})" if run.name else ""
        question = (
            f"Delete run {run.id}{name} of {run.created.astimezone():%Y-%m-%d %H:%M} "
            f"with its {run.turns_done} stored turns? Nothing brings it back."
        )
        answer = Alternative("d", "delete it", run.id)
        self.app.push_screen(AskScreen(question, answer), self._delete)

    def _delete(self, run: str | None) -> None:
        def tell(_: None) -> None:
            self.notify(inert(f"run {run} is deleted"), markup=False)
            self.look()

        if run is not None:
            self.in_background(lambda: delete_run(self.store, run), tell)


def _signs(store: Path) -> tuple[object, ...]:
    """Return the times and sizes of the store's files, which change if anything is stored."""
    signs: list[object] = []
    for path in (store, store.with_name(f"{store.name}-wal")):
        with suppress(OSError):
            status = path.stat()
            signs.append((path, status.st_mtime_ns, status.st_size))
    return tuple(signs)


_SETTINGS = (
    *("suite", "conversations", "world", "only", "limit", "docs", "tools", "history"),
    *("temperature", "seed", "repeats", "max_calls", "max_tokens", "grader"),
)


def write_run(page: PageWriter, run: StoredRun) -> None:
    """Write a run's settings and its summary."""
    page.title(f"run {run.id}", (f"  {inert_line(run.name or '')}", Tint.STRONG))
    took = sum(arm.speed.wall_s for arm in run.arms)
    state = f"{run.state}, {out_of(run.turns_done, run.turns, between=' of ')} turns in {clock_time(took)}"
    page.words(("state", Tint.MUTED), state)
    if run.state == "interrupted":
        page.words(("", Tint.MUTED), "resume it with r, or with rig run --resume", Tint.ERROR)
    values = ((name, run.settings.get(name)) for name in _SETTINGS)
    if settings := [f"{name} {_plain(value)}" for name, value in values if value not in (None, [], ())]:
        page.words(("settings", Tint.MUTED), ", ".join(settings))
    page.gap()
    for line in summary(run, page.width - 1).splitlines():
        page.lines.append(fit([(f" {inert_line(line)}", Tint.PLAIN)], page.width))


def _plain(value: Json) -> str:
    return "/".join(map(str, value)) if isinstance(value, list) else str(value)


class CompareProcess:
    """A `rig compare` of these runs, across any settings, in progress; with a width, of their paths.

    It runs in a separate process, as the statistics need seconds that the view and a run cannot spare.
    Raises RigError if it cannot be started.
    """

    def __init__(self, store: Path, runs: Sequence[str], width: int | None = None) -> None:
        self.runs = tuple(runs)
        self._began = time.monotonic()
        command = [
            sys.executable,
            "-m",
            "rig",
            "compare",
            "--full",
            *(["--paths"] if width else []),
            "--across-settings",
            "--runs",
            str(store),
            "--",
        ]
        try:
            self._process = subprocess.Popen(
                [*command, *runs],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                env={**os.environ, "COLUMNS": str(max((width or 0) - 2, 0))} if width else None,
            )
        except OSError as error:
            raise RigError(f"rig compare: {error}") from error

    @property
    def elapsed_s(self) -> float:
        """The seconds since it began."""
        return time.monotonic() - self._began

    def text(self) -> str:
        """Wait for the comparison, and return its output. Raises RigError with its last line if it failed."""
        out, errors = self._process.communicate()
        if self._process.returncode not in (0, 1):
            last = errors.strip().splitlines()[-1:] or [f"it ended with {self._process.returncode}"]
            raise RigError(last[0].removeprefix("rig: "))
        return out

    def give_up(self) -> None:
        """Kill the process, as nobody waits for its output."""
        self._process.kill()
