"""The one place that imports sentence-transformers, and with it torch."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rig.errors import RigError

THREADS = 1
"""One at a time, so that sums are always made in the same order; a text still takes only some 10 ms."""

LONGEST_TEXT = 2_000
"""Characters of each text that are read at once with another."""
LONGEST_PAIR = 160
"""Tokens of two texts that are read at once; the rest of the longer one is cut off."""


PACKED, SCALES = ".packed", ".scales"
"""What the names of a packed tensor's parts end with in an adapter."""
GROUP = 32
"""Numbers that share a scale."""


def load_encoder(directory: Path, *, is_plain: bool = False) -> Callable[[str], Any]:
    """What makes of a text its embedding, a numpy vector, with the model in `directory`: one as
    sentence-transformers saved it, or a plain transformers model, of which it is the last hidden state of the
    first token, [CLS].

    Texts are embedded one at a time, so that an embedding never depends on its neighbours in a batch. Raises
    RigError when the model cannot be loaded.
    """

    def load(st: Any) -> Any:
        if not is_plain:
            return st.SentenceTransformer(str(directory), device="cpu", local_files_only=True)
        transformer = st.models.Transformer(str(directory))
        pooling = st.models.Pooling(transformer.get_word_embedding_dimension(), pooling_mode="cls")
        return st.SentenceTransformer(modules=[transformer, pooling], device="cpu")

    model = _quietly(directory, load)
    return lambda text: model.encode(text, convert_to_numpy=True, show_progress_bar=False).astype("float64")


def load_cross_encoder(directory: Path) -> tuple[Any, dict[int, str]]:
    """The cross-encoder in `directory`, and its labels by number. Raises RigError when it does not load."""
    model = _quietly(
        directory, lambda st: st.CrossEncoder(str(directory), device="cpu", local_files_only=True)
    )
    return model, {int(number): str(label) for number, label in model.config.id2label.items()}


class PairClassifier:
    """A model that reads two texts at once and says how likely each of some labels is.

    It is the encoder of `directory` with an adapter on top: changes of its weights in four bits, two layers,
    and perhaps what is added to the embedding of each token that the other text lacks. benchmarks/adapters.py
    writes such adapters. Raises RigError when either cannot be loaded.
    """

    def __init__(self, directory: Path, adapter: Path) -> None:
        self._model, self._tokenizer, self._tensors = _quietly(
            directory, lambda _: adapted(directory, adapter)
        )

    def probabilities(self, first: str, second: str) -> list[float]:
        """Of each label, in the adapter's order; they exclude one another. Long texts are cut off."""
        return self._probabilities(self._tokens(first, second, truncation=True, max_length=LONGEST_PAIR))

    def whole_probabilities(self, first: str, second: str) -> list[float] | None:
        """The same, or None of texts of which something would be cut off."""
        if max(len(first), len(second)) > LONGEST_TEXT:
            return None
        tokens = self._tokens(first, second)
        return self._probabilities(tokens) if tokens["input_ids"].shape[1] <= LONGEST_PAIR else None

    def _tokens(self, first: str, second: str, **options: Any) -> Any:
        texts = (encodable(text[:LONGEST_TEXT]) for text in (first, second))
        return self._tokenizer(*texts, return_tensors="pt", **options)

    def _probabilities(self, tokens: Any) -> list[float]:
        import torch

        sides = tokens["token_type_ids"][0]
        with torch.inference_mode():
            states = self._model(
                inputs_embeds=self._embeddings(tokens["input_ids"][0], sides)[None],
                token_type_ids=sides[None],
                attention_mask=tokens["attention_mask"],
            ).last_hidden_state[0]
            parts = [states[sides == side] for side in (0, 1)]
            # An empty text has no token at all.
            means = [part.sum(0) / max(1, len(part)) for part in parts]
            hidden = torch.cat([*means, means[0] * means[1], states[0]])
            hidden = torch.nn.functional.gelu(self._linear("hidden", hidden))
            return [float(value) for value in torch.softmax(self._linear("labels", hidden), -1)]

    def _embeddings(self, tokens: Any, sides: Any) -> Any:
        """Of each token, with what marks those that the other text lacks."""
        import torch

        embedded = self._model.embeddings.word_embeddings(tokens)
        if "alone" not in self._tensors:
            return embedded
        special = torch.tensor(self._tokenizer.all_special_ids)
        shared = [torch.isin(tokens, tokens[sides == side]) for side in (0, 1)]
        alone = ~((shared[0] & shared[1]) | torch.isin(tokens, special))
        return embedded + alone[:, None] * self._tensors["alone"]

    def _linear(self, name: str, values: Any) -> Any:
        return self._tensors[f"{name}.weight"] @ values + self._tensors[f"{name}.bias"]


def encodable(text: str) -> str:
    """A text that a tokenizer accepts: half a surrogate pair is legal JSON, but no such text."""
    return text.encode("utf-8", "replace").decode()


def adapted(directory: Path, adapter: Path) -> tuple[Any, Any, dict[str, Any]]:
    """The encoder with an adapter's changes, its tokenizer, and the tensors of the layers on top."""
    from safetensors.torch import load_file
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(str(directory), add_pooling_layer=False, local_files_only=True)
    tensors = {
        name: tensor if name.endswith(PACKED) else tensor.float()
        for name, tensor in load_file(adapter).items()
    }
    weights = dict(model.named_parameters())
    for name in [name for name in tensors if name.startswith("encoder.")]:
        weight = weights[name.removeprefix("encoder.").removesuffix(PACKED).removesuffix(SCALES)]
        if name.endswith(PACKED):
            scales = tensors.pop(name.removesuffix(PACKED) + SCALES)
            weight.data += unpacked(tensors.pop(name), scales).reshape(weight.shape)
        elif not name.endswith(SCALES):
            weight.data += tensors.pop(name)
    return model.eval(), AutoTokenizer.from_pretrained(str(directory), local_files_only=True), tensors


def unpacked(values: Any, scales: Any) -> Any:
    """Numbers of four bits, two in a byte and `GROUP` to a scale, as one row of floats."""
    import torch

    numbers = torch.stack([values & 15, values >> 4], -1).reshape(-1, GROUP).float() - 8
    return (numbers * scales[:, None]).flatten()


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
