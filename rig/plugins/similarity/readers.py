"""Readers: models that decide about texts that the rules leave unclear, once measured on labelled pairs.

A reader says how likely it is that one text follows from another. It is asked in both directions; its answers
count only beyond thresholds that its own answers to the labelled pairs support.
"""

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from rig.core.budget import parse_json
from rig.core.calls import Json
from rig.core.errors import RigError
from rig.core.paths import real
from rig.core.registry import registered
from rig.plugins.similarity.embedding import hash_of

MOST_ERRORS = 0.05
"""The largest share of false accepts among pairs that differ; twice as many false rejects are allowed."""
LEAST_SETTLED = 0.25
"""The least share of labelled pairs to settle. By chance a reader settles twice `MOST_ERRORS`."""
FOLDS = 5
LONGEST = 4_000
"""The most characters of a text that a reader is given; it is not asked about longer ones."""
PATIENCE = 60.0
"""How many seconds a reader has to answer a question."""


class Reader(Protocol):
    """Anything that reads two texts."""

    @property
    def name(self) -> str: ...

    @property
    def sha256(self) -> str: ...

    def follows(self, first: str, second: str) -> float | None:
        """Return how likely the second text follows from the first, from 0 to 1; None if unknown."""


class CrossEncoderReader:
    """A sentence-transformers cross-encoder for entailment, from a folder. Raises RigError."""

    def __init__(self, folder: Path) -> None:
        from rig.plugins.similarity.encoder import load_cross_encoder

        self.name = folder.name
        self.sha256 = hash_of(folder).removeprefix("sha256:")
        self._encoder, labels = load_cross_encoder(folder)
        self._entailment = next((n for n, label in labels.items() if "entail" in label.casefold()), None)
        if self._entailment is None:
            raise RigError(f"{folder}: has no label for entailment, but {', '.join(labels.values())}")

    def follows(self, first: str, second: str) -> float | None:
        return float(self._encoder.predict([(first, second)], apply_softmax=True)[0][self._entailment])


def open_reader(text: str) -> Reader:
    """Open the reader in a folder, or a model by its GGUF file or name. Raises RigError."""
    folder = Path(text)
    if folder.is_dir():
        return CrossEncoderReader(real(folder))
    reader: Reader = registered().readers["gguf"](text)
    return reader


class Pair(NamedTuple):
    """Two texts that the rules leave unclear, and whether people say that they mean the same."""

    first: str
    second: str
    same: bool


def labelled_pairs() -> list[Pair]:
    """Return the pairs that are shipped for measuring readers."""
    text = files("rig.plugins.text").joinpath("reader_pairs.jsonl").read_text(encoding="utf-8")
    return [Pair(*parse_json(line)) for line in text.splitlines()]


class Thresholds(NamedTuple):
    """The likelihood from which texts are the same, and that below which they differ. Between is unclear."""

    same: float
    different: float

    def of(self, likelihood: float | None) -> bool | None:
        """Return what a reader's answer means: the same, different, or None for unclear."""
        if likelihood is None or self.different <= likelihood < self.same:
            return None
        return likelihood >= self.same


@dataclass(frozen=True, slots=True)
class Measured:
    """A reader with the thresholds that its answers support, and its errors by cross-validation: on pairs
    other than those on which thresholds were chosen.
    """

    reader: Reader
    thresholds: Thresholds
    accepts: int
    different: int
    rejects: int
    same: int
    settled: int

    @property
    def figures(self) -> str:
        """The reader's errors with 95% intervals (Wilson), and how much it settles."""
        total = self.same + self.different
        return (
            f"false accepts {_rate(self.accepts, self.different)}, false rejects "
            f"{_rate(self.rejects, self.same)}, settles {self.settled} of {total}"
        )

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        """Everything that can change its decisions, as flat JSON values, and its figures."""
        return {
            "reader": self.reader.name,
            "reader_sha256": self.reader.sha256,
            "reader_same": self.thresholds.same,
            "reader_different": self.thresholds.different,
            "reader_figures": self.figures,
        }

    def same_text(self, first: str, second: str) -> bool | None:
        """Return whether two texts mean the same; None if the reader cannot say."""
        return self.thresholds.of(likelihood(self.reader, first, second))

    def __str__(self) -> str:
        low, high = self.thresholds.different, self.thresholds.same
        return f"reader {self.reader.name} {self.reader.sha256[:8]} ({low:.3g} to {high:.3g}; {self.figures})"


