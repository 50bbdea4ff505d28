"""Laws that the judgement of free text keeps, over all labelled pairs and the project's own texts."""

import json
import random
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks.free_text.rewording import HARMLESS, LEAST, changed
from rig.plugins.similarity.minilm import MiniLM
from rig.plugins.text.judge import Band, judge
from rig.plugins.tooltalk_tools.world import KINDS
from rig.scoring.similarity import Meaning, TextJudgement

CHECKOUT = Path(__file__).resolve().parent.parent.parent
PAIRS = CHECKOUT / "benchmarks" / "free_text"
BAND = Band(same=0.8, unclear=0.35)
MINILM = MiniLM()
Judge = Callable[[str, str, str], TextJudgement]
SPOKEN_FOR = ("task", "owner")
"""A reminder's task is noted for somebody else: "my" and "your" are the same person there."""


def judged(kind: str, first: str, second: str) -> TextJudgement:
    """The judgement where everything that may be worded otherwise is taken for alike."""
    return judge(KINDS[kind], first, second, lambda *_: 0.9, BAND)


def judged_with_a_reader(kind: str, first: str, second: str) -> TextJudgement:
    """The same where the packaged model reads what the rules leave open."""
    return MINILM.judge(KINDS[kind], first, second)


JUDGES = [judged, judged_with_a_reader]


def asked(**numbers: tuple[int, int]) -> Iterator[Any]:
    """Each judge with a number of cases for every day, 0 for none, and one for all."""
    for judge_of in JUDGES:
        some, all_of_them = numbers[judge_of.__name__]
        if some:
            yield pytest.param(judge_of, some)
        yield pytest.param(judge_of, all_of_them, marks=pytest.mark.slow)


@cache
def labelled() -> tuple[tuple[str, str, str, bool], ...]:
    folders = ("attacks", "fresh", "pairs", "reworded")
    files = [file for folder in folders for file in sorted((PAIRS / folder).glob("*.jsonl"))]
    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return tuple((row["kind"], row["first"], row["second"], row["same"]) for row in rows)


@cache
def texts() -> dict[str, list[str]]:
    """The texts of the labelled pairs by kind, and those of the conversations and queries as messages."""
    by_kind: dict[str, dict[str, None]] = {kind: {} for kind in KINDS}
    for kind, first, second, _ in labelled():
        by_kind[kind].update({first: None, second: None})
    for file in sorted((CHECKOUT / "conversations").rglob("*.json")):
        data = json.loads(file.read_text(encoding="utf-8"))
        by_kind["body"].update(dict.fromkeys(_strings(data)))
    return {kind: [text for text in found if len(text) < 300] for kind, found in by_kind.items()}


def _strings(data: object) -> Iterator[str]:
    if isinstance(data, dict):
        yield from (data[key] for key in ("text", "query", "answer") if isinstance(data.get(key), str))
        for value in data.values():
            yield from _strings(value)
    elif isinstance(data, list):
        for value in data:
            yield from _strings(value)


def accepted(
    judge_of: Judge, changes: Iterable[tuple[str, str, str, str]]
) -> tuple[int, list[tuple[str, ...]]]:
    total, same = 0, []
    for kind, change, text, other in changes:
        total += 1
        if judge_of(kind, text, other).meaning is Meaning.SAME:
            same.append((kind, change, text, other))
    return total, same


def all_changes(table: dict[str, object], every: int) -> Iterator[tuple[str, str, str, str]]:
    for kind, found in texts().items():
        for change, text, other in changed(found[::every], table):  # type: ignore[arg-type]
            yield kind, change, text, other


def _words(first: str, second: str) -> set[str]:
    """The words that only one of two texts has."""
    return set(first.casefold().split()) ^ set(second.casefold().split())


@pytest.mark.parametrize(("judge_of", "every"), asked(judged=(40, 1), judged_with_a_reader=(80, 6)))
def test_a_least_difference_is_never_the_same(judge_of: Judge, every: int) -> None:
    assert len(LEAST) >= 20
    total, same = accepted(judge_of, all_changes(LEAST, every))
    assert total >= 10_000 / every
    missed = [row for row in same if row[:2] != SPOKEN_FOR or {"my", "your"} - _words(*row[2:])]
    assert missed == []


@pytest.mark.parametrize(("judge_of", "every"), asked(judged=(60, 3), judged_with_a_reader=(60, 6)))
def test_harmless_changes_stay_the_same(judge_of: Judge, every: int) -> None:
    total, same = accepted(judge_of, all_changes(HARMLESS, every))
    assert len(same) >= 0.9 * total


@pytest.mark.parametrize(("judge_of", "count"), asked(judged=(150, 5_000), judged_with_a_reader=(0, 1_500)))
def test_a_difference_never_drowns(judge_of: Judge, count: int) -> None:
    chance = random.Random(0)
    bodies = [row for row in labelled() if row[0] == "body" and len(row[1]) < 200]
    others = [
        (first, second)
        for _, first, second, is_same in bodies
        if not is_same and judge_of("body", first, second).meaning is not Meaning.SAME
    ]
    same = [row[1:3] for row in bodies if row[3]]
    for _ in range(count):
        rows = [chance.choice(others)]
        for _ in range(chance.randint(1, 4)):
            row = chance.choice(same)
            rows.append(row if chance.random() < 0.5 else (row[0], row[0]))
        chance.shuffle(rows)
        first, second = ("\n".join(column) for column in zip(*rows, strict=True))
        assert judge_of("body", first, second).meaning is not Meaning.SAME, rows


@pytest.mark.parametrize("judge_of", [judged, pytest.param(judged_with_a_reader, marks=pytest.mark.slow)])
def test_what_is_the_same_stays_the_same_together(judge_of: Judge) -> None:
    chance = random.Random(1)
    same = [
        row[1:3]
        for row in labelled()
        if row[0] == "body" and row[3] and len(row[1]) < 200 and judge_of(*row[:3]).meaning is Meaning.SAME
    ]
    kept = 0
    for _ in range(200):
        rows = [chance.choice(same), chance.choice(same)]
        first, second = ("\n".join(column) for column in zip(*rows, strict=True))
        kept += judge_of("body", first, second).meaning is Meaning.SAME
    assert kept >= 180


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("You may go. The shop opened at nine.", "You will go. The store opened at 9."),
        ("The trip is postponed. Bring bread.", "The trip is cancelled for good. Bring some bread."),
        ("Are there places left? I hope so.", "There are places left. I hope so."),
        ("The key is on top of the box.", "The key is underneath the box."),
        ("The bill is paid.", "The bill is to be paid."),
        ("Take this from Jon.", "Take this from Joan."),
        ("He took her coat.", "He took my coat."),
        ("Mina is shorter than Ole.", "Mina is longer than Ole."),
        ("Bring it with you to me.", "Bring me with you to it."),
        ("Tell me after the trip what you want for him.", "Tell him after the trip what you want for me."),
    ],
)
def test_what_was_accepted_before_is_not(first: str, second: str) -> None:
    assert judged("body", first, second).meaning is not Meaning.SAME
