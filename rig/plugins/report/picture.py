"""A picture of a ladder to post: sizes, success with intervals, verdicts, and on what they rest."""

import re
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from rig.compare.arms import ChosenArm, ComparisonOptions, choose
from rig.compare.compare import compare_chosen
from rig.compare.findings import ArmPair, ArmResult, Comparison
from rig.compare.recommendation import file_bytes
from rig.compare.verdict import RecommendationKind, VerdictKind
from rig.core.errors import counted
from rig.core.intervals import with_interval
from rig.core.metrics import FORMED, OTHER_FORMS, UNPLAYED, Metric, in_other_forms
from rig.plugins.report import plots
from rig.plugins.report.page import asset
from rig.plugins.report.plots import BAD, BAND, GOOD, INK, LINE, MUTED
from rig.show.card import decision, difference_span
from rig.show.table import distinct, one_line
from rig.show.texts import UNKNOWN, file_size, measured, unclear_texts
from rig.stats import Estimate
from rig.store import Runs, StoredRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 1200, 675
MOST = 14
"""The most arms that a picture of this size has room for."""

_EDGE = 48
_ROOMY = 104
"""The most height of a row; few arms leave room below them."""
_GROUND = "#000300"
_CUT = "…"
_TITLE = 30
_REFERENCE = "reference"
_VERDICTS = {
    VerdictKind.LOSS: BAD,
    VerdictKind.SUSPECTED: BAD,
    VerdictKind.GAIN: GOOD,
    VerdictKind.NO_LOSS_FOUND: INK,
}


class PictureRow(NamedTuple):
    """An arm in the picture. Without a `rate`, its `notes` say why it has none.

    `strict` is what a server that takes leaked calls for words would leave of the rate, where that is less.
    """

    name: str
    size: str
    rate: Estimate | None = None
    text: str = ""
    strict: Estimate | None = None
    difference: str = ""
    verdict: str = ""
    tint: str = MUTED
    notes: tuple[str, ...] = ()
    ships: bool = False


class Picture(NamedTuple):
    """What a picture says: the decision with its reason, the arms, what they were tested on, and on what the
    verdicts rest.
    """

    headline: str
    reason: str
    is_open: bool
    tested: str
    metric: Metric
    rows: tuple[PictureRow, ...]
    is_compared: bool
    below: str
    caution: str

    @property
    def title(self) -> str:
        """The picture in words, for those who do not see it."""
        rows = (
            f"{row.name}: {', '.join(filter(None, (row.text, row.verdict, *row.notes)))}" for row in self.rows
        )
        told = ". ".join(filter(None, (self.headline, self.reason, self.tested)))
        return f"{told}. {'; '.join(rows)}. {self.below}"


def picture_of(runs: Runs, address: str, question: ComparisonOptions) -> Picture:
    """Return the picture of a run, or of RUN/ARM beside the arm that it is compared with.

    Raises RigError as `compare` does.
    """
    named = choose(runs, [address])
    run = named[0].run
    chosen = choose(runs, [run.id])
    comparison = compare_chosen(runs, chosen, question)
    own = {arm.arm.position for arm in named} | {comparison.baseline.position}
    wanted = [arm for arm in chosen if arm.arm.position in own]
    shown = _most_needed(wanted, comparison)
    family, names = _names([arm.arm.name for arm in shown])
    rows = tuple(_row(arm, name, comparison) for arm, name in zip(shown, names, strict=True))
    left = len(chosen) - len(shown)
    declared = comparison.declaration
    below = [
        f"rig {run.rig}, run {run.id}, {run.created:%Y-%m-%d}, method {declared.method}",
        f"verdicts at {100 * comparison.alpha:g}%, corrected for {len(comparison.pairs)} comparisons"
        if len(comparison.pairs) > 1
        else "",
        f"{counted(left, 'more arm')} not shown" if left else "",
    ]
    recommended = comparison.recommendation
    headline, reason = _headline(comparison, rows)
    return Picture(
        headline=headline,
        reason=reason,
        is_open=recommended is not None and recommended.kind is RecommendationKind.CANNOT_TELL,
        tested="; ".join(filter(None, (family, _tested(run, comparison)))),
        metric=comparison.metric,
        rows=rows,
        is_compared=bool(comparison.pairs),
        below="; ".join(filter(None, map(one_line, below))),
        caution=one_line(declared.caution),
    )


def _most_needed(arms: Sequence[ChosenArm], comparison: Comparison) -> list[ChosenArm]:
    """Return at most `MOST` arms in their order: the baseline and the file to ship are among them."""
    advice = comparison.recommendation
    first = {comparison.baseline.label, *([advice.arm] if advice and advice.arm else [])}
    kept = sorted(arms, key=lambda arm: (arm.label not in first, arm.label in comparison.left_out))[:MOST]
    return [arm for arm in arms if arm in kept]


