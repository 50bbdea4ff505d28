"""The plots of a report: rates, differences, quality against cost, kinds of error, errors of free text.

They are SVG that takes its colours and fonts from the page: right in light, in dark and in print.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from io import StringIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from rig.compare.findings import ArmResult, Comparison
from rig.compare.verdict import VerdictKind
from rig.core.budget import parse_json
from rig.core.calls import JsonObject
from rig.core.metrics import TASKS, UNPLAYED, Metric
from rig.core.paths import cache_directory
from rig.plugins.resources.measured import Resources
from rig.show.table import distinct, one_line
from rig.stats import Estimate
from rig.store import Transcript

INK, MUTED, LINE, BAND, GOOD, BAD = (f"#00010{digit}" for digit in range(6))
"""Placeholders for the colours of the page; plots use no other colours."""

_ARMS = 8
NAMES = {INK: "ink", MUTED: "muted", LINE: "line", BAND: "band", GOOD: "good", BAD: "bad"} | {
    f"#00020{place}": f"arm{place}" for place in range(_ARMS)
}
"""The names of the colours in the page's style, by their placeholders."""

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
    """Return the colour of the arm at this place; after eight arms the colours repeat."""
    return f"#00020{place % _ARMS}"


@contextmanager
def axes(width: float, height: float, **options: Any) -> "Iterator[tuple[Figure, Axes]]":
    """A context with a figure of this size in inches and its axes, in the common style of plots."""
    # Matplotlib stores a list of fonts, by default in a folder of its own.
    os.environ.setdefault("MPLCONFIGDIR", str(cache_directory() / "matplotlib"))
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.add_subplot(**options)


@contextmanager
def canvas(width: float, height: float) -> "Iterator[tuple[Figure, Axes]]":
    """A context with a figure of this size in points and axes without lines, in which a point is a unit and
    the origin is at the top left.
    """
    with axes(width / 72, height / 72) as (figure, plot):
        figure.set_layout_engine("none")
        plot.set_position((0, 0, 1, 1))
        plot.set_axis_off()
        plot.set_xlim(0, width)
        plot.set_ylim(height, 0)
        yield figure, plot


def svg(figure: "Figure", title: str) -> str:
    """Return the figure as an SVG element, titled for screen readers; equal figures give equal text."""
    colours = {value: f"var(--{name})" for value, name in NAMES.items()}
    root = _element(_drawn(figure, title), colours)
    root.attrib |= {"style": f"width:{float(root.attrib['viewBox'].split()[2]):.0f}pt", "role": "img"}
    root.attrib["aria-label"] = title
    return ElementTree.tostring(root, encoding="unicode")


def picture(figure: "Figure", title: str, colours: Mapping[str, str]) -> str:
    """Return the figure as an SVG file of its own, a pixel to a point, with `colours` by those of plots.

    It has no styles, scripts, links or fonts, so that every program shows it; texts stay texts.
    """
    root = _element(_drawn(figure, title), colours)
    width, height = root.attrib["viewBox"].split()[2:]
    root.attrib |= {
        "xmlns": "http://www.w3.org/2000/svg",
        "width": width,
        "height": height,
        "font-family": "DejaVu Sans, Verdana, sans-serif",
        "role": "img",
    }
    named = Element("title")
    named.text = title
    root.insert(0, named)
    return f"{ElementTree.tostring(root, encoding='unicode')}\n"


def _drawn(figure: "Figure", title: str) -> str:
    """Return the SVG file that matplotlib makes of a figure."""
    import matplotlib

    text = StringIO()
    metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": title}), warnings.catch_warnings():
        # Texts stay texts, and the browser has the glyphs that matplotlib's font lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(text, format="svg", metadata=metadata)
    return text.getvalue()


LONGEST = 28
"""The most characters of a name in a figure."""


def label(text: str, longest: int = LONGEST) -> str:
    """Return a name for a figure: on one line, printable, and cut in the middle if it is too long."""
    inert, kept = one_line(text), longest - 1
    return inert if len(inert) <= longest else f"{inert[: kept - kept // 2]}…{inert[-(kept // 2) :]}"


_TEXTS = frozenset({"text", "tspan", "style", "title"})
_NUMBERS = ("d", "x", "y", "points", "width", "height")


def _element(drawn: str, colours: Mapping[str, str]) -> Element:
    """Return a drawing as an element of a page, with its own colours replaced by those that they stand for.

    Raises ParseError if it is not an SVG.
    """
    root = ElementTree.fromstring(drawn)
    # HTML knows the elements of SVG and their `href`, so they need no namespaces.
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
    root.attrib["viewBox"] = f"0 0 {width} {height}"
    return root


