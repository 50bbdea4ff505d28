"""Adapters of the packaged encoder: what is written is what is read."""

from pathlib import Path

import pytest
import torch

from benchmarks.adapters import Classifier, packed, write
from rig.plugins.similarity.encoder import LONGEST_PAIR, PairClassifier, unpacked
from rig.plugins.similarity.minilm import ADAPTER, directory

PAIR = ("The plumber comes on Monday.", "On Monday a plumber is going to call in.")


@pytest.mark.parametrize("spread", [1e-6, 1e-3, 10.0])
def test_four_bits_keep_a_change(spread: float) -> None:
    change = torch.randn(96, 64, generator=torch.Generator().manual_seed(1)) * spread
    values, scales = packed(change)
    assert values.dtype is torch.uint8
    assert values.numel() * 2 == change.numel()
    error = unpacked(values, scales).reshape(change.shape) - change
    assert error.norm() < 0.12 * change.norm()


def test_nothing_is_kept_as_nothing() -> None:
    assert not unpacked(*packed(torch.zeros(2, 32))).any()


def test_an_adapter_reads_as_the_model_that_it_was_made_of(tmp_path: Path) -> None:
    torch.manual_seed(3)
    model = Classifier(directory(), 2, marking=True).eval()
    with torch.no_grad():
        model.encoder.embeddings.word_embeddings.weight += 1e-9  # as of an average of equal weights
        for weight in (*model.encoder.encoder.parameters(), model.alone):
            weight += torch.randn_like(weight) * 0.01
        expected = torch.softmax(model([PAIR]), -1)[0].tolist()
    write(model, directory(), tmp_path / "a.safetensors")
    assert (tmp_path / "a.safetensors").stat().st_size < 8_000_000
    reader = PairClassifier(directory(), tmp_path / "a.safetensors")
    assert reader.probabilities(*PAIR) == pytest.approx(expected, abs=0.01)
    assert reader.whole_probabilities(*PAIR) == reader.probabilities(*PAIR)


def test_what_would_be_cut_off_is_not_read_whole() -> None:
    model = PairClassifier(directory(), ADAPTER)
    word = "roof "
    assert model.whole_probabilities(word * (LONGEST_PAIR - 4), word) is not None
    assert model.whole_probabilities(word * (LONGEST_PAIR - 3), word) is None
    assert model.whole_probabilities("x" * 10_000, word) is None
    assert sum(model.probabilities("x" * 10_000, word)) == pytest.approx(1)
