"""The labelled pairs, and the families of rewordings."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

from rig.plugins.text.judge import Band, judge
from rig.plugins.tooltalk_tools.world import KINDS
from rig.world.spec import Text

HERE = Path(__file__).resolve().parent
KEPT_OUT = ("fresh/3", "fresh/4")
"""Groups that the model of wording does not learn from."""
EVERY = 12
"""Of the families, each of this number is kept out, too."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """Two texts, whether people say that they mean the same, and the sort of case."""

    kind: Text
    first: str
    second: str
    same: bool
    case: str
    group: str


def labelled(folders: Iterable[str] = ("pairs", "fresh", "attacks", "reworded")) -> Iterator[Labelled]:
    """All pairs of some folders."""
    for folder in folders:
        for path in sorted((HERE / folder).glob("*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                row: dict[str, Any] = json.loads(line)
                case = row.get("case", "")
                group = f"{folder}/{path.stem}"
                yield Labelled(KINDS[row["kind"]], row["first"], row["second"], row["same"], case, group)


def families() -> Iterator[list[Labelled]]:
    """The pairs of each family: a text, three that say the same, and three that differ in one thing."""
    for path in sorted((HERE / "families").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row: dict[str, Any] = json.loads(line)
            kind, same = KINDS[row["kind"]], [row["text"], *row["same"]]
            others = list(zip(row["other"], row["what"], strict=True))
            group = f"families/{path.stem}"
            pairs = [Labelled(kind, one, other, True, "", group) for one, other in combinations(same, 2)]
            yield [
                *pairs,
                *(
                    Labelled(kind, one, other, False, what, group)
                    for one, (other, what) in product(same, others)
                ),
            ]


def unseen() -> Iterator[Labelled]:
    """All pairs that the model of wording does not learn from."""
    yield from (pair for pair in labelled(("fresh",)) if pair.group in KEPT_OUT)
    for number, pairs in enumerate(families()):
        if number % EVERY == 0:
            yield from pairs


def outside(path: Path) -> Iterator[Labelled]:
    """The pairs of a file from elsewhere, a list or one a line: kind, a, b, label, type."""
    text = path.read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = (
        json.loads(text) if text.startswith("[") else list(map(json.loads, text.splitlines()))
    )
    for row in rows:
        kind = KINDS.get(row["kind"], KINDS["body"])
        yield Labelled(kind, row["a"], row["b"], bool(row["label"]), row["type"], path.stem)


@cache
def passages(kind: Text, first: str, second: str) -> tuple[tuple[str, str], ...]:
    """The sentences of two texts that belong together, but those that both have word for word."""
    found: list[tuple[str, str]] = []

    def reader(one: str, other: str) -> float:
        found.append((one, other))
        return 1.0

    judge(kind, first, second, reader, Band(0.5, 0.5))
    return tuple(found)
