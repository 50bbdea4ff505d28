"""The one place that imports sentence-transformers, and with it torch."""

import importlib
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rig.core.errors import RigError

THREADS = 1
"""Only one, so that sums are always made in the same order; a text still takes only some 10 ms."""

LONGEST_TEXT = 2_000
"""The most characters of a text that is read together with another."""
LONGEST_PAIR = 160
"""The most tokens of two texts that are read together; the rest of the longer one is cut off."""


PACKED, SCALES = ".packed", ".scales"
"""The endings of the names of a packed tensor's parts in an adapter."""
GROUP = 32
"""How many numbers share a scale."""


def load_encoder(directory: Path, *, is_plain: bool = False) -> Callable[[str], Any]:
    """Return a function from a text to its embedding, a numpy vector, by the model in `directory`.

    The model is one that sentence-transformers saved, or a plain transformers model, whose embedding is the
    last hidden state of the first token, [CLS].

    Texts are embedded one at a time, so that an embedding never depends on its neighbours in a batch. Raises
    RigError if the model cannot be loaded.
    """

    def load(st: Any) -> Any:
        if not is_plain:
            return st.SentenceTransformer(str(directory), device="cpu", local_files_only=True)
        # Some releases import it with the package, others when it is asked for.
        models = importlib.import_module("sentence_transformers.models")
        transformer = models.Transformer(str(directory))
        pooling = models.Pooling(transformer.get_word_embedding_dimension(), pooling_mode="cls")
        return st.SentenceTransformer(modules=[transformer, pooling], device="cpu")

    model = _quietly(directory, load)
    return lambda text: model.encode(text, convert_to_numpy=True, show_progress_bar=False).astype("float64")


def load_cross_encoder(directory: Path) -> tuple[Any, dict[int, str]]:
    """Load the cross-encoder in `directory`, and its labels by number. Raises RigError if that fails."""
    model = _quietly(
        directory, lambda st: st.CrossEncoder(str(directory), device="cpu", local_files_only=True)
    )
    return model, {int(number): str(label) for number, label in model.config.id2label.items()}


class PairClassifier:
    """A model that reads two texts together and returns how likely each of some labels is.

    It is the encoder of `directory` with an adapter: changes of the encoder's weights in four bits, two
    layers on top, and optionally a vector to add to the embedding of each token that the other text lacks.
    benchmarks/adapters.py writes such adapters. Raises RigError if either cannot be loaded.
    """

    def __init__(self, directory: Path, adapter: Path) -> None:
        self._model, self._tokenizer, self._tensors = _quietly(
            directory, lambda _: adapted(directory, adapter)
        )

    def probabilities(self, first: str, second: str) -> list[float]:
        """Return the probabilities of the labels, which exclude one another, in the adapter's order.

        Long texts are cut off.
        """
        return self._probabilities(self._tokens(first, second, truncation=True, max_length=LONGEST_PAIR))

    def whole_probabilities(self, first: str, second: str) -> list[float] | None:
        """Return the probabilities, or None if a text is so long that something would be cut off."""
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
        """Return each token's embedding, with a mark added for tokens that the other text lacks."""
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
    """Return a text that a tokenizer accepts, without the lone surrogates that JSON allows."""
    return text.encode("utf-8", "replace").decode()


def adapted(directory: Path, adapter: Path) -> tuple[Any, Any, dict[str, Any]]:
    """Return the encoder with an adapter's changes, its tokenizer, and the tensors of the layers on top."""
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
    """Unpack four-bit numbers, two in a byte and `GROUP` to a scale, into one row of floats."""
    import torch

    numbers = torch.stack([values & 15, values >> 4], -1).reshape(-1, GROUP).float() - 8
    return (numbers * scales[:, None]).flatten()


def _quietly(directory: Path, load: Callable[[Any], Any]) -> Any:
    """Return what `load` returns, given sentence-transformers, without network and terminal output."""
    # These are read when the libraries are imported, which may read nothing but the directory.
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
        except Exception as error:  # whatever the libraries raise for a broken model
            raise RigError(f"{directory}: not a sentence-transformers model that loads: {error}") from error