def _names(names: Sequence[str]) -> tuple[str, list[str]]:
    """Return what names have in common, if one is long, and the names without it; each on one line."""
    lines = [one_line(name) for name in names]
    short = [*distinct(lines, plots.LONGEST, "")]
    return lines[0].removesuffix(short[0]).rstrip("-_./: "), short


def _headline(comparison: Comparison, rows: Sequence[PictureRow]) -> tuple[str, str]:
    """Return the decision, and apart from it its reason where both would be too long for a title."""
    told = one_line(decision(comparison))
    if told and _width(told, _TITLE, bold=True) < 1.7 * (WIDTH - 2 * _EDGE):
        return told, ""
    if told:
        whole = re.split("[;:] ", told, maxsplit=1)
        return whole[0], whole[1] if whole[1:] else ""
    noun, rated = comparison.metric.noun, [row for row in rows if row.rate]
    if len(rated) == 1:
        return f"{rated[0].name}: {noun} {rated[0].text}", ""
    return f"{noun} of {counted(len(rated), 'arm')}".capitalize(), ""


def _tested(run: StoredRun, comparison: Comparison) -> str:
    suites = sorted({row.suite for row in comparison.baseline.conversations if row.suite})
    named = f"suite {' and '.join(suites)}" if len(suites) < 4 else f"{len(suites)} suites"
    played = counted(len(comparison.baseline.conversations), "conversation")
    often = f", each played {run.repeats} times" if run.repeats > 1 else ""
    part = [f"--{name}" for name in ("only", "limit") if run.settings.get(name)]
    chosen = f", the part that {' and '.join(part)} chose" if part else ""
    level = f"lines are {100 * (1 - comparison.alpha):g}% intervals"
    return one_line("; ".join(filter(None, (named if suites else "", f"{played}{often}{chosen}", level))))


def _row(chosen: ChosenArm, name: str, comparison: Comparison) -> PictureRow:
    size = file_size(file_bytes(chosen.arm.fingerprint or {}))
    arm = next((arm for arm in comparison.arms if arm.label == chosen.label), None)
    if arm is None:
        why = one_line(comparison.left_out.get(chosen.label, "not evaluated"))
        return PictureRow(name, size, verdict="not evaluated", notes=(why.removeprefix("not evaluated: "),))
    metric, recommended = comparison.metric, comparison.recommendation
    pair = next((pair for pair in comparison.pairs if pair.arm == arm.label), None)
    rate = arm.rates[metric.name]
    verdict, tint = (_REFERENCE, MUTED) if arm is comparison.baseline and comparison.pairs else ("", MUTED)
    if pair:
        verdict, tint = str(pair.verdict.kind), _VERDICTS.get(pair.verdict.kind, MUTED)
    return PictureRow(
        name,
        size,
        rate,
        "" if rate.value is None else metric.amount(rate.value) + metric.unit,
        _strict(arm, comparison),
        _difference(metric, pair) if pair and pair.differences[metric.name].value is not None else "",
        verdict,
        tint,
        tuple(map(one_line, _notes(arm, pair, comparison))),
        recommended is not None and recommended.arm == arm.label,
    )


def _difference(metric: Metric, pair: ArmPair) -> str:
    return difference_span(metric, pair)[0]


def _strict(arm: ArmResult, comparison: Comparison) -> Estimate | None:
    """Return the rate for a strict reader of calls, None where it is the same or not known."""
    strict = arm.rates.get(f"strict_{comparison.metric.name}")
    own = arm.rates[comparison.metric.name]
    return None if strict is None or strict.value in (None, own.value) else strict


def _notes(arm: ArmResult, pair: ArmPair | None, comparison: Comparison) -> Iterator[str]:
    """Yield what must be known to read the arm's numbers."""
    metric = comparison.metric
    rate, ends = arm.rates[metric.name], metric.bounds(arm.rated)
    if rate.value is None and rate.low is not None:
        yield f"{metric.noun} {with_interval(metric.amount, rate, metric.unit)}"
        if pair is not None:
            yield f"{_difference(metric, pair)} points"
    elif ends:
        yield f"{measured(metric, arm.rated)}, as {unclear_texts(arm.counts)}"
    if arm.failure:
        yield f"failed: {arm.failure}"
    if UNPLAYED in arm.counts:
        yield f"{arm.finished} of {arm.planned} played: it ended when its results decided"
    elif arm.finished < arm.planned:
        yield f"only {arm.finished} of {arm.planned} conversations played"
    if pair is not None and pair.conversations != len(comparison.baseline.conversations):
        yield f"compared on {counted(pair.conversations, 'conversation')}"
    if strict := _strict(arm, comparison):
        yield f"{metric.amount(strict.value or 0.0)}{metric.unit} where a server takes leaked calls for words"
    forms = in_other_forms(arm.counts)
    for kind in OTHER_FORMS:
        if number := sum(count for form, count in forms.items() if form.startswith(kind)):
            yield f"{number} of {arm.counts.get(FORMED, 0):g} calls {kind.removesuffix(': ')}"
    yield from (limit.text for limit in arm.limits if limit.cut)


