"""The lesson shares no sentence and no name with the suites, so that a taught model has not seen them."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.teach.overlap import OWN, lesson
from rig.plugins.author.overlap import RUN, files, names, runs

COUNT = 1000


@pytest.fixture(scope="module")
def made() -> list[Any]:
    return list(lesson(1, COUNT))


def test_runs_and_names_are_found() -> None:
    text = "one two three four five six seven, Eight nine"
    assert len(runs([{"turns": [{"text": text}]}])) == 2
    assert runs([[text]]) & runs([text.upper().replace(",", ".")])
    assert names([{"name": "Ada", "calls": [[{"task": "Rest"}]], "text": "no"}]) == {"ada", "rest"}


@pytest.mark.slow
def test_nothing_in_common_with_the_own_suites(made: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    _holds(made, list(files(*OWN)), "own suites", capsys)


@pytest.mark.slow
def test_nothing_in_common_with_the_public_dataset(
    made: list[Any], tooltalk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _holds(made, list(files(tooltalk)), "public dataset", capsys)


def _holds(made: list[Any], others: list[Any], title: str, capsys: pytest.CaptureFixture[str]) -> None:
    ours, theirs = runs(made), runs(others)
    assert len(theirs) > 1000
    with capsys.disabled():
        print(f"\n{title}, {COUNT} conversations: {len(ours & theirs)} of {len(theirs)} runs of {RUN} words")
    assert not ours & theirs
    assert not names(made) & names(others)
