"""The labelled pairs, and what is measured of each."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from rig.scoring.similarity import MiniLM
from rig.scoring.texts import Judgement, Meaning, Pair, features
from rig.scoring.texts.judgement import known_likeness, pieces
from rig.scoring.texts.refusals import CHECKS, DOUBTS
from rig.toolbox.spec import Text
from rig.tooltalk.texts import KINDS

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Labelled:
    """Two texts of one kind, and whether they mean the same; `case` says what was changed."""

    kind: Text
    first: str
    second: str
    same: bool
    case: str

    @property
    def for_calibration(self) -> bool:
        """In which half the pair is: by its hash, so that no choice of ours can matter."""
        return sha256("\0".join(sorted((self.first, self.second))).encode()).digest()[0] % 2 == 0


@dataclass(frozen=True)
class Piece:
    """What is judged of a pair at once: what the wording is judged by, and which checks refuse it or doubt
    it. `equal` says that its words are the same.
    """

    features: dict[str, float]
    refused_by: frozenset[str]
    doubted_by: frozenset[str]
    fixed: float | None


@dataclass(frozen=True)
class Measured:
    """A pair, the cosine of its texts, and the pieces that are judged. The worst of them counts."""

    labelled: Labelled
    cosine: float
    pieces: tuple[Piece, ...]
    hopeless: bool = False


def read(path: Path) -> Iterator[Labelled]:
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = json.loads(line)
        yield Labelled(KINDS[fields.pop("kind")], **fields)


def own() -> list[Labelled]:
    """The set that the method is fitted on (one half) and measured on (the other)."""
    return [each for path in sorted((HERE / "pairs").glob("*.jsonl")) for each in read(path)]


def fresh() -> dict[str, list[Labelled]]:
    """The sets that were written when the method stood, by name."""
    return {path.stem: list(read(path)) for path in sorted((HERE / "fresh").glob("*.jsonl"))}


def attacks(name: str) -> list[Labelled]:
    """Pairs written to mislead the judgement: `tuned` were seen while it was built, `held_out` were not."""
    return list(read(HERE / "attacks" / f"{name}.jsonl"))


def measure(pairs: Iterable[Labelled], minilm: MiniLM) -> list[Measured]:
    return [_measured(each, minilm) for each in pairs]


def _measured(each: Labelled, minilm: MiniLM) -> Measured:
    cosine = minilm(each.first, each.second)
    found = pieces(each.kind, each.first, each.second)
    if isinstance(found, Judgement):
        return Measured(each, cosine, (), found.meaning is not Meaning.SAME)
    return Measured(each, cosine, tuple(_piece(piece, minilm) for piece in found))


def _piece(read_pair: Pair, minilm: MiniLM) -> Piece:
    by = [
        frozenset(name for name, check in checks.items() if check(read_pair)) for checks in (CHECKS, DOUBTS)
    ]
    return Piece(features(read_pair, minilm.embedded), by[0], by[1], known_likeness(read_pair))
