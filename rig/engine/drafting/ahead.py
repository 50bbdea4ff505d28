"""Tokens that are decoded before they are chosen, and the way back to where a run without drafts would be.

Drafted tokens go through the batch of a chosen one. Each is kept if the model itself chooses it, from its own
logits under its grammar; at the first that it does not choose, the rest is dropped. In a batch of another
width, the logits of a token change slightly, and so do those of all later tokens. If the two best tokens are
closer than that noise, everything since the first draft is decoded again as in a run without drafts: the same
batches in the same cells, and so the same bits.
"""

from collections.abc import Callable, Generator, Sequence
from itertools import takewhile
from typing import TypeAlias

from rig.engine.cache.prefix import Feed, Logits, Rows, common
from rig.engine.core.llama import LlamaContext
from rig.engine.core.sampling import margin
from rig.engine.grammar.constraint import Mask

MOST = 24
"""Tokens drafted at once, at most. Their logits take this many times the vocabulary."""

NOISE = 0.75
"""Two logits further apart than this are in the same order, in any batch.

Measured by benchmarks/engine/draft_noise.py; docs/lab/performance.md has the figures.
"""


Source: TypeAlias = Callable[[Sequence[int], int], Sequence[int]]
"""Proposes, for one step, the tokens that may follow an answer so far, so many at most. They may be wrong."""


class Ahead:
    """One sequence of a context, which may hold drafted tokens behind those that were chosen."""

    def __init__(self, context: LlamaContext, sequence: int) -> None:
        self._context = context
        self._sequence = sequence
        self.noise = NOISE
        self._source: Source | None = None
        self._tokens: list[int] = []
        self._rows: list[Logits] = []
        self._held = self._sound = 0
        self._since: list[tuple[Sequence[int], int]] = []
        """The batches of an undrafted run, and of each how many tokens are there still."""
        self.drafted = self.accepted = 0

    def settle(self) -> None:
        """Drop what was drafted and never chosen; call it before each prompt."""
        if self._tokens:
            self._drop(self._held)

    def begin(self, prompt: Sequence[int], *, cached: int, lasting: int, source: Source | None) -> None:
        """A step begins, its prompt just decoded.

        Of it `cached` tokens were there before, and `lasting` are of prompts alone.
        """
        if cached <= lasting:
            self._since.clear()
        # Follow what an undrafted run keeps of its sequence.
        end, kept = self._sound, []
        for tokens, count in self._since:
            if (rest := min(count, cached - end)) <= 0:
                break
            kept.append((tokens, rest))
            end += rest
        self._since, self._sound = kept, min(self._sound, cached)
        if self._since:
            self._since.append((prompt[end:], len(prompt) - end))
        else:
            self._sound = len(prompt)
        self._held = len(prompt)
        self._source = source
        self.drafted = self.accepted = 0

    def go_on(
        self, pending: Sequence[int], answer: Sequence[int], left: int
    ) -> Generator[Feed, Rows | None, Logits]:
        """The logits after tokens that were chosen: from what was decoded ahead, or by decoding them.

        `answer` ends with these tokens; `left` is how many may still come.
        """
        accepted = self.take(pending)
        batch = pending, len(pending)
        if accepted == len(pending):
            logits = self._rows[accepted - 1]
            del self._tokens[:accepted], self._rows[:accepted]
            self._since.append(batch)
        else:
            self._drop(self._held + accepted)
            most = min(left, MOST)
            tokens = self._source(answer, most)[:most] if self._source and most > 0 else []
            draft = list(takewhile(lambda token: 0 <= token < self._context.n_vocab, tokens))
            rows = yield Feed([*pending[accepted:], *draft], logits=1 + len(draft), generated=True)
            assert rows is not None
            if draft or accepted or self._since:
                self._since.append(batch)
            else:
                self._sound += len(pending)
            logits, *self._rows = rows
            self._tokens = draft
            self.drafted += len(draft)
        self._held += len(pending)
        return logits

    def surely(self, logits: Logits, allowed: Mask) -> Generator[Feed, Rows | None, Logits]:
        """The same logits, or others where an undrafted run might choose another of the allowed tokens."""
        if not self._since or margin(logits, allowed) >= self.noise:
            return logits
        # Decode all that an undrafted run would have decoded by now as it does.
        self._drop(self._sound)
        rows: Rows | None = None
        while self._since:
            tokens, kept = self._since[0]
            rows = yield Feed(tokens, logits=len(self._since) == 1, generated=True)
            self._sound += kept
            self._context.drop_tail(self._sequence, self._sound)
            del self._since[0]
        assert rows is not None
        return rows[-1]

    def take(self, pending: Sequence[int]) -> int:
        """How many of these chosen tokens were decoded ahead; the last ones of an answer need no more."""
        accepted = common(pending, self._tokens)
        self.accepted += accepted
        return accepted

    def _drop(self, position: int) -> None:
        """Forget all tokens from a position on, those decoded ahead among them."""
        if len(self._context.sequences[self._sequence]) > position:
            self._context.drop_tail(self._sequence, position)
        self._tokens, self._rows = [], []
