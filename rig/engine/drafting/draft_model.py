"""Drafts by a second, smaller model with the same vocabulary."""

from collections.abc import Sequence

import numpy as np

from rig.engine.cache.prefix import common
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
            if most > 0:
                read_prompt(self._context, slot, prompt)
            while len(tokens) < most:
                logits = self._context.logits()
                token = int(logits.argmax())
                likely /= float(np.exp(logits - logits[token], dtype=np.float64).sum())
                if not likely >= worth:
                    break
                tokens.append(token)
                if len(tokens) < most:
                    self._context.decode([Chunk(slot, (token,), 1)])
        except DecodeError:
            pass
        return tokens

    def close(self) -> None:
        """Free the context, and the weights if nobody else has them."""
        self._context.close()
        self._model.close()


def read_prompt(context: LlamaContext, slot: int, prompt: Sequence[int]) -> int:
    """Bring a sequence to the end of a prompt, its last token just computed; how many were computed."""
    held = context.sequences[slot]
    start = context.drop_tail(slot, min(common(held, prompt), len(prompt) - 1))
    for at in range(start, len(prompt), context.n_batch):
        piece = prompt[at : at + context.n_batch]
        context.decode([Chunk(slot, piece, int(at + len(piece) == len(prompt)))])
    return len(prompt) - start


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
