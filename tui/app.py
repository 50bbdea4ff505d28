"""The application: themes, keys that work everywhere, the command palette, and how screens are stacked.

Greys are nearly neutral: in a terminal of 256 colours anything bluer turns navy.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import CommandPalette, DiscoveryHit, Hits
from textual.screen import Screen
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.system_commands import SystemCommandsProvider
from textual.theme import BUILTIN_THEMES, Theme
from textual.worker import WorkerFailed

from rig.config.files import own_keys
from rig.show.signs import is_ascii
from tui.screens.base import Resume, RigScreen, RunsOpened
from tui.screens.pages import HelpScreen
from tui.screens.runs import RunsScreen
from tui.widgets.keys import Section, bindings_of, display, remapped


class KeyCommands(SystemCommandsProvider):
    """The commands of the application, offered in their own order."""

    async def discover(self) -> Hits:
        for name, help, do, _ in self.app.get_system_commands(self.screen):
            yield DiscoveryHit(name, do, help=help)


class AsciiScrollBar(ScrollBarRender):
    """A scroll bar whose ends are whole cells, as there are no parts of cells in ASCII."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8


class RigApp(App[str | Resume]):
    """The application, which ends when its first screen is left.

    It returns `DETACH` if a run continues without a view, or the `Resume` of a run to continue.
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
        Section(
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
        self.set_class(self.no_color, "-no-color")
        ScrollBar.renderer = AsciiScrollBar if is_ascii() else ScrollBarRender
        self.set_keymap(self._keys)

    def get_default_screen(self) -> Screen[None]:
        return self._first

    def _handle_exception(self, error: Exception) -> None:
        # A failure in a thread comes wrapped; the traceback is that of the inner exception.
        self.fault = error.error if isinstance(error, WorkerFailed) else error
        super()._handle_exception(error)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy a text. Lone surrogates, which a model can write but no terminal accepts, become escapes."""
        super().copy_to_clipboard(text.encode("utf-8", "backslashreplace").decode())

    def _print_error_renderables(self) -> None:
        """Print nothing: the caller of the application gets the `fault` and reports it in fewer words."""
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

    def action_command_palette(self) -> None:
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(CommandPalette(placeholder="find a command", id="--command-palette"))

    def action_next_theme(self) -> None:
        self.theme = next_theme(self.theme)

    def get_system_commands(self, screen: Screen[Any]) -> Iterator[SystemCommand]:
        """Yield the bindings of the screen that are possible at the moment, in order, and then the themes."""
        seen = set()
        for active in screen.active_bindings.values():
            does, action = active.binding.tooltip, active.binding.action
            if does and active.enabled and action not in seen:
                seen.add(action)
                yield SystemCommand(
                    does, display(active.binding), partial(self.run_action, action, active.node)
                )
        for theme in THEMES:
            use = partial(setattr, self, "theme", theme.name)
            yield SystemCommand(f"theme {theme.name.removeprefix('rig-')}", theme.name, use)

    async def action_quit(self) -> None:
        """End the application, unless a screen objects; the topmost such screen asks the user first."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, RigScreen) and screen.minds_quitting():
                return
        self.exit()

    action_quit_all = action_quit


_COLOURS = {
    "primary": ("#82aaca", "#2d6389"),
    "secondary": ("#9a9fd0", "#5a5aa0"),
    "accent": ("#6fb7b0", "#1f746c"),
    "foreground": ("#cfd3d9", "#31363d"),
    "background": ("#15171a", "#fcfcfb"),
    "surface": ("#1c1e22", "#f3f3f1"),
    "panel": ("#25282d", "#e6e6e3"),
    "success": ("#86b77f", "#3a7438"),
    "warning": ("#d3a962", "#8a5f00"),
    "error": ("#e06c6c", "#b12a2a"),
}
"""Colours of the dark and of the light theme."""
_VARIABLES = {
    "quiet": ("#7c848f", "#757b84", "ansi_bright_black"),
    "strong": ("#eef1f5", "#0f1216", "ansi_default"),
    "string": ("#a9c29a", "#4b6b33", "ansi_green"),
    "number": ("#d0a982", "#8b4f1c", "ansi_yellow"),
    "track": ("#3b4048", "#cfcfca", "ansi_bright_black"),
    "on-alarm": ("#ffffff", "#ffffff", "ansi_bright_white"),
    "alarm": ("#b02a2a", "#b12a2a", "ansi_red"),
}
"""Colours of the dark theme, of the light one, and of the one in the terminal's own sixteen colours."""


def _own(look: int) -> Theme:
    """Return the dark theme (0) or the light one (1)."""
    colours: dict[str, Any] = {name: values[look] for name, values in _COLOURS.items()}
    variables = {name: values[look] for name, values in _VARIABLES.items()}
    return Theme(name=("rig-dark", "rig-light")[look], dark=not look, variables=variables, **colours)


DARK, LIGHT = _own(0), _own(1)
_ANSI = BUILTIN_THEMES["ansi-dark"]
_SIXTEEN = _ANSI.variables | {name: values[2] for name, values in _VARIABLES.items()}
TERMINAL = replace(_ANSI, name="rig-terminal", accent="ansi_cyan", variables=_SIXTEEN)
THEMES = (DARK, LIGHT, TERMINAL)


def default_theme(environment: Mapping[str, str]) -> str:
    """Return the theme to begin with: the light one if the terminal says that its background is light.

    Only `COLORFGBG` is used, because asking the terminal itself hangs or gives wrong answers inside tmux.
    """
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT.name if background in {"7", "15"} else DARK.name


def next_theme(name: str) -> str:
    """Return the theme after this one; the first follows the last."""
    names = [theme.name for theme in THEMES]
    return names[(names.index(name) + 1) % len(names)] if name in names else names[0]
