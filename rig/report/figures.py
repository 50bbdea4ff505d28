"""Figures as SVG that takes its colours and fonts from the page: right in light, in dark and in print."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from rig.displays.table import one_line
from rig.paths import cache_directory

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
    metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": title}):
        figure.savefig(text, format="svg", metadata=metadata)
    return for_page(text.getvalue(), title, _NAMES)


LONGEST = 28
"""Characters of a name in a figure."""


def label(text: str, longest: int = LONGEST) -> str:
    """A name for a figure: inert, and cut in the middle where it is too long."""
    inert, kept = one_line(text), longest - 1
    return inert if len(inert) <= longest else f"{inert[: kept - kept // 2]}…{inert[-(kept // 2) :]}"


_TEXTS = frozenset({"text", "tspan", "style", "title"})
_NUMBERS = ("d", "x", "y", "points", "width", "height")


def for_page(drawn: str, title: str, colours: Mapping[str, str]) -> str:
    """A drawing as an element of a page, with `title` for those who do not see it.

    `colours` become variables of the page, by their names. Raises ParseError if it is not an SVG.
    """
    root = ElementTree.fromstring(drawn)
    # HTML knows the elements of SVG, and what `href` is in them: none needs a namespace.
    for element in [*root.iter()]:
        element.tag = element.tag.rpartition("}")[2]
        for name in [*element.attrib]:
            element.attrib[name.rpartition("}")[2]] = element.attrib.pop(name)
    for metadata in root.findall("metadata"):
        root.remove(metadata)
    used = {element.get("href", "").removeprefix("#") for element in root.iter()}
    used |= {element.get("clip-path", "")[len("url(#") : -1] for element in root.iter()}
    for element in root.iter():
        _tidy(element, used, colours)
    width, height = (root.get("viewBox") or "").split()[2:]
    root.attrib.clear()
    root.attrib |= {
        "viewBox": f"0 0 {width} {height}",
        "style": f"width:{float(width):.0f}pt",
        "role": "img",
        "aria-label": title,
    }
    return ElementTree.tostring(root, encoding="unicode")


def _tidy(element: Element, used: set[str], colours: Mapping[str, str]) -> None:
    element.tail = None
    if element.tag not in _TEXTS:
        element.text = None
    # What nothing refers to needs no id, and would have the same one in the next figure.
    if element.get("id") not in used:
        element.attrib.pop("id", None)
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    for name in _NUMBERS:
        if name in element.attrib:
            element.attrib[name] = " ".join(map(_short, element.attrib[name].split()))
    if "style" in element.attrib:
        element.attrib["style"] = _style(element.attrib["style"], colours)


def _short(word: str) -> str:
    """A number to a tenth of a point, which is less than a pixel; any other word as it is."""
    try:
        return f"{round(float(word), 1):g}"
    except ValueError:
        return word


def _style(text: str, colours: Mapping[str, str]) -> str:
    """Declarations with the page's colours, and without a font: that is the page's, too."""
    declared = (part.strip().partition(":") for part in text.split(";"))
    kept = ((name, value.strip()) for name, _, value in declared if name != "font-family")
    return "; ".join(
        f"{name}: {f'var(--{colours[value]})' if value in colours else value}" for name, value in kept
    )
