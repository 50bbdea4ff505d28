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
        for threshold in sorted(set(_shipped("calibration.json")["thresholds"].values())):
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