def _tidy(element: Element, used: set[str], colours: Mapping[str, str]) -> None:
    element.tail = None
    if element.tag not in _TEXTS:
        element.text = None
    # An id that nothing refers to is not needed, and the next figure may have the same one.
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
    """Round a number to a tenth of a point, which is less than a pixel; return any other word unchanged."""
    try:
        return f"{round(float(word), 1):g}"
    except ValueError:
        return word


def _style(text: str, colours: Mapping[str, str]) -> str:
    """Return style declarations with these colours and without a font, as the page sets that too."""
    declared = (part.strip().partition(":") for part in text.split(";"))
    kept = ((name, value.strip()) for name, _, value in declared if name != "font-family")
    return "; ".join(f"{name}: {colours.get(value, value)}" for name, value in kept)


_WIDTH = 6.4
_ROW = 0.36
_KINDS = 10
"""The most kinds of error in a plot; the table has the rest."""


def rates(comparison: Comparison, metric: Metric, letters: Sequence[str]) -> str:
    """Plot one rate of every arm with its interval."""
    arms = comparison.arms
    with axes(_WIDTH, 0.8 + _ROW * len(arms)) as (figure, plot):
        for place, arm in enumerate(arms):
            _point(plot, metric, arm.rates[metric.name], place, arm_colour(place))
        plot.set_yticks(range(len(arms)), _labels(arms, letters))
        plot.set_ylim(len(arms) - 0.4, -0.6)
        _axis(metric, plot.set_xlim, plot.set_xticks)
        plot.grid(axis="x")
        plot.set_xlabel(_titled(metric))
        return svg(figure, f"{metric.noun} of each arm with its interval")


def differences(comparison: Comparison, letters: Sequence[str]) -> str:
    """Plot every arm's difference from the baseline in the judged metric, with its interval.

    If no difference was found, a band behind it covers those too small for the suite to detect.
    """
    metric, scale = comparison.metric, comparison.metric.scale
    pairs = comparison.pairs
    with axes(_WIDTH, 0.8 + _ROW * len(pairs)) as (figure, plot):
        farthest, bands = 2 / scale, dict[int, float | None]()
        for place, pair in enumerate(pairs):
            difference = pair.differences[metric.name]
            if pair.won is not None and pair.verdict.kind not in (VerdictKind.LOSS, VerdictKind.GAIN):
                bands[place] = difference.detectable
            estimate = Estimate(difference.value, difference.low, difference.high)
            _point(plot, metric, estimate, place, arm_colour(place + 1))
            ends = (difference.value, difference.low, difference.high, difference.detectable)
            farthest = max([farthest, *(abs(end) for end in ends if end is not None)])
        for place, detectable in bands.items():
            # Without a detectable difference, not even the loss of everything would have been noticed.
            wide = scale * (1.05 * farthest if detectable is None else detectable)
            plot.barh(place, 2 * wide, left=-wide, height=0.8, color=BAND, zorder=0.5)
        plot.axvline(0, color=MUTED, linewidth=1)
        plot.set_yticks(range(len(pairs)), _labels(comparison.arms[1:], letters[1:]))
        plot.set_ylim(len(pairs) - 0.4, -0.6)
        plot.set_xlim(-1.05 * scale * farthest, 1.05 * scale * farthest)
        plot.grid(axis="x")
        unit = "points " if metric.format == "percent" else ""
        plot.set_xlabel(f"{metric.noun}, {unit}more or less than {letters[0]}")
        return svg(figure, f"differences in {metric.noun} from the baseline")


def curve(title: str, points: Sequence[JsonObject]) -> str:
    """Plot success over levels (`rig.compare.trends.Trend.points`)."""
    with axes(_WIDTH / 2, 2.0) as (figure, plot):
        for place, point in enumerate(points):
            if point["low"] is not None:
                ends = [100 * point["low"], 100 * point["high"]]
                plot.plot([place, place], ends, color=arm_colour(0), linewidth=1.2, alpha=0.6)
        rates = [point["success"] for point in points]
        played = {place: 100 * rate for place, rate in enumerate(rates) if rate is not None}
        plot.plot(list(played), list(played.values()), "o-", color=arm_colour(0), markersize=5)
        plot.set_xticks(range(len(points)), [label(point["level"]) for point in points])
        plot.set_ylim(-2, 102)
        plot.grid(axis="y")
        plot.set_xlabel(label(title, 2 * LONGEST))
        plot.set_ylabel("success, %")
        return svg(figure, f"success over {title}")


