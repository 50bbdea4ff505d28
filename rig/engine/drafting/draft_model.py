"""Drafts by a second, smaller model with the same vocabulary."""

from collections.abc import Sequence

import numpy as np

from rig.engine.cache.prefix import Logits, common
from rig.engine.core.llama import Chunk, DecodeError, LlamaContext, LlamaModel
from rig.engine.core.settings import DEFAULT_BATCH, DEFAULT_CONTEXT, EngineSettings
from rig.engine.core.tokenizer import Tokenizer
from rig.engine.files.registry import ResolvedModel
from rig.engine.memory.weights import open_weights
from rig.errors import RigError


class DraftModel:
    """A model that proposes. It has a context of its own, in which every slot has a sequence."""

    def __init__(self, model: LlamaModel, context: LlamaContext) -> None:
        self._model = model
        self._context = context

    def propose(self, slot: int, prompt: Sequence[int], most: int, worth: float) -> list[int]:
        """What it would go on with, greedily, while all of it together is likelier than `worth`.

        Nothing where the prompt does not fit or llama.cpp cannot decode it.
        """
        most = min(most, self._context.n_ctx - len(prompt))
        tokens: list[int] = []
        likely = 1.0
        try:
            logits = self._read(slot, prompt) if most > 0 else None
            while logits is not None and len(tokens) < most:
                token = int(logits.argmax())
                likely /= float(np.exp(logits - logits[token], dtype=np.float64).sum())
                if not likely >= worth:
                    break
                tokens.append(token)
                if len(tokens) < most:
                    self._context.decode([Chunk(slot, (token,), 1)])
                    logits = self._context.logits()
        except DecodeError:
            pass
        return tokens

    def _read(self, slot: int, prompt: Sequence[int]) -> Logits:
        held = self._context.sequences[slot]
        start = self._context.drop_tail(slot, min(common(held, prompt), len(prompt) - 1))
        size = self._context.n_batch
        for at in range(start, len(prompt), size):
            piece = prompt[at : at + size]
            self._context.decode([Chunk(slot, piece, int(at + len(piece) == len(prompt)))])
        return self._context.logits()

    def close(self) -> None:
        """Free the context, and the weights if nobody else has them."""
        self._context.close()
        self._model.close()


class Continuing:
    """Proposes for one step the continuation of a draft model."""

    def __init__(self, model: DraftModel, slot: int, prompt: Sequence[int], worth: float) -> None:
        self._model = model
        self._slot = slot
        self._prompt = prompt
        self._worth = worth

    def propose(self, answer: Sequence[int], most: int) -> list[int]:
        """The model's own continuation, without any grammar."""
        return self._model.propose(self._slot, [*self._prompt, *answer], most, self._worth)


def open_draft_model(draft: ResolvedModel, of: Tokenizer, name: str, settings: EngineSettings) -> DraftModel:
    """Load a draft model for a model with this tokenizer and settings. Raises RigError if it cannot draft."""
    model = open_weights(draft.path, -1 if settings.n_gpu_layers else 0)
    try:
        if not model.can_branch:
            raise RigError(f"--draft {draft.path}: a recurrent model cannot take back a token; give another")
        own = Tokenizer(model)
        if own.n_vocab != of.n_vocab or any(own.piece(n) != of.piece(n) for n in range(of.n_vocab)):
            raise RigError(
                f"--draft {draft.path}: its tokens are not those of {name}; give a model of the same family"
            )
        context = LlamaContext(
            model,
            n_ctx=min(settings.n_ctx or DEFAULT_CONTEXT, model.n_ctx_train),
            n_batch=settings.n_batch or DEFAULT_BATCH,
            n_threads=settings.n_threads,
            flash_attention=bool(settings.flash_attention),
            kv_type="f16",
            n_seq=settings.parallel or 1,
        )
        if draft.adapter is not None:
            context.apply_adapter(model.adapter(draft.adapter.path), draft.adapter.scale)
        return DraftModel(model, context)
    except BaseException:
        model.close()
        raise
