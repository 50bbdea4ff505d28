"""Models on a plain text, in chunks as `llama-perplexity --kl-divergence` reads it, half as context."""

import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rig.core.calls import ByName
from rig.core.errors import RigError
from rig.core.files import read_text
from rig.core.models import Notify
from rig.plugins.llama.core.llama import Chunk, DecodeError, LlamaContext
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.core.tokenizer import Tokenizer
from rig.plugins.llama.files.caches import sha256_of
from rig.plugins.llama.files.info import inspect
from rig.plugins.llama.files.registry import ResolvedModel
from rig.plugins.llama.memory.fit import LoadedModel, load_here
from rig.plugins.screen import divergence, logits_file
from rig.plugins.screen.logits_file import LogitsFile
from rig.plugins.screen.screening import OTHER_VOCABULARY, Progress, name_of

N_CTX = 512
"""The default number of tokens in a chunk, as in llama-perplexity."""
PIECE = 128
"""Tokens whose logits are read from one batch."""
LARGEST = 1 << 28


@dataclass(frozen=True, slots=True)
class Corpus:
    """What to compare models with: the first of them on a text, or a file of log-probabilities.

    `save` is the file to write the first model's log-probabilities to.
    """

    models: tuple[ResolvedModel, ...]
    engine: EngineSettings
    text: Path | None = None
    base_file: Path | None = None
    save: Path | None = None
    limit: int | None = None

    @property
    def n_ctx(self) -> int:
        """The number of tokens in a chunk."""
        return self.engine.n_ctx or N_CTX

    def chunks(self, tokenizer: Tokenizer) -> npt.NDArray[np.int32]:
        """Return the text's chunks × tokens. Raises RigError if the text cannot be read, or is too short."""
        assert self.text is not None
        text = read_text(self.text, LARGEST).removesuffix("\n")  # as llama-perplexity reads a file
        return logits_file.chunks_of(tokenizer.document(text), self.n_ctx, self.limit)


def begun(chunk: npt.NDArray[np.int32], tokenizer: Tokenizer) -> list[int]:
    """Return the chunk's tokens; the first becomes BOS if the vocabulary adds one."""
    tokens: list[int] = chunk.tolist()
    return [tokenizer.bos, *tokens[1:]] if tokenizer.adds_bos else tokens


@dataclass(frozen=True, slots=True)
class CorpusArm(ByName):
    """One model's figures, and the SHA-256 of its file; both are None after a failure."""

    arm: str
    figures: divergence.DivergenceFigures | None = None
    file_sha256: str | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class CorpusScreen(ByName):
    """All models on one text. `base` is the name of a model or of a file."""

    base: str
    chunks: int
    n_ctx: int
    arms: tuple[CorpusArm, ...]
    tokens: int
    is_interrupted: bool = False


def screen_corpus(request: Corpus, notify: Notify, progress: Progress) -> CorpusScreen:
    """Compare the models with the base on every chunk.

    A model that fails does not stop the others. Raises RigError when the base fails. If interrupted after the
    base, it returns the models that are finished.
    """
    models: dict[str, ResolvedModel] = {}
    for model in request.models:
        models[name_of(model, models)] = model
    with tempfile.TemporaryDirectory(prefix="rig-logits-") as folder:
        base, path, vocabulary = str(request.base_file), request.base_file, None
        if path is None:
            path = request.save or Path(folder) / "base"
            base = next(iter(models))
            with closing(open_model(base, models.pop(base), request, request.n_ctx, notify)) as loaded:
                tokenizer = Tokenizer(loaded.model)
                vocabulary = tokenizer.vocabulary
                with logits_file.writing(path, request.chunks(tokenizer), tokenizer.n_vocab) as written:
                    for logits in _rows(base, loaded.context, written, tokenizer, progress):
                        written.append(logits)
            if request.save:
                notify(f"{base}: its log-probabilities are in {path}")
        arms: list[CorpusArm] = []
        is_interrupted = False
        with logits_file.reading(path) as file:
            for name, model in models.items():
                try:
                    divergences = list(_diverge(name, model, request, file, vocabulary, notify, progress))
                    arms.append(CorpusArm(name, divergence.figures(divergences), sha256_of(model.path)))
                except (RigError, MemoryError) as error:
                    failure = str(error) or "out of memory"
                    notify(f"{name}: {failure}")
                    arms.append(CorpusArm(name, failure=failure))
                except KeyboardInterrupt:
                    notify(f"{name}: interrupted; what follows is of {len(arms)} of {len(models)} models")
                    is_interrupted = True
                    break
            chunks, n_ctx = file.tokens.shape
            return CorpusScreen(base, chunks, n_ctx, tuple(arms), chunks * file.rows, is_interrupted)


def _diverge(
    name: str,
    model: ResolvedModel,
    request: Corpus,
    file: LogitsFile,
    vocabulary: str | None,
    notify: Notify,
    progress: Progress,
) -> Iterator[divergence.TokenDivergence]:
    """Yield a model's divergence at each token of the file, which says of its vocabulary only the size."""
    chunks, n_ctx = file.tokens.shape
    with closing(open_model(name, model, request, n_ctx, notify)) as loaded:
        tokenizer = Tokenizer(loaded.model)
        if tokenizer.n_vocab != file.n_vocab or vocabulary not in (None, tokenizer.vocabulary):
            raise RigError(OTHER_VOCABULARY)
        following = file.tokens[:, file.first + 1 :].ravel().tolist()
        bases = chain.from_iterable(map(file.chunk, range(chunks)))
        rows = _rows(name, loaded.context, file, tokenizer, progress)
        for token, base, logits in zip(following, bases, rows, strict=True):
            yield divergence.token_divergence(base, divergence.log_softmax(logits), token, logits_file.FLOOR)


def open_model(name: str, model: ResolvedModel, request: Corpus, n_ctx: int, notify: Notify) -> LoadedModel:
    """Load a model with its adapter, for chunks of `n_ctx` tokens. Raises RigError if that fails."""
    engine = replace(request.engine, parallel=1, n_ctx=n_ctx)
    loaded = load_here(inspect(model.path), engine, notify, n_outputs=PIECE)
    notify(f"{name}: {loaded.plan.line}, threads {engine.n_threads}")
    if model.adapter is not None:
        try:
            loaded.context.apply_adapter(loaded.model.adapter(model.adapter.path), model.adapter.scale)
        except BaseException:
            loaded.close()
            raise
    return loaded


def _rows(
    name: str, context: LlamaContext, file: LogitsFile, tokenizer: Tokenizer, progress: Progress
) -> Iterator[npt.NDArray[np.float32]]:
    """Yield the logits at every place that has a row, chunk by chunk."""
    size = min(PIECE, context.n_batch)
    for number, chunk in enumerate(file.tokens):
        progress(name, number, len(file.tokens))
        # The last token has no row, but other batch sizes have slightly other logits in llama.cpp.
        tokens = begun(chunk, tokenizer)
        context.drop_tail(0, 0)
        for start in range(0, len(tokens), size):
            piece = tokens[start : start + size]
            without = max(0, min(file.first - start, len(piece)))
            try:
                context.decode([Chunk(0, piece, len(piece) - without)])
            except DecodeError as error:
                raise RigError(str(error)) from error
            for index in range(without, min(len(piece), len(tokens) - 1 - start)):
                logits = context.logits(index)
                if np.isnan(logits).any():
                    raise RigError("the model's logits are not numbers")
                yield logits
    progress(name, len(file.tokens), len(file.tokens))