def as_svg(picture: Picture) -> str:
    """Return the picture as an SVG file; the same store gives the same bytes."""
    with plots.canvas(WIDTH, HEIGHT) as (figure, plot):
        _box(plot, 0, 0, WIDTH, HEIGHT, _GROUND)
        tint = MUTED if picture.is_open else INK
        top = 66.0
        room = WIDTH - 2 * _EDGE
        for line in _wrapped(picture.headline, _TITLE, room, bold=True):
            _text(plot, _EDGE, top, line, _TITLE, tint, bold=True)
            top += 40
        for line in _wrapped(picture.reason, 18, room):
            _text(plot, _EDGE, top - 6, line, 18, INK)
            top += 26
        _text(plot, _EDGE, top - 6, picture.tested, 18, MUTED, room=room)
        bottom = HEIGHT - (64.0 if picture.caution else 46.0)
        _ladder(plot, picture, top + 34, bottom - 18)
        if picture.caution:
            _text(plot, _EDGE, HEIGHT - 52, picture.caution, 15, BAD, room=room)
        _text(plot, _EDGE, HEIGHT - 26, picture.below, 15, MUTED, room=room)
        return plots.picture(figure, picture.title, {**_colours(), _GROUND: _light()["bg"]})


class _Places(NamedTuple):
    """Where the columns stand: ends of what is to the right, beginnings of what is to the left."""

    name: float
    name_size: float
    size: float
    bar: tuple[float, float]
    rate: float
    difference: float
    verdict: float


def _places(picture: Picture) -> _Places:
    has_sizes = any(row.size != UNKNOWN for row in picture.rows)
    name = 265.0 if has_sizes else 380.0
    # All names are of one size, in which the longest fits if it is not too small to read.
    longest = max(_width(row.name, 1.0, bold=row.ships) for row in picture.rows)
    font = max(name / max(longest, 1e-9), 16.0)
    if not picture.is_compared:
        return _Places(name, font, 440, (480, 1010), 1030, 0, 0)
    return _Places(name, font, 440, (475, 790), 806, 985, 1005)


def _ladder(plot: "Axes", picture: Picture, top: float, bottom: float) -> None:
    """Draw the table: a line for each arm, with the notes below it."""
    at, metric = _places(picture), picture.metric
    height = min((bottom - top - 22) / len(picture.rows), _ROOMY)
    ends = [end for row in picture.rows if row.rate for end in (row.rate.value, row.rate.high) if end]
    most = 1.0 if metric.format == "percent" else max([*ends, 1e-9])
    left, right = at.bar
    _text(plot, left, top, "0", 14, MUTED)
    _text(plot, right, top, f"{metric.amount(most).removesuffix('.0')}{metric.unit}", 14, MUTED, side="right")
    _text(plot, (left + right) / 2, top, metric.noun, 14, MUTED, side="center", room=right - left - 110)
    if picture.is_compared:
        unit = "points" if metric.format == "percent" else "difference"
        _text(plot, at.difference, top, unit, 14, MUTED, side="right")
        _text(plot, at.verdict, top, "verdict", 14, MUTED)
    top += 12
    for place in range(5):
        x = left + (right - left) * place / 4
        _line(plot, x, top, x, top + height * len(picture.rows), LINE, 1)
    for place, row in enumerate(picture.rows):
        _arm(plot, row, plots.arm_colour(place), at, (top + place * height, height), most)


