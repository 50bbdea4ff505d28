"""The sources of drafts for a model's steps, as `--draft` says."""

import math
from collections.abc import Sequence

import numpy as np

from rig.engine.cache.prefix import common
from rig.engine.core.tokenizer import Tokenizer
from rig.engine.drafting.ahead import Source
from rig.engine.drafting.draft_model import DraftModel
from rig.models import Request, Sibling

WORTH_CPU, WORTH_GPU = 0.5, 0.1
"""How likely drafted tokens have to be: what a token more in a batch takes, against a batch of one."""
_LONGEST = 8
"""Tokens in a row that are looked for, at most; more say nothing more."""
_LEAST = 2
"""Fewer in a row are no sign that what follows is the same."""
_CERTAIN = 0.98
"""How likely a token is at most to be what another model wrote, however certain that one was."""
_COPIED = 0.8
"""How likely a token is that follows in the prompt on what was found there."""


class Copying:
    """Proposes what followed the last tokens elsewhere, as far as it is likely enough to be worth the work.

    `sibling` are the tokens of another answer, each with how likely it was there. `worth` is what a token
    more in a batch costs, in batches: drafts stop where they are less likely than that.
    """

    def __init__(self, prompt: Sequence[int], sibling: Sequence[tuple[int, float]], worth: float) -> None:
        self._prompt = np.array(prompt, dtype=np.int64)
        self._sibling = [token for token, _ in sibling]
        self._likely = [min(likely, _CERTAIN) for _, likely in sibling]
        self._worth = worth
        self._at = self._seen = 0
        self._run = 2 * _LONGEST

    def propose(self, answer: Sequence[int], most: int) -> list[int]:
        """The sibling's tokens from where the answer is; after its end, those of the prompt."""
        for end in range(self._seen + 1, len(answer) + 1):
            self._follow(answer[:end])
        self._seen = len(answer)
        if self._at >= len(self._sibling):
            return self._looked_up(answer, most)
        likely = self._likely[self._at : self._at + most]
        count = self._worthwhile((self._run + 1) / (self._run + 2), likely)
        return self._sibling[self._at : self._at + count]

    def _follow(self, answer: Sequence[int]) -> None:
        """Move to the place in the sibling that the answer's last token leads to."""
        if self._sibling[self._at : self._at + 1] == [answer[-1]]:
            self._at += 1
            self._run += 1
            return
        places = [place for place, token in enumerate(self._sibling, 1) if token == answer[-1]]
        runs = {place: common(answer[: -_LONGEST - 1 : -1], self._sibling[:place][::-1]) for place in places}
        near = {
            place: (run, -abs(place - self._at))
            for place, run in runs.items()
            if run >= _LEAST or abs(place - self._at) <= _LONGEST
        }
        # Where the token is nowhere near, it stands for the one that the sibling has here.
        best = max(near, key=near.__getitem__, default=self._at + 1)
        self._at, self._run = best, runs.get(best, 0)

    def _looked_up(self, answer: Sequence[int], most: int) -> list[int]:
        """What followed the last tokens when they were there before."""
        text = np.concatenate([self._prompt, np.array(answer, dtype=np.int64)])
        ends, run = np.flatnonzero(text[:-1] == text[-1]) + 1, 1
        while run < min(_LONGEST, len(text) - 1):
            longer = ends[ends > run]
            longer = longer[text[longer - run - 1] == text[-run - 1]]
            if not len(longer):
                break
            ends, run = longer, run + 1
        if run < _LEAST or not len(ends):
            return []
        following: list[int] = text[ends[-1] : ends[-1] + most].tolist()
        return following[: self._worthwhile(run / (run + 3), [_COPIED] * len(following))]

    def _worthwhile(self, likely: float, steps: Sequence[float]) -> int:
        """How many tokens can be taken before all of them together are too unlikely."""
        for count, step in enumerate(steps):
            likely *= step
            if likely < self._worth:
                return count
        return len(steps)


class Drafter:
    """Makes a source of drafts for each step, or none. `model`, if given, is closed with it."""

    def __init__(
        self, kind: str, tokenizer: Tokenizer, *, worth: float, model: DraftModel | None = None
    ) -> None:
        self.uses_siblings = kind == "sibling"
        self._drafts = kind != "none"
        self._tokenizer = tokenizer
        self._worth = worth
        self._model = model

    def source(
        self, slot: int, request: Request, prompt: Sequence[int], marks: frozenset[int]
    ) -> Source | None:
        """The source of drafts of a step. `marks` are tokens that end other answers than this one."""
        if not self._drafts:
            return None
        if (model := self._model) is not None:
            return lambda answer, most: model.propose(slot, [*prompt, *answer], most, self._worth)
        sibling = request.sibling if self.uses_siblings else None
        if sibling is None and self.uses_siblings and self._worth >= WORTH_CPU:
            return None  # what is looked up is too seldom right to pay there
        return Copying(prompt, self._tokens(sibling, marks) if sibling else (), self._worth).propose

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