SPEED, ENERGY = "tokens generated per second", "energy, kJ"
COSTS: Mapping[str, Callable[[ArmResult, Resources], float | None]] = {
    "size of the file, MB": lambda _, of: _scaled(of.file_bytes, 1e-6),
    SPEED: lambda _, of: of.decode.median if of.decode else None,
    "memory, MiB": lambda _, of: _scaled(of.whole_memory, 2**-20),
    ENERGY: lambda arm, _: _scaled(arm.speed.energy_j, 1e-3),
}
"""The costs that quality is plotted against, if at least two arms have a value."""


def trade_off(
    comparison: Comparison, resources: Sequence[Resources], cost: str, letters: Sequence[str]
) -> str | None:
    """Plot the judged metric against one of the `COSTS`; None if fewer than two arms have both."""
    metric = comparison.metric
    points: list[tuple[int, float, Sequence[float]]] = []
    for place, (arm, of) in enumerate(zip(comparison.arms, resources, strict=True)):
        at, rate = COSTS[cost](arm, of), arm.rates[metric.name]
        ends = [metric.scale * end for end in (rate.value, rate.low, rate.high) if end is not None]
        if at is not None and len(ends) == 3:
            points.append((place, at, ends))
    if len(points) < 2:
        return None
    with axes(_WIDTH / 2, 2.6) as (figure, plot):
        sign = 1 if cost == SPEED else -1
        better = 1 if metric.better == "higher" else -1
        for place, at, (value, *ends) in points:
            own = sign * at, better * value
            others = [(sign * x, better * y) for _, x, (y, *_) in points]
            is_dominated = any(x >= own[0] and y >= own[1] and (x, y) != own for x, y in others)
            plot.plot([at, at], ends, color=arm_colour(place), linewidth=1.2, alpha=0.6)
            # Something else is as good and costs no more: the point is hollow.
            inside = "none" if is_dominated else arm_colour(place)
            plot.plot([at], [value], "o", color=arm_colour(place), markersize=6, markerfacecolor=inside)
        _axis(metric, plot.set_ylim, plot.set_yticks)
        plot.margins(y=0.2)
        widest = 1.15 * max(at for _, at, _ in points) or 1.0
        plot.set_xlim(0, widest)
        for at, top, near in _above([(place, at, max(ends)) for place, at, ends in points], widest):
            names = " ".join(letters[place] for place in near[:_NAMED]) + (" …" if near[_NAMED:] else "")
            plot.annotate(names, (at, top), (0, 3), textcoords="offset points", color=INK, ha="center")
        plot.grid()
        plot.set_xlabel(cost)
        plot.set_ylabel(_titled(metric))
        return svg(figure, f"{metric.noun} against {cost}")


def _above(points: Sequence[tuple[int, float, float]], wide: float) -> list[tuple[float, float, list[int]]]:
    """Return the positions of labels above intervals, with the places of their arms; close ones share one."""
    labels: list[tuple[float, float, list[int]]] = []
    for place, at, top in sorted(points, key=lambda point: point[1]):
        if labels and at - labels[-1][0] < _LABEL * wide:
            x, y, near = labels.pop()
            labels.append((x, max(y, top), [*near, place]))
        else:
            labels.append((at, top, [place]))
    return labels


_LABEL = 0.08
"""The share of the width of a small plot that a letter needs."""
_NAMED = 6
"""The most arms named at one point of a plot."""
_BARS = 8
"""The most arms whose bars can be told apart."""


def kinds(comparison: Comparison, letters: Sequence[str], of: str) -> str | None:
    """Plot how often each kind of `errors` or `faults` occurred in each arm, per conversation.

    Returns None if there are none, or more arms than colours; the tables have them all.
    """
    arms = comparison.arms
    counts: list[Mapping[str, int]] = [getattr(arm, of) for arm in arms]
    total = {kind: sum(count.get(kind, 0) for count in counts) for count in counts for kind in count}
    named = sorted((kind for kind in total if total[kind]), key=lambda kind: -total[kind])[:_KINDS]
    # Of an arm that stopped by its results, no share would be fair.
    if not named or len(arms) > _BARS or any(UNPLAYED in arm.counts for arm in arms):
        return None
    width = 0.8 / len(arms)
    with axes(_WIDTH, 0.9 + len(named) * max(_ROW, 0.11 * len(arms))) as (figure, plot):
        for place, arm in enumerate(arms):
            shares = [counts[place].get(kind, 0) / max(1, round(arm.counts.get(TASKS, 0))) for kind in named]
            rows = [row - 0.4 + (place + 0.5) * width for row in range(len(named))]
            plot.barh(rows, shares, height=0.9 * width, color=arm_colour(place), label=letters[place])
        plot.set_yticks(range(len(named)), [label(kind, 36) for kind in named])
        plot.invert_yaxis()
        plot.grid(axis="x")
        plot.set_xlabel("per conversation")
        if len(arms) > 1:
            plot.legend(loc="upper left", bbox_to_anchor=(1, 1))
        return svg(figure, f"{of} by kind for each arm")


