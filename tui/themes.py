"""Looks: a dark one, a light one, and one made of the terminal's own sixteen colours.

Greys are nearly neutral: in a terminal of 256 colours anything bluer turns navy.
"""

from collections.abc import Mapping
from dataclasses import replace

from textual.theme import BUILTIN_THEMES, Theme

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
