"""The questions of benchmarks/engine/scaling.py are put as they are described."""

import importlib.util
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "engine" / "scaling.py"


@pytest.fixture
def scaling(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setenv("GOMP_SPINCOUNT", "2000")  # the script sets it where nobody has
    spec = importlib.util.spec_from_file_location("scaling", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["scaling"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["scaling"]


def test_a_long_conversation_only_ever_grows(scaling: ModuleType) -> None:
    points = list(scaling.long_conversation())
    assert len(points) >= max(scaling.TURNS)
    for before, after in pairwise(points):
        assert after.messages[: len(before.messages)] == before.messages
        assert len(after.messages) > len(before.messages)
        assert after.key.turn == before.key.turn + 1
    assert len({point.context for point in points}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("question", ["turns", "tools", "sequences"])
def test_every_question_gets_a_table(
    scaling: ModuleType, monkeypatch: pytest.MonkeyPatch, tiny: object, question: str
) -> None:
    assert callable(tiny)
    small = {
        "MODELS": (str(tiny()),),
        "MAX_TOKENS": 4,
        "CONTEXT": 16_384,
        "POINTS": 2,
        "TURNS": (8, 9),
        "TOOLS": (1, 2),
        "SEQUENCES": (1, 2),
    }
    for name, value in small.items():
        monkeypatch.setattr(scaling, name, value)
    header, rule, *rows = (line for line in scaling.QUESTIONS[question](1) if line.startswith("|"))
    columns = header.count("|")
    assert rule.count("---") == columns - 1
    assert len(rows) == 2
    assert all(row.count("|") == columns for row in rows)
