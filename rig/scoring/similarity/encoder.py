"""The one place that imports sentence-transformers, and with it torch."""

import os
import warnings
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

from rig.errors import RigError
from rig.scoring.texts.wording import Embedded

THREADS = 1
"""One at a time, so that sums are always made in the same order; a text still takes only some 10 ms."""

LONGEST_TEXT = 2_000
"""Characters of each text that are read at once with another."""
LONGEST_PAIR = 160
"""Tokens of two texts that are read at once; the rest of the longer one is cut off."""


class Recipe(Enum):
    """How a directory of weights becomes an encoder."""

    AS_SAVED = "as sentence-transformers saved it"
    FIRST_TOKEN = "a plain transformers model, and the last hidden state of its first token, [CLS]"


class Encoder:
    """A loaded model. Texts are embedded one at a time, so that an embedding never depends on its neighbours
    in a batch.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def text(self, text: str) -> Any:
        """The embedding of a text, a numpy vector."""
        return self._model.encode(text, convert_to_numpy=True, show_progress_bar=False).astype("float64")

    def words(self, words: tuple[str, ...]) -> Embedded:
        """The embeddings of a text that is given as words."""
        import numpy
        import torch

        tokens = self._model.tokenizer(
            list(words) or [""],
            is_split_into_words=True,
            truncation=True,
            max_length=self._model.max_seq_length,
            return_tensors="pt",
        )
        with torch.inference_mode():
            out = self._model({name: value.to(self._model.device) for name, value in tokens.items()})
        vectors = out["token_embeddings"][0].numpy().astype("float32")
        rows: dict[int, list[int]] = {}
        for token, word in enumerate(tokens.word_ids(0)):
            if word is not None:
                rows.setdefault(word, []).append(token)
        means = [vectors[rows[word]].mean(0) for word in sorted(rows)]
        word_means = numpy.stack(means) if means else numpy.zeros((0, vectors.shape[1]), "float32")
        return Embedded(out["sentence_embedding"][0].numpy().astype("float64"), word_means)


def load_encoder(directory: Path, recipe: Recipe = Recipe.AS_SAVED) -> Encoder:
    """The model in `directory`. Raises RigError when it cannot be loaded."""
    return Encoder(_quietly(directory, lambda st: _load(st, directory, recipe)))


def load_cross_encoder(directory: Path) -> tuple[Any, dict[int, str]]:
    """The cross-encoder in `directory`, and its labels by number. Raises RigError when it does not load."""
    model = _quietly(
        directory, lambda st: st.CrossEncoder(str(directory), device="cpu", local_files_only=True)
    )
    return model, {int(number): str(label) for number, label in model.config.id2label.items()}


class PairClassifier:
    """A model that reads two texts at once and says how likely each of some labels is.

    It is the encoder of `directory` with an adapter on top: low-rank changes of its weights and two layers,
    as benchmarks/autode/train.py writes them. Raises RigError when either cannot be loaded.
    """

    def __init__(self, directory: Path, adapter: Path) -> None:
        self._model, self._tokenizer, self._tensors = _quietly(
            directory, lambda _: _adapted(directory, adapter)
        )

    def probabilities(self, first: str, second: str) -> list[float]:
        """Of each label, in the adapter's order; the labels exclude one another."""
        import torch

        # Half a surrogate pair is legal JSON, but no text that a tokenizer accepts.
        texts = (text[:LONGEST_TEXT].encode("utf-8", "replace").decode() for text in (first, second))
        tokens = self._tokenizer(*texts, truncation=True, max_length=LONGEST_PAIR, return_tensors="pt")
        with torch.inference_mode():
            states = self._model(**tokens).last_hidden_state[0]
            parts = [states[tokens["token_type_ids"][0] == side] for side in (0, 1)]
            # An empty text has no token at all.
            sides = [part.sum(0) / max(1, len(part)) for part in parts]
            hidden = torch.cat([*sides, sides[0] * sides[1], states[0]])
            hidden = torch.nn.functional.gelu(self._linear("hidden", hidden))
            return [float(value) for value in torch.softmax(self._linear("labels", hidden), -1)]

    def _linear(self, name: str, values: Any) -> Any:
        return self._tensors[f"{name}.weight"] @ values + self._tensors[f"{name}.bias"]


def _adapted(directory: Path, adapter: Path) -> tuple[Any, Any, dict[str, Any]]:
    """The encoder with an adapter's changes, its tokenizer, and the tensors of the layers on top."""
    from safetensors.torch import load_file
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(str(directory), add_pooling_layer=False, local_files_only=True)
    tensors = {name: tensor.float() for name, tensor in load_file(adapter).items()}
    weights = dict(model.named_parameters())
    for name in [name for name in tensors if name.startswith("encoder.")]:
        weight = weights[name.removeprefix("encoder.").removesuffix(".down").removesuffix(".up")]
        if name.endswith(".up"):
            weight.data += tensors.pop(name) @ tensors.pop(name.removesuffix("up") + "down")
        elif not name.endswith(".down"):
            weight.data += tensors.pop(name)
    return model.eval(), AutoTokenizer.from_pretrained(str(directory), local_files_only=True), tensors


def _quietly(directory: Path, load: Callable[[Any], Any]) -> Any:
    """What `load` makes of sentence-transformers, without network and without a word on the terminal."""
    # Read when the libraries are imported; the directory is all they may look at.
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        from transformers.utils import logging

        logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        torch.set_num_threads(THREADS)
        try:
            import sentence_transformers

            return load(sentence_transformers)
        except Exception as error:  # whatever the libraries make of a broken model
            raise RigError(f"{directory}: not a sentence-transformers model that loads: {error}") from error


def _load(st: Any, directory: Path, recipe: Recipe) -> Any:
    if recipe is Recipe.AS_SAVED:
        return st.SentenceTransformer(str(directory), device="cpu", local_files_only=True)
    transformer = st.models.Transformer(str(directory))
    pooling = st.models.Pooling(transformer.get_word_embedding_dimension(), pooling_mode="cls")
    return st.SentenceTransformer(modules=[transformer, pooling], device="cpu")
