"""The plots of a report: rates, differences, quality against cost, kinds of error, errors of free text.

They are SVG that takes its colours and fonts from the page: right in light, in dark and in print.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from io import StringIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from rig.calls import JsonObject
from rig.compare.findings import ArmResult, Comparison
from rig.compare.verdict import VerdictKind
from rig.displays.table import distinct, one_line
from rig.metrics import TASKS, Metric
from rig.paths import cache_directory
from rig.rates import Estimate
from rig.store import Transcript

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


_WIDTH = 6.4
_ROW = 0.36
_KINDS = 10
"""Kinds of error shown; the rest is in the table."""


def rates(comparison: Comparison, metric: Metric, letters: Sequence[str]) -> str:
    """One rate of every arm, with its interval."""
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
    """The difference of the judged metric from the baseline for every arm, with its interval.

    The band behind each is what the suite could not have shown: differences smaller than the detectable one,
    where no difference was found.
    """
    metric, scale = comparison.metric, comparison.metric.scale
    pairs = comparison.pairs
    with axes(_WIDTH, 0.8 + _ROW * len(pairs)) as (figure, plot):
        farthest, bands = 2 / scale, dict[int, float | None]()
        for place, pair in enumerate(pairs):
            difference = pair.differences[metric.name]
            if pair.verdict.kind not in (VerdictKind.LOSS, VerdictKind.GAIN):
                bands[place] = difference.detectable
            estimate = Estimate(difference.value, difference.low, difference.high)
            _point(plot, metric, estimate, place, arm_colour(place + 1))
            ends = (difference.value, difference.low, difference.high, difference.detectable)
            farthest = max([farthest, *(abs(end) for end in ends if end is not None)])
        for place, detectable in bands.items():
            # Without one, not even the loss of everything would have been found.
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
    """Success over levels (`rig.compare.curves.Curve.points`)."""
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
COSTS: Mapping[str, Callable[[ArmResult], float | None]] = {
    "size of the file, MB": lambda arm: _scaled(arm.fingerprint.get("model.file_bytes"), 1e-6),
    SPEED: lambda arm: arm.speed.decode_rate,
    "peak memory, MiB": lambda arm: _scaled(arm.speed.peak_memory, 2**-20),
    "peak GPU memory, MiB": lambda arm: _scaled(arm.speed.peak_device_memory, 2**-20),
    ENERGY: lambda arm: _scaled(arm.speed.energy_j, 1e-3),
}
"""What quality is plotted against. There is a plot where two arms at least tell."""


def trade_off(comparison: Comparison, cost: str, letters: Sequence[str]) -> str | None:
    """The judged metric against one of the `COSTS`; None if fewer than two arms have one."""
    metric = comparison.metric
    points: list[tuple[int, float, Sequence[float]]] = []
    for place, arm in enumerate(comparison.arms):
        at, rate = COSTS[cost](arm), arm.rates[metric.name]
        ends = [metric.scale * end for end in (rate.value, rate.low, rate.high) if end is not None]
        if at is not None and len(ends) == 3:
            points.append((place, at, ends))
    if len(points) < 2:
        return None
    with axes(_WIDTH / 2, 2.6) as (figure, plot):
        for place, at, (value, *ends) in points:
            plot.plot([at, at], ends, color=arm_colour(place), linewidth=1.2, alpha=0.6)
            plot.plot([at], [value], "o", color=arm_colour(place), markersize=6)
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
    """Where labels stand above intervals, and whose they are: those that would overlap share one."""
    labels: list[tuple[float, float, list[int]]] = []
    for place, at, top in sorted(points, key=lambda point: point[1]):
        if labels and at - labels[-1][0] < _LABEL * wide:
            x, y, near = labels.pop()
            labels.append((x, max(y, top), [*near, place]))
        else:
            labels.append((at, top, [place]))
    return labels


_LABEL = 0.08
"""The share of the width of a small plot that a letter takes."""
_NAMED = 6
"""Arms named at one point of a plot."""
_BARS = 8
"""Arms whose bars can be told apart."""


def kinds(comparison: Comparison, letters: Sequence[str], of: str) -> str | None:
    """How often each kind of `errors` or `faults` came by arm, for each conversation.

    None without any, and for more arms than have colours; the tables have them all.
    """
    arms = comparison.arms
    counts: list[Mapping[str, int]] = [getattr(arm, of) for arm in arms]
    total = {kind: sum(count.get(kind, 0) for count in counts) for count in counts for kind in count}
    named = sorted((kind for kind in total if total[kind]), key=lambda kind: -total[kind])[:_KINDS]
    if not named or len(arms) > _BARS:
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
    if rate.value is not None and rate.low is not None and rate.high is not None:
        ends = [metric.scale * rate.low, metric.scale * rate.high]
        plot.plot(ends, [place, place], color=colour, linewidth=2)
    if rate.value is not None:
        plot.plot([metric.scale * rate.value], [place], "o", color=colour, markersize=7)


def _axis(metric: Metric, limits: Callable[..., object], ticks: Callable[..., object]) -> None:
    """All of it for a share; for another number, what the points need."""
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
"""A text this little below the threshold is called close to it."""


def refused_texts(transcripts: Iterable[Transcript]) -> list[float]:
    """How far below its threshold each text was that missed for its wording alone."""
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
    """What was measured on labelled pairs, as the package of similarities holds it."""
    text = files("rig.scoring.similarity").joinpath(name).read_text(encoding="utf-8")
    measured: Mapping[str, Any] = json.loads(text)
    return measured


def _by_kind() -> list[dict[str, Any]]:
    return [counts for counts in _shipped("error_counts.json").values() if isinstance(counts, dict)]


def pairs_measured() -> int:
    """On how many labelled pairs the curves are."""
    return sum(counts["same"] + counts["different"] for counts in _by_kind())


def threshold_plot() -> str:
    """False accepts and false rejects of all kinds of text at every threshold, with the thresholds in use."""
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
    """How many of the refused texts were close."""
    return sum(distance <= NEAR for distance in refused)


def refused_plot(refused: Sequence[float]) -> str | None:
    """How far below their thresholds the runs' refused texts were; None without any."""
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
