"""Figures as SVG that takes its colours and fonts from the page: right in light, in dark and in print."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import TYPE_CHECKING, Any

from rig.displays.table import one_line
from rig.paths import cache_directory
from rig.report.svg import for_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, LINE, BAND, GOOD, BAD = (f"#00010{digit}" for digit in range(6))
"""Colours that stand for those of the page; no other colour is to be used."""

_ARMS = 8
_NAMES = {INK: "ink", MUTED: "muted", LINE: "line", BAND: "band", GOOD: "good", BAD: "bad"} | {
    f"#00020{place}": f"arm{place}" for place in range(_ARMS)
}

_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": LINE,
    "axes.facecolor": "none",
    "axes.labelcolor": MUTED,
    "axes.labelsize": 10,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "figure.facecolor": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    # Names come from files; a dollar sign in one is not a formula.
    "text.parse_math": False,
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelsize": 9,
    "ytick.color": INK,
    "ytick.labelsize": 10,
}


def arm_colour(place: int) -> str:
    """The colour of the arm at this place; after eight they come again."""
    return f"#00020{place % _ARMS}"


@contextmanager
def axes(width: float, height: float, **options: Any) -> "Iterator[tuple[Figure, Axes]]":
    """A figure of this size in inches with one pair of axes, in the style of all. No display is needed."""
    # It keeps a list of fonts, and would put it into a folder of its own.
    os.environ.setdefault("MPLCONFIGDIR", str(cache_directory() / "matplotlib"))
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.add_subplot(**options)


def svg(figure: "Figure", title: str) -> str:
    """The figure as an SVG element that says its title to those who do not see it. The same every time."""
    import matplotlib

    text = StringIO()
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": title}):
        figure.savefig(
            text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    return for_page(text.getvalue(), title, _NAMES)


LONGEST = 28
"""Characters of a name in a figure."""


def label(text: str, longest: int = LONGEST) -> str:
    """A name for a figure: inert, and cut in the middle where it is too long."""
    inert, kept = one_line(text), longest - 1
    return inert if len(inert) <= longest else f"{inert[: kept - kept // 2]}…{inert[-(kept // 2) :]}"