def _arm(
    plot: "Axes", row: PictureRow, colour: str, at: _Places, place: tuple[float, float], most: float
) -> None:
    top, height = place
    size = min(25.0, (0.4 if row.notes else 0.47) * height)
    middle = top + height * (0.32 if row.notes else 0.5)
    if row.ships:
        _box(plot, _EDGE - 14, top + 1, WIDTH - _EDGE + 14, top + height - 1, BAND)
    _line(plot, _EDGE, top + height, WIDTH - _EDGE, top + height, LINE, 1)
    base = middle + 0.36 * size
    left, right = at.bar
    beside = min(0.9 * size, max(0.75 * size, 14.0))
    _text(plot, _EDGE, base, row.name, min(size, at.name_size), INK, bold=row.ships, room=at.name)
    if row.size != UNKNOWN:
        _text(plot, at.size, base, row.size, beside, MUTED, side="right", room=7 * size)

    def across(value: float) -> float:
        return left + (right - left) * min(max(value / most, 0.0), 1.0)

    # Of a rate that depends on a lenient server, the strict one is hollow and its interval thinner.
    for rate, wide, is_whole in ((row.strict, 0.1 * size, False), (row.rate, 0.25 * size, True)):
        if rate is None:
            continue
        if rate.low is not None and rate.high is not None:
            _line(plot, across(rate.low), middle, across(rate.high), middle, colour, wide, 0.45)
        if rate.value is not None:
            _dot(plot, across(rate.value), middle, 0.42 * size, colour, is_whole=is_whole)
    _text(plot, at.rate, base, row.text, size, INK, bold=True)
    if at.difference:
        _text(plot, at.difference, base, row.difference, size, INK, side="right")
        _text(plot, at.verdict, base, row.verdict, beside, row.tint, room=WIDTH - _EDGE - at.verdict)
    elif row.rate is None:
        _text(plot, left, base, row.verdict, beside, row.tint)
    if row.notes:
        below = top + 0.88 * height
        small = max(11.0, 0.6 * size)
        first, *more = _wrapped("; ".join(row.notes), small, WIDTH - 2 * _EDGE)
        _text(plot, _EDGE, below, first + (_CUT if more else ""), small, BAD)


def _text(
    plot: "Axes",
    x: float,
    y: float,
    text: str,
    size: float,
    colour: str,
    *,
    side: str = "left",
    bold: bool = False,
    room: float = float("inf"),
) -> None:
    """Write a text with its base line at `y`: a little smaller, then without its middle, to fit the room."""
    if (wide := _width(text, size, bold=bold)) > room:
        size *= max(room / wide, 0.8)
        text = _fitting(text, size, room, bold=bold)
    weight = "bold" if bold else "normal"
    plot.text(x, y, text, fontsize=size, color=colour, ha=side, va="baseline", fontweight=weight)


def _fitting(text: str, size: float, room: float, *, bold: bool) -> str:
    """Return a text without as much of its middle as is too wide."""
    kept = len(text)
    whole = text
    while kept > 4 and _width(text, size, bold=bold) > room:
        kept = min(kept - 1, int(kept * max(room / _width(text, size, bold=bold), 0.5)) + 1)
        text = f"{whole[: kept - kept // 2]}{_CUT}{whole[len(whole) - kept // 2 :]}"
    return text


def _wrapped(text: str, size: float, room: float, *, bold: bool = False) -> list[str]:
    """Return a text in at most two lines, of which the second ends where there would be more."""
    words = text.split()
    lines = [""]
    while words:
        longer = f"{lines[-1]} {words[0]}".strip()
        if _width(longer, size, bold=bold) <= room - 20:
            lines[-1] = longer
        elif not lines[-1]:
            lines[-1] = _fitting(words[0], size, room, bold=bold)
        elif lines[1:]:
            lines[-1] += _CUT
            break
        else:
            lines.append("")
            continue
        words.pop(0)
    return [line for line in lines if line]


def _width(text: str, size: float, *, bold: bool = False) -> float:
    """Return how wide a text is in the widest font that a browser is likely to have; others are narrower."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    narrow = (character for character in text if unicodedata.east_asian_width(character) not in "WF")
    return wide * size + sum(_advance(character, bold) for character in narrow) * size


@cache
def _advance(character: str, bold: bool) -> float:
    """Return the width of a character in a font of size 1."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal", size=100)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        return float(text_to_path.get_text_width_height_descent(character, font, ismath=False)[0]) / 100


def _line(
    plot: "Axes", x: float, y: float, to_x: float, to_y: float, colour: str, wide: float, alpha: float = 1.0
) -> None:
    plot.plot([x, to_x], [y, to_y], color=colour, linewidth=wide, alpha=alpha, clip_on=False)


def _box(plot: "Axes", left: float, top: float, right: float, bottom: float, colour: str) -> None:
    _patch(plot, "Rectangle", ((left, top), right - left, bottom - top), facecolor=colour, edgecolor="none")


def _dot(plot: "Axes", x: float, y: float, radius: float, colour: str, *, is_whole: bool) -> None:
    inside = colour if is_whole else _GROUND
    _patch(plot, "Circle", ((x, y), radius), facecolor=inside, edgecolor=colour, linewidth=2, zorder=3)


def _patch(plot: "Axes", kind: str, place: tuple[Any, ...], **style: Any) -> None:
    from matplotlib import patches

    style.setdefault("zorder", 0.5)
    plot.add_patch(getattr(patches, kind)(*place, clip_on=False, **style))


@cache
def _light() -> dict[str, str]:
    """Return the page's colours in light, by name."""
    return dict(re.findall(r"--(\w+):(#\w+)", asset("style.css").partition("}")[0]))


def _colours() -> dict[str, str]:
    return {value: _light()[name] for value, name in plots.NAMES.items()}
