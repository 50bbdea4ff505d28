"""Looks: a dark one, a light one, and one made of the terminal's own sixteen colours."""

from collections.abc import Mapping
from dataclasses import replace

from textual.theme import BUILTIN_THEMES, Theme

DARK = Theme(
    name="rig-dark",
    dark=True,
    primary="#82aaca",
    secondary="#9a9fd0",
    accent="#6fb7b0",
    foreground="#ced4dc",
    background="#14181e",
    surface="#191e25",
    panel="#202730",
    success="#86b77f",
    warning="#d3a962",
    error="#df7078",
    variables={
        "quiet": "#7a8492",
        "strong": "#eef1f5",
        "string": "#a9c29a",
        "number": "#d0a982",
        "track": "#323b47",
        "on-alarm": "#ffffff",
        "alarm": "#b3323e",
    },
)

LIGHT = Theme(
    name="rig-light",
    dark=False,
    primary="#2d6389",
    secondary="#5a5aa0",
    accent="#1f746c",
    foreground="#31363d",
    background="#fcfbf8",
    surface="#f4f2ed",
    panel="#e8e5dd",
    success="#3a7438",
    warning="#8a5f00",
    error="#b12a2a",
    variables={
        "quiet": "#757b84",
        "strong": "#0f1216",
        "string": "#4b6b33",
        "number": "#8b4f1c",
        "track": "#cfcabf",
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
