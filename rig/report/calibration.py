"""How well free text is judged: errors at every threshold on labelled pairs, and where a run's texts lie."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from rig.report.figures import BAD, GOOD, MUTED, axes, svg
from rig.store import Transcript

NEAR = 0.1
"""A text this little below the threshold is called close to it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Texts of the runs that were not alike enough: how far below its threshold each one was."""

    below: tuple[float, ...]

    @property
    def near(self) -> int:
        """How many were close."""
        return sum(distance <= NEAR for distance in self.below)


def refused_texts(transcripts: Iterable[Transcript]) -> Refused:
    """Every text that missed for its wording alone, with the threshold that it missed."""
    return Refused(
        tuple(
            difference.threshold - difference.similarity
            for transcript in transcripts
            for turn in transcript.turns.values()
            for step in turn.steps
            if step.verdict is not None
            for difference in step.verdict.differences
            if difference.similarity is not None and difference.threshold is not None
        )
    )


@cache
def _counts() -> Mapping[str, Any]:
    text = files("rig.scoring.similarity").joinpath("error_counts.json").read_text(encoding="utf-8")
    counts: Mapping[str, Any] = json.loads(text)
    return counts


@cache
def _chosen() -> Mapping[str, float]:
    text = files("rig.scoring.similarity").joinpath("calibration.json").read_text(encoding="utf-8")
    chosen: Mapping[str, float] = json.loads(text)["thresholds"]
    return chosen


def pairs_measured() -> int:
    """On how many labelled pairs the curves are."""
    return sum(counts["same"] + counts["different"] for counts in _by_kind().values())


def threshold_plot() -> str:
    """False accepts and false rejects of all kinds of text at every threshold, with the thresholds in use."""
    thresholds = _counts()["thresholds"]
    kinds = _by_kind().values()
    curves = {
        "refused though alike": (_sums(kinds, "false_rejects"), sum(kind["same"] for kind in kinds), BAD),
        "accepted though not": (
            _sums(kinds, "false_accepts"),
            sum(kind["different"] for kind in kinds),
            GOOD,
        ),
    }
    with axes(6.4, 2.8) as (figure, plot):
        for name, (wrong, of, colour) in curves.items():
            plot.plot(
                thresholds, [100 * count / of for count in wrong], color=colour, label=f"{name}, % of {of}"
            )
        for threshold in sorted(set(_chosen().values())):
            plot.axvline(threshold, color=MUTED, linewidth=1, linestyle=":")
        plot.set_xlim(0, 1)
        plot.set_ylim(0, 50)
        plot.grid()
        plot.set_xlabel("threshold of similarity; dotted: in use")
        plot.legend(loc="upper center")
        return svg(figure, "errors of the judgement of free text at every threshold")


def refused_plot(refused: Refused) -> str | None:
    """How far below their thresholds the runs' refused texts were; None without any."""
    if not refused.below:
        return None
    with axes(6.4, 2.2) as (figure, plot):
        from matplotlib.ticker import MaxNLocator

        plot.hist(refused.below, bins=[step / 20 for step in range(21)], color=BAD, alpha=0.7)
        plot.axvline(NEAR, color=MUTED, linewidth=1, linestyle=":")
        plot.set_xlim(0, max(0.6, max(refused.below)))
        plot.grid(axis="y")
        plot.yaxis.set_major_locator(MaxNLocator(integer=True))
        plot.set_xlabel("below the threshold by")
        plot.set_ylabel("texts")
        return svg(figure, "how far below the threshold the texts were that were refused")


def _by_kind() -> dict[str, dict[str, Any]]:
    return {name: counts for name, counts in _counts().items() if isinstance(counts, dict)}


def _sums(kinds: Iterable[Mapping[str, Any]], name: str) -> list[int]:
    return [sum(column) for column in zip(*(kind[name] for kind in kinds), strict=True)]
