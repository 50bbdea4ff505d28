"""How far a screen foretells a run, against runs whose turns are known."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_talks
import tiny_gguf
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rig.core.errors import RigError
from rig.methods.scripted import Scripted, replied
from rig.plugins.llama import EngineSettings
from rig.plugins.llama.files.registry import ResolvedModel
from rig.plugins.screen.results import Screen, TurnKey
from rig.plugins.screen.screening import Screening, screen
from rig.plugins.screen.validity import _validity, validity_of
from rig.plugins.tooltalk.method import ToolTalk
from rig.plugins.tooltalk.prompt import ToolTalkSettings
from rig.store import Runs

PROTOCOL = ToolTalkSettings(tools="exact", max_calls=3)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Screen:
    folder = tmp_path_factory.mktemp("foretelling")
    models = [
        ResolvedModel(name, tiny_gguf.write(folder / f"{name}.gguf", n_ctx=16384, seed=seed))
        for seed, name in enumerate(("base", "other"))
    ]
    wanted = Screening(
        tuple(models),
        ToolTalk(),
        small_talks.conversations(),
        small_talks.setup(),
        PROTOCOL,
        EngineSettings(n_threads=1, n_ctx=8192),
    )
    return screen(wanted, lambda _text: None, lambda *_: None)


def _files(found: Screen) -> list[dict[str, Any]]:
    return [{"file_sha256": arm.fingerprint["file_sha256"]} for arm in found.arms]


def test_turns_that_change_and_flip_are_those_of_the_stored_runs(found: Screen, tmp_path: Path) -> None:
    """The base is always right. The other says nothing to every second turn, so it loses those with calls."""
    oracle = small_talks.oracle()
    turns = [(one.name, turn) for one in small_talks.conversations() for turn in one.known_turns]
    silent = set(turns[::2])
    wants = {
        (one.name, turn): bool(one.turns[turn].calls)
        for one in small_talks.conversations()
        for turn in one.known_turns
    }

    def other(request: Any) -> Any:
        if (request.key.conversation, request.key.turn) in silent:
            return replied("")
        return oracle.predict(request, lambda _piece: None)

    files = _files(found)
    store = tmp_path / "runs.sqlite"
    right = Scripted(lambda request: oracle.predict(request, lambda _piece: None), fingerprint=files[0])
    small_talks.play(small_talks.plan(store, right, Scripted(other, fingerprint=files[1]), settings=PROTOCOL))
    with Runs.open(store) as runs:
        told = {each.outcome: each for each in validity_of(found, runs, ["latest"])}
    lost = {turn for turn in silent if wants[turn]}
    assert {each.turns for each in told.values()} == {len(turns)}
    assert {each.with_outcome for each in told.values()} == {len(lost)}
    assert {each.arm for each in told.values()} == {"other"}

    # The same from the screen's own steps, pair by pair.
    signal = dict.fromkeys(turns, 0.0)
    for step in found.arms[1].steps:
        if step.key.step == 0:
            kinds = [choice.kind for choice in step.assessment.choices]
            signal[step.key.conversation, step.key.turn] = sum(step.divergences[: kinds.count("answer")])
    pairs = [
        (signal[a] > signal[b]) + 0.5 * (signal[a] == signal[b]) for a, b in product(lost, set(turns) - lost)
    ]
    assert told["changed"].auc == told["flipped"].auc == pytest.approx(np.mean(pairs))


def test_equal_arms_tell_nothing(found: Screen, tmp_path: Path) -> None:
    oracle = small_talks.oracle()
    models = [
        Scripted(lambda request: oracle.predict(request, lambda _piece: None), fingerprint=file)
        for file in _files(found)
    ]
    store = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(store, *models, settings=PROTOCOL))
    with Runs.open(store) as runs:
        told = validity_of(found, runs, ["latest"])
    assert {(each.with_outcome, each.auc, each.spearman) for each in told} == {(0, None, None)}
    assert told[0].as_json()["arm"] == "other"


def test_arms_of_other_files_are_refused(found: Screen, tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    base = Scripted({}, fingerprint=_files(found)[0])
    small_talks.play(small_talks.plan(store, small_talks.oracle(), settings=PROTOCOL))
    with Runs.open(store) as runs, pytest.raises(RigError, match="no arm was made with the file of base"):
        validity_of(found, runs, ["latest"])
    small_talks.play(small_talks.plan(tmp_path / "two.sqlite", base, base, settings=PROTOCOL))
    with Runs.open(tmp_path / "two.sqlite") as runs, pytest.raises(RigError, match="could be any of"):
        validity_of(found, runs, ["latest"])
    small_talks.play(small_talks.plan(tmp_path / "one.sqlite", base, settings=PROTOCOL))
    with Runs.open(tmp_path / "one.sqlite") as runs, pytest.raises(RigError, match="but the base's"):
        validity_of(found, runs, ["latest"])


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2, max_size=30))
def test_the_auc_is_the_share_of_pairs_in_order(turns: list[tuple[bool, int]]) -> None:
    positive = [value for happened, value in turns if happened]
    negative = [value for happened, value in turns if not happened]
    assume(positive and negative)
    keys = [TurnKey("a", number) for number, _ in enumerate(turns)]
    labels, values = zip(*turns, strict=True)
    happened, strength = (dict(zip(keys, of, strict=True)) for of in (labels, values))
    validity = _validity("arm", "changed", happened, strength)
    auc, p, rho = validity.auc, validity.p, validity.spearman
    pairs = [(a > b) + 0.5 * (a == b) for a, b in product(positive, negative)]
    assert auc == pytest.approx(np.mean(pairs))
    assert p is not None
    assert 0 <= p <= 1
    assert (rho is None) == (len(set(values)) == 1)
    if rho is not None and auc is not None:
        assert np.sign(round(rho, 9)) == np.sign(round(auc - 0.5, 9))