def measured(reader: Reader, pairs: Sequence[Pair] | None = None) -> Measured:
    """Measure a reader on labelled pairs. Raises RigError if no thresholds keep its errors within bounds."""
    pairs = labelled_pairs() if pairs is None else pairs
    answers = [(likelihood(reader, pair.first, pair.second), pair.same) for pair in pairs]
    if not any(value is not None for value, _ in answers):
        raise RigError(f"--reader {reader.name}: gives no answer that is a probability; leave it out")
    verdicts: list[tuple[bool | None, bool]] = []
    for fold in range(FOLDS):
        chosen = _thresholds([row for n, row in enumerate(answers) if n % FOLDS != fold])
        verdicts += [(chosen.of(value), same) for value, same in answers[fold::FOLDS]]
    result = Measured(
        reader,
        _thresholds(answers),
        accepts=sum(verdict is True and not same for verdict, same in verdicts),
        different=sum(not same for _, same in verdicts),
        rejects=sum(verdict is False and same for verdict, same in verdicts),
        same=sum(same for _, same in verdicts),
        settled=sum(verdict is not None for verdict, _ in verdicts),
    )
    wrong = result.accepts > MOST_ERRORS * result.different or result.rejects > 2 * MOST_ERRORS * result.same
    if wrong or result.settled < LEAST_SETTLED * len(verdicts):
        raise RigError(
            f"--reader {reader.name}: no threshold keeps its false accepts at {MOST_ERRORS:.0%}, its false "
            f"rejects at {2 * MOST_ERRORS:.0%} and settles {LEAST_SETTLED:.0%} of the labelled pairs "
            f"({result.figures}); leave it out"
        )
    return result


def _thresholds(answers: Sequence[tuple[float | None, bool]]) -> Thresholds:
    """Return those that settle most with half the allowed errors, so that other pairs stay within them."""
    values = sorted({value for value, _ in answers if value is not None})
    cuts = [0.0, *((a + b) / 2 for a, b in pairwise(values)), math.inf]

    def errors(cut: float, label: bool) -> float:
        of_label = [value for value, same in answers if same is label]
        wrong = sum(value is not None and (value < cut) is label for value in of_label)
        return wrong / max(1, len(of_label))

    same = next(cut for cut in cuts if errors(cut, False) <= MOST_ERRORS / 2)
    different = next(cut for cut in reversed(cuts) if errors(cut, True) <= MOST_ERRORS / 2)
    return Thresholds(max(same, different) if math.isfinite(different) else same, min(same, different))


def likelihood(reader: Reader, first: str, second: str) -> float | None:
    """Return how likely each text follows from the other, the lesser of both directions; None if the reader
    gives no likelihood. Raises RigError if it does not answer in time.
    """
    if max(len(first), len(second)) > LONGEST:
        return None
    values = [_answer(reader, *texts) for texts in ((first, second), (second, first))]
    return None if None in values else min(value for value in values if value is not None)


def _answer(reader: Reader, first: str, second: str) -> float | None:
    answers: list[Any] = []

    def ask() -> None:
        try:
            answers.append(reader.follows(first, second))
        except Exception as error:  # whatever a library raises for a broken model
            answers.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if not answers:
        raise RigError(f"--reader {reader.name}: no answer within {PATIENCE:g} seconds; leave it out")
    answer = answers[0]
    if isinstance(answer, Exception):
        raise RigError(f"--reader {reader.name}: cannot read: {str(answer)[:200]!r}") from answer
    is_likelihood = isinstance(answer, float) and 0 <= answer <= 1
    return answer if is_likelihood else None


def _rate(count: int, total: int) -> str:
    from scipy.stats import binomtest

    if not total:
        return "0/0"
    low, high = binomtest(count, total).proportion_ci(method="wilson")
    return f"{count}/{total} ({low:.1%} to {high:.1%})"