def _point(plot: Any, metric: Metric, rate: Estimate, place: int, colour: str) -> None:
    if rate.low is not None and rate.high is not None:
        ends = [metric.scale * rate.low, metric.scale * rate.high]
        plot.plot(ends, [place, place], color=colour, linewidth=2)
    if rate.value is not None:
        plot.plot([metric.scale * rate.value], [place], "o", color=colour, markersize=7)


def _axis(metric: Metric, limits: Callable[..., object], ticks: Callable[..., object]) -> None:
    """Set an axis to 0 to 100% for a share; for other metrics it keeps the range of the points."""
    if metric.format == "percent":
        limits(-2, 102)
        ticks(range(0, 101, 20))


def _titled(metric: Metric) -> str:
    return f"{metric.noun}, %" if metric.format == "percent" else metric.noun


def _labels(arms: Sequence[ArmResult], letters: Sequence[str]) -> list[str]:
    names = distinct([arm.label for arm in arms], LONGEST, "…")
    return [f"{label(name)}  {letter}" for name, letter in zip(names, letters, strict=True)]


def _scaled(value: object, by: float) -> float | None:
    return value * by if isinstance(value, int | float) else None


NEAR = 0.1
"""How far below the threshold a text may be to count as close to it."""


def refused_texts(transcripts: Iterable[Transcript]) -> list[float]:
    """Return how far each text was below its threshold, for all that were refused for their wording."""
    return [
        difference.threshold - difference.similarity
        for transcript in transcripts
        for turn in transcript.turns.values()
        for step in turn.steps
        if step.verdict is not None
        for difference in step.verdict.differences
        if difference.similarity is not None and difference.threshold is not None
    ]


@cache
def _shipped(name: str) -> Mapping[str, Any]:
    """Read a file of what was measured on labelled pairs from the package of similarities."""
    text = files("rig.plugins.similarity").joinpath(name).read_text(encoding="utf-8")
    measured: Mapping[str, Any] = parse_json(text)
    return measured


def _by_kind() -> list[dict[str, Any]]:
    return [counts for counts in _shipped("error_counts.json").values() if isinstance(counts, dict)]


def pairs_measured() -> int:
    """Return the number of labelled pairs that the curves of errors are measured on."""
    return sum(counts["same"] + counts["different"] for counts in _by_kind())


def threshold_plot() -> str:
    """Plot the false accepts and false rejects of all kinds of text over thresholds, and those in use."""
    kinds = _by_kind()
    with axes(6.4, 2.8) as (figure, plot):
        for name, wrong, of_all, colour in (
            ("refused though alike", "false_rejects", "same", BAD),
            ("accepted though not", "false_accepts", "different", GOOD),
        ):
            of = sum(kind[of_all] for kind in kinds)
            shares = [100 * sum(column) / of for column in zip(*(kind[wrong] for kind in kinds), strict=True)]
            thresholds = _shipped("error_counts.json")["thresholds"]
            plot.plot(thresholds, shares, color=colour, label=f"{name}, % of {of}")
        for threshold in sorted({band["same"] for band in _shipped("calibration.json").values()}):
            plot.axvline(threshold, color=MUTED, linewidth=1, linestyle=":")
        plot.set_xlim(0, 1)
        plot.set_ylim(0, 50)
        plot.grid()
        plot.set_xlabel("threshold of similarity; dotted: in use")
        plot.legend(loc="upper center")
        return svg(figure, "errors of the judgement of free text at every threshold")


def nearly(refused: Sequence[float]) -> int:
    """Return how many of the refused texts were close to their thresholds."""
    return sum(distance <= NEAR for distance in refused)


def refused_plot(refused: Sequence[float]) -> str | None:
    """Plot how far the runs' refused texts were below their thresholds; None if there are none."""
    if not refused:
        return None
    with axes(6.4, 2.2) as (figure, plot):
        from matplotlib.ticker import MaxNLocator

        plot.hist(refused, bins=[step / 20 for step in range(21)], color=BAD, alpha=0.7)
        plot.axvline(NEAR, color=MUTED, linewidth=1, linestyle=":")
        plot.set_xlim(0, max(0.6, *refused))
        plot.grid(axis="y")
        plot.yaxis.set_major_locator(MaxNLocator(integer=True))
        plot.set_xlabel("below the threshold by")
        plot.set_ylabel("texts")
        return svg(figure, "how far below the threshold the texts were that were refused")


if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
