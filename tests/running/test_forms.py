"""Calls in other forms than the family's: counted beside the score, with the success of a strict reader."""

from pathlib import Path

import pytest
import small_talks

from rig.compare.arms import ComparisonOptions
from rig.compare.compare import compare
from rig.core.metrics import Declaration, Metric, Score, forms_in_words
from rig.core.models import LEAKED, OWN, Model, OnPiece, Prediction, Request, Usage
from rig.core.tasks import PlayedTurn, Step
from rig.scoring.forms import with_forms
from rig.store import Runs

FENCED = f"{LEAKED}fenced JSON"


class Leaking(Model):
    """The oracle, whose calls leak in some conversations."""

    name = "leaking"

    def __init__(self, oracle: Model, leaks: tuple[str, ...], *, strict: bool = False, size: int = 0) -> None:
        super().__init__()
        self._oracle, self._leaks, self._is_strict, self._size = oracle, leaks, strict, size

    @property
    def fingerprint(self) -> dict[str, object]:
        leaked = "strict" if self._is_strict else "lenient"
        return {
            "engine": "scripted",
            "leaked_calls": leaked,
            "file_bytes": self._size,
            "file": f"{self._size}",
        }

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        prediction = self._oracle.predict(request, on_piece)
        if prediction.call is None:
            return prediction
        if request.key.conversation not in self._leaks:
            return Prediction(raw="{}", call=prediction.call, form=OWN)
        if self._is_strict:
            return Prediction(raw="{}", reply="{}", form=FENCED)
        return Prediction(raw="{}", call=prediction.call, form=FENCED)


def played(path: Path, *leaks: str, strict: bool = False) -> Runs:
    """The small talks, played by an oracle that leaks."""

    model = Leaking(small_talks.oracle(), leaks, strict=strict)
    small_talks.play(small_talks.plan(path, model))
    return Runs.open(path)


def test_leaked_calls_are_counted_and_a_strict_reader_fails_where_they_are(tmp_path: Path) -> None:
    with played(tmp_path / "runs.sqlite", "alarms") as runs:
        run = runs.get("latest")
        [arm] = run.arms
        rates = run.declaration.rates(arm.rated)
        assert rates["success_rate"] == 1.0
        assert rates["strict_success_rate"] == pytest.approx(2 / 3)
        assert rates["own_form"] == pytest.approx(5 / 8)
        assert forms_in_words(arm.counts) == "3 of 8 calls leaked (fenced JSON)"
        note = run.declaration.form_note(arm.counts)
        assert "a strict server takes leaked calls for words, with success 66.7% instead of 100.0%" in note
        forms = {row["form"]: row["predictions"] for row in runs.view("forms", run)}
        assert forms == {"own": 5, FENCED: 3}


def test_a_strict_arm_plays_as_its_strict_reading_says(tmp_path: Path) -> None:
    with played(tmp_path / "runs.sqlite", "alarms", strict=True) as runs:
        run = runs.get("latest")
        rates = run.declaration.rates(run.arms[0].rated)
        assert rates["success_rate"] == rates["strict_success_rate"] == pytest.approx(2 / 3)


def test_the_decision_says_what_a_strict_server_would_leave(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small = Leaking(small_talks.oracle(), ("alarms",), size=1_000)
    large = Leaking(small_talks.oracle(), (), size=2_000)
    small_talks.play(small_talks.plan(path, small, large))
    with Runs.open(path) as runs:
        comparison = compare(runs, ("latest",), ComparisonOptions(loss=100))
    assert comparison.recommendation is not None
    assert comparison.recommendation.strict.startswith("3 of 8 calls leaked (fenced JSON): a strict server")
    assert comparison.recommendation.text().endswith(f"; but {comparison.recommendation.strict}")
    assert any(comparison.recommendation.strict in note for note in comparison.notes)


def test_nothing_is_declared_where_all_calls_are_in_the_own_form(tmp_path: Path) -> None:
    with played(tmp_path / "runs.sqlite") as runs:
        run = runs.get("latest")
        assert "strict_success_rate" not in run.declaration.rates(run.arms[0].rated)
        assert run.declaration.form_note(run.arms[0].counts) == ""


@pytest.mark.parametrize(("tokens", "strict"), [(2, 1), (0, None)])
def test_a_task_without_calls_counts_for_a_strict_reader_as_for_any_other(
    tokens: int, strict: int | None
) -> None:
    """As where nothing is to be called; an oracle generates no tokens."""
    words = Prediction(raw="No.", reply="No.", usage=Usage(completion_tokens=tokens))
    metric = Metric("success_rate", "success", "success", "tasks")
    declaration = Declaration("any", (metric,), success="success")
    turns = [PlayedTurn(0, (Step(words),))]
    score = Score({"success": 1, "tasks": 1})
    formed = with_forms(score, turns, "assistant", declaration, lambda _: Score({}))
    assert formed.counts.get("strict.success") == strict
    assert "calls.formed" not in formed.counts
