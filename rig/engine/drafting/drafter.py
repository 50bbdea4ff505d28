"""Who drafts for a model's steps, as `--draft` says."""

import math
from collections.abc import Sequence

from rig.engine.core.tokenizer import Tokenizer
from rig.engine.drafting.ahead import Source
from rig.engine.drafting.copying import Copying
from rig.engine.drafting.draft_model import Continuing, DraftModel
from rig.models import Request, Sibling

WORTH_CPU, WORTH_GPU = 0.5, 0.1
"""How likely drafted tokens have to be: what a token more in a batch takes, against a batch of one."""


class Drafter:
    """Makes a source of drafts for each step, or none. `model`, if given, is closed with it."""

    def __init__(
        self, kind: str, tokenizer: Tokenizer, *, worth: float, model: DraftModel | None = None
    ) -> None:
        self._kind = kind
        self._tokenizer = tokenizer
        self._worth = worth
        self._model = model

    @property
    def uses_siblings(self) -> bool:
        return self._kind == "sibling"

    def source(
        self, slot: int, request: Request, prompt: Sequence[int], marks: frozenset[int]
    ) -> Source | None:
        """Who drafts for a step. `marks` are tokens that end other answers than this one."""
        if self._kind == "none":
            return None
        if self._model is not None:
            return Continuing(self._model, slot, prompt, self._worth)
        sibling = request.sibling if self.uses_siblings else None
        if sibling is None and self.uses_siblings and self._worth >= WORTH_CPU:
            return None  # what is looked up is too seldom right to pay there
        return Copying(prompt, self._tokens(sibling, marks) if sibling else (), self._worth)

    def close(self) -> None:
        """Let go of the draft model."""
        if self._model is not None:
            self._model.close()

    def _tokens(self, sibling: Sibling, marks: frozenset[int]) -> list[tuple[int, float]]:
        """A sibling's answer in this model's tokens, each with how likely it was; the last leads nowhere."""
        tokens, logprobs = sibling.token_ids, sibling.logprobs
        if (
            len(logprobs) != len(tokens)
            or any(not 0 <= token < self._tokenizer.n_vocab for token in tokens)
            or b"".join(self._tokenizer.shown(token, marks) for token in tokens).decode("utf-8", "replace")
            != sibling.raw
        ):  # they are not tokens of this vocabulary that stand for the text
            tokens = tuple(self._tokenizer.generated(sibling.raw))
            logprobs = (0.0,) * len(tokens)
        pairs = zip(tokens[:-1], logprobs, strict=False)
        return [(token, math.exp(min(logprob, 0.0))) for token, logprob in pairs]
