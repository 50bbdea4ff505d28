"""The labelled pairs, and how the grader judges them."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.scoring.similarity import MiniLM
from rig.scoring.texts import Band, Residue, TextJudgement, features, judge
from rig.toolbox.spec import Text
from rig.tooltalk.world import KINDS

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Labelled:
    """Two texts, whether people say that they mean the same, and the sort of case."""

    kind: Text
    first: str
    second: str
    same: bool
    case: str
    group: str

    @property
    def for_calibration(self) -> bool:
        """Whether the fit may see it: every second pair, and the attacks that were not put aside."""
        if "held_out" in self.group or self.group.startswith("fresh/"):
            return False
        return not self.group.startswith(("pairs", "reworded")) or len(self.first) % 2 == 0


@dataclass(frozen=True, slots=True)
class Measured:
    """A pair, its features where likeness decides it, and how it is judged if everything is alike."""

    labelled: Labelled
    features: tuple[dict[str, float], ...]
    at_best: TextJudgement


def labelled(folders: Iterable[str] = ("pairs", "fresh", "attacks", "reworded")) -> Iterator[Labelled]:
    """All pairs of some folders."""
    for folder in folders:
        for path in sorted((HERE / folder).glob("*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                row: dict[str, Any] = json.loads(line)
                case = row.get("case", "")
                group = f"{folder}/{path.stem}"
                yield Labelled(KINDS[row["kind"]], row["first"], row["second"], row["same"], case, group)


def outside(path: Path) -> Iterator[Labelled]:
    """The pairs of a file from elsewhere: kind, a, b, label, type."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row: dict[str, Any] = json.loads(line)
        yield Labelled(KINDS[row["kind"]], row["a"], row["b"], bool(row["label"]), row["type"], path.stem)


def measure(pair: Labelled, minilm: MiniLM) -> Measured:
    """Judge a pair with everything taken for alike, and note where likeness was asked."""
    asked: list[dict[str, float]] = []

    def likeness(found: Residue) -> float:
        asked.append(features(found, minilm.embedded))
        return 1.0

    judgement = judge(pair.kind, pair.first, pair.second, likeness, Band(0.5, 0.5))
    return Measured(pair, tuple(asked), judgement)
