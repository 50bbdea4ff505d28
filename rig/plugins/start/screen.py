"""The screen of `rig` alone: files, tools and patience to choose, and the command that they make."""

import os
import shlex
import time
from pathlib import Path
from textwrap import wrap
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.worker import get_current_worker

from rig.compare.recommendation import suites_of
from rig.core.meters import available_cores
from rig.methods import first
from rig.plugins.llama.memory.plan import machine_memory
from rig.plugins.start import launch
from rig.plugins.start.places import FileFacts, FoundFile, find, fit, grouped, read
from rig.show.table import middle
from rig.show.texts import file_size
from tui.screens.base import RigScreen
from tui.text.lines import BLANK, Line, Span, Tint, inert_line, pad
from tui.text.lines import fit as fitted
from tui.widgets.keys import KeyBar, Section
from tui.widgets.lines import Lines

_READING_S = 30.0
"""How long headers are read; what is left then stays unread, and can be run all the same."""
_SUITES = ("easy", "medium")


class StartScreen(RigScreen[None]):
    """The model files of this machine, to choose some and run them. Nothing is opened before it is listed."""

    SUBJECT = "The way in: model files, tools and patience"
    CSS = "#choice { height: 8; background: $panel; padding: 0 1; }"
    KEYS: ClassVar[tuple[Section, ...]] = (
        Section(
            "Choosing",
            Binding("enter", "run", "run", tooltip="run the command at the bottom", key_display="enter"),
            Binding(
                "space", "pick", "pick", tooltip="pick a file, or all files of a model", key_display="space"
            ),
            Binding("p", "patience", "patience", tooltip="how long it may take"),
            Binding("o", "tools", "tools", tooltip="rig's tools, or your own in a folder of this one"),
            Binding("n", "group(1)", "next model", tooltip="go to the next model"),
            Binding("N", "group(-1)", "model before", show=False, tooltip="go to the model before"),
            Binding("down,j", "move(1)", "down", show=False, tooltip="go down"),
            Binding("up,k", "move(-1)", "up", show=False, tooltip="go up"),
            Binding("escape,q", "leave", "leave", tooltip="leave, and run nothing", key_display="esc q"),
        ),
    )

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[FoundFile | str] = []
        """The files, each model's below its name."""
        self.labels: dict[Path, str] = {}
        """What tells the files of a model apart."""
        self.headers: dict[Path, FileFacts] = {}
        self.picked: set[Path] = set()
        self.here = 0
        self.is_found = False
        self.patience, self.tool = "1 hour", 0
        self.tools, self.remark = [launch.OWN], ""
        self.suites: dict[str, int] = {}
        self.memory = machine_memory()

    def compose(self) -> ComposeResult:
        yield Lines(id="header")
        yield Lines(id="page")
        yield Lines(id="choice")
        yield KeyBar()

    def on_mount(self) -> None:
        super().on_mount()
        self.run_worker(self._look, thread=True)

    # Looking around, in a thread

    def _look(self) -> None:
        worker = get_current_worker()
        groups = grouped(find(os.environ, Path.home()))
        tools, remark = launch.tools_here()
        sizes = {name: size for name, size, _ in suites_of(first().name) if name in _SUITES}
        if worker.is_cancelled:
            return
        self.app.call_from_thread(self._take, groups, tools, remark, sizes)
        until = time.monotonic() + _READING_S
        for file in (file for _, files in groups for file in files):
            if worker.is_cancelled or time.monotonic() > until:
                return
            header = read(file.path)
            if not worker.is_cancelled:
                self.app.call_from_thread(self._take_header, file, header)

    def _take(
        self,
        groups: list[tuple[str, list[FoundFile]]],
        tools: list[launch.Tools],
        remark: str,
        sizes: dict[str, int],
    ) -> None:
        self.rows = []
        for name, files in groups:
            self.rows += (name, *files)
            for file in files:
                own = file.name[len(name) :] if file.name.lower().startswith(name.lower()) else ""
                self.labels[file.path] = inert_line(own.lstrip("-._ ") or file.name)
        self.tools, self.remark, self.suites = tools, remark, sizes
        self.is_found = True
        self.show_state()

    def _take_header(self, file: FoundFile, header: FileFacts) -> None:
        self.headers[file.path] = header
        if header.fault:
            self.picked.discard(file.path)
        self.show_state()

    # Choosing

    @property
    def files(self) -> list[FoundFile]:
        """The picked files."""
        return [row for row in self.rows if isinstance(row, FoundFile) and row.path in self.picked]

    @property
    def words(self) -> list[str]:
        """The words of the command behind `rig`, none before a file is picked."""
        if not self.files:
            return []
        seconds = launch.PATIENCE[self.patience]
        return launch.command(self.files, seconds, self.tools[self.tool], self.suites, available_cores())

    def action_move(self, step: int) -> None:
        self.here = min(max(self.here + step, 0), max(len(self.rows) - 1, 0))
        self.show_state()

    def action_group(self, step: int) -> None:
        names = [number for number, row in enumerate(self.rows) if isinstance(row, str)]
        ahead = [number for number in names if (number - self.here) * step > 0]
        if ahead:
            self.here = ahead[0] if step > 0 else ahead[-1]
            self.show_state()

    def action_pick(self) -> None:
        if not self.rows:
            return
        below = self.here + 1
        chosen = [self.rows[self.here]]
        while isinstance(self.rows[self.here], str) and below < len(self.rows):
            if isinstance(self.rows[below], str):
                break
            chosen.append(self.rows[below])
            below += 1
        paths = {row.path for row in chosen if isinstance(row, FoundFile) and not self._fault(row)}
        self.picked = self.picked - paths if paths <= self.picked else self.picked | paths
        self.show_state()

    def action_patience(self) -> None:
        ways = list(launch.PATIENCE)
        self.patience = ways[(ways.index(self.patience) + 1) % len(ways)]
        self.show_state()

    def action_tools(self) -> None:
        self.tool = (self.tool + 1) % len(self.tools)
        self.show_state()

    def action_run(self) -> None:
        if not self.words:
            self.say_fault("pick a file first, with space")
        else:
            self.app.exit(shlex.join(self.words))

    def _fault(self, file: FoundFile) -> str:
        return self.headers.get(file.path, FileFacts()).fault

    # Showing

    def show_state(self) -> None:
        page, choice = self.query_one("#page", Lines), self.query_one("#choice", Lines)
        if not self.is_shown or not page.size.width:
            return
        free = f"{file_size(self.memory.free)} of {file_size(self.memory.total)} free "
        self.show_header([("  model files", Tint.STRONG)], [(free, Tint.MUTED)])
        page.show(
            [self._row(number, page.size.width - 1) for number in range(len(self.rows))] or self._none()
        )
        if self.rows:
            page.bring_into_sight(self.here, self.here)
        choice.show(self._choice(choice.size.width))
        self.refresh_bindings()

    def _none(self) -> list[Line]:
        if not self.is_found:
            return [((" looking for model files …", Tint.MUTED),)]
        lines = (
            "No GGUF file is here, or where LM Studio, Ollama, Hugging Face and llama.cpp keep theirs.",
            "rig models pull smollm2-135m-tools fetches a small one; rig demo shows a recorded run.",
        )
        return [BLANK, *(((f" {line}", Tint.PLAIN),) for line in lines)]

    def _row(self, number: int, width: int) -> Line:
        row, is_here = self.rows[number], number == self.here
        cursor: Span = ("> " if is_here else "  ", Tint.CURSOR if is_here else Tint.PLAIN)
        if isinstance(row, str):
            return pad([cursor, (inert_line(row), Tint.TITLE)], width)
        header = self.headers.get(row.path)
        mark = ("[x] ", Tint.SUCCESS) if row.path in self.picked else ("[ ] ", Tint.MUTED)
        room = min(max(map(len, self.labels.values())), max(width - 64, 12))
        name = middle(self.labels[row.path], room)
        line: list[Span] = [
            cursor,
            mark,
            *pad([(name, Tint.STRONG)], room),
            (f" {file_size(row.size):>11}  ", Tint.PLAIN),
        ]
        if header is None:
            return fitted([*line, ("…", Tint.MUTED)], width)
        if header.fault:
            line[1] = ("  ! ", Tint.ERROR)
            return fitted([*line, (inert_line(header.fault), Tint.ERROR)], width)
        bits = f"{header.bits:.1f} bits" if header.bits else ""
        fits = fit(row.size, self.memory)
        line += [(f"{inert_line(header.quantization)[:8]:<9}{bits:<10}", Tint.PLAIN)]
        line += [(f"{fits:<6}", Tint.PLAIN if fits == "fits" else Tint.ERROR)]
        line += [(header.tools, Tint.PLAIN if header.tools == "tools" else Tint.ERROR)]
        return fitted([*line, (f"  {row.place}", Tint.MUTED)], width)

    def _choice(self, width: int) -> list[Line]:
        """Return what is chosen, and the command."""
        lines: list[Line] = [
            (("files     ", Tint.MUTED), (launch.in_words(self.files), Tint.STRONG)),
            (
                ("tools     ", Tint.MUTED),
                (inert_line(self.tools[self.tool].title), Tint.STRONG),
                self._more(),
            ),
            (("patience  ", Tint.MUTED), (self.patience, Tint.STRONG), ("  roughly", Tint.MUTED)),
        ]
        if self.remark:
            lines.append(((inert_line(self.remark), Tint.MUTED),))
        text = inert_line(shlex.join(["rig", *self.words])) if self.words else "space picks, enter runs"
        command = wrap(text, max(width - 2, 20), break_on_hyphens=False)
        return [fitted(line, width) for line in (*lines, BLANK, *(((part, Tint.CALL),) for part in command))]

    def _more(self) -> Span:
        others = len(self.tools) - 1
        return (f"  o: {others} more" if others else "", Tint.MUTED)
