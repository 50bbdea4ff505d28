"""The application: looks, keys that work everywhere, the command palette, and how screens are stacked.

Greys are nearly neutral: in a terminal of 256 colours anything bluer turns navy.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar, NamedTuple

from textual.app import App
from textual.binding import Binding, BindingType
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.screen import Screen
from textual.theme import BUILTIN_THEMES, Theme
from textual.worker import WorkerFailed

from rig.config import own_keys
from rig.displays.signs import is_ascii
from tui.screens.base import Leave, Resume, RigScreen, RunsOpened
from tui.screens.pages import HelpScreen
from tui.screens.runs import RunsScreen
from tui.widgets.keys import Section, bindings_of, display, remapped, section


class Command(NamedTuple):
    """A line of the palette."""

    name: str
    help: str
    do: Callable[[], object]


class KeyCommands(Provider):
    """Offers the bindings of the screen that are possible at the moment, and the themes."""

    async def discover(self) -> Hits:
        for command in self.commands():
            yield DiscoveryHit(command.name, command.do, help=command.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for command in self.commands():
            score = matcher.match(command.name)
            if score > 0:
                yield Hit(score, matcher.highlight(command.name), command.do, help=command.help)

    def commands(self) -> Iterator[Command]:
        """Every command, in the order of the bindings."""
        seen = set()
        for active in self.screen.active_bindings.values():
            does = active.binding.tooltip
            if not does or not active.enabled or active.binding.action in seen:
                continue
            seen.add(active.binding.action)
            run = partial(self.app.run_action, active.binding.action, active.node)
            yield Command(does, display(active.binding), run)
        for name in self.app.available_themes:
            if name.startswith("rig-"):
                use = partial(setattr, self.app, "theme", name)
                yield Command(f"theme {name.removeprefix('rig-')}", name, use)


class RigApp(App[Leave | Resume]):
    """Shows a first screen; it ends when that one is left.

    It returns what is to become of a run that goes on in this process, or which run is to be gone on with.
    """

    TITLE = "rig"
    CSS_PATH = "rig.tcss"
    COMMANDS = {KeyCommands}  # noqa: RUF012 - as Textual declares it
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [  # noqa: RUF012 - as Textual declares it
        (0, "-narrow"),
        (60, "-normal"),
        (116, "-wide"),
        (160, "-vast"),
    ]
    VERTICAL_BREAKPOINTS: list[tuple[int, str]] | None = [  # noqa: RUF012 - as Textual declares it
        (0, "-low"),
        (34, "-high"),
    ]
    KEYS: ClassVar[tuple[Section, ...]] = (
        section(
            "Everywhere",
            Binding("question_mark", "help", "help", key_display="?", tooltip="this help"),
            Binding("t", "next_theme", "theme", tooltip="change the theme (dark, light, terminal)"),
            Binding("ctrl+p", "command_palette", "commands", show=False, tooltip="find a command"),
            Binding("ctrl+c,ctrl+q", "quit_all", "quit", False, priority=True, tooltip="end the application"),
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(KEYS)

    def __init__(self, first: Screen[None]) -> None:
        super().__init__()
        self.animation_level = "none"
        self.fault: BaseException | None = None
        self._first = first
        self._keys = own_keys()
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = default_theme(os.environ)

    def on_mount(self) -> None:
        self.set_class(is_ascii(), "-ascii")
        self.set_keymap(self._keys)

    def get_default_screen(self) -> Screen[None]:
        return self._first

    def _handle_exception(self, error: Exception) -> None:
        # What failed in a thread has its traceback in the exception that this one only tells of.
        self.fault = error.error if isinstance(error, WorkerFailed) else error
        super()._handle_exception(error)

    def copy_to_clipboard(self, text: str) -> None:
        """Lone surrogates, which a model can write and no terminal takes, are copied as escapes."""
        super().copy_to_clipboard(text.encode("utf-8", "backslashreplace").decode())

    def _print_error_renderables(self) -> None:
        """Nothing: whoever runs the app gets the `fault` and says it in fewer words."""
        self._exit_renderables.clear()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action not in ("help", "next_theme") or isinstance(self.screen, RigScreen)

    def on_runs_opened(self, message: RunsOpened) -> None:
        self.push_screen(RunsScreen(message.store, may_resume=message.may_resume))

    def action_help(self) -> None:
        screen = self.screen
        if isinstance(screen, RigScreen):
            sections = remapped((*screen.KEYS, *self.KEYS), self._keys)
            self.push_screen(HelpScreen(screen.SUBJECT, sections, screen.SIGNS))

    def action_next_theme(self) -> None:
        self.theme = next_theme(self.theme)

    async def action_quit(self) -> None:
        """Textual's own key for quitting asks as well."""
        self.action_quit_all()

    def action_quit_all(self) -> None:
        """End, after the first screen that minds was asked."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, RigScreen) and screen.minds_quitting():
                return
        self.exit()


DARK = Theme(
    name="rig-dark",
    dark=True,
    primary="#82aaca",
    secondary="#9a9fd0",
    accent="#6fb7b0",
    foreground="#cfd3d9",
    background="#15171a",
    surface="#1c1e22",
    panel="#25282d",
    success="#86b77f",
    warning="#d3a962",
    error="#e06c6c",
    variables={
        "quiet": "#7c848f",
        "strong": "#eef1f5",
        "string": "#a9c29a",
        "number": "#d0a982",
        "track": "#3b4048",
        "on-alarm": "#ffffff",
        "alarm": "#b02a2a",
    },
)

LIGHT = Theme(
    name="rig-light",
    dark=False,
    primary="#2d6389",
    secondary="#5a5aa0",
    accent="#1f746c",
    foreground="#31363d",
    background="#fcfcfb",
    surface="#f3f3f1",
    panel="#e6e6e3",
    success="#3a7438",
    warning="#8a5f00",
    error="#b12a2a",
    variables={
        "quiet": "#757b84",
        "strong": "#0f1216",
        "string": "#4b6b33",
        "number": "#8b4f1c",
        "track": "#cfcfca",
        "on-alarm": "#ffffff",
        "alarm": "#b12a2a",
    },
)

_ANSI = BUILTIN_THEMES["ansi-dark"]

TERMINAL = replace(
    _ANSI,
    name="rig-terminal",
    accent="ansi_cyan",
    variables={
        **_ANSI.variables,
        "quiet": "ansi_bright_black",
        "strong": "ansi_default",
        "string": "ansi_green",
        "number": "ansi_yellow",
        "track": "ansi_bright_black",
        "on-alarm": "ansi_bright_white",
        "alarm": "ansi_red",
    },
)

THEMES = (DARK, LIGHT, TERMINAL)


def default_theme(environment: Mapping[str, str]) -> str:
    """The theme to begin with: the light one where the terminal says that its background is light.

    Only `COLORFGBG` is believed; asking the terminal itself hangs or lies inside tmux.
    """
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT.name if background in {"7", "15"} else DARK.name


def next_theme(name: str) -> str:
    """The theme after this one, in a circle."""
    names = [theme.name for theme in THEMES]
    return names[(names.index(name) + 1) % len(names)] if name in names else names[0]
