"""The KV cache as a stack of prompt segments: what the next prompt shares is kept, the rest dropped.

Across turns only whole segments are reused, and each is prefilled in batches that begin at its own start, so
what a cache hit finds and what a miss computes went through identical batches and hold the same bits. Within
a turn, what was generated is kept too, though it was decoded in other batches than a prefill would use: a
turn is always played from its start, so it meets the same bits every time.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rig.engine.llama import LlamaContext
from rig.engine.prompt import Segment


class Prefill(NamedTuple):
    """Tokens of a prompt, and how many of them were in the cache already."""

    prompt_tokens: int
    cached_tokens: int


class PrefixCache:
    """Keeps one sequence of a context at the longest prefix that prompts share."""

    def __init__(self, context: LlamaContext) -> None:
        self._context = context
        self._segments: list[Segment] = []
        self._lasting = 0  # leading segments that hold prefilled tokens only

    def begin(self) -> None:
        """A turn begins: forget what generation left in the cache."""
        self._drop(self._lasting, sum(map(len, self._segments[: self._lasting])))

    def prefill(self, segments: Sequence[Segment], on_batch: Callable[[], None]) -> Prefill:
        """Bring the context to the end of the prompt, with the logits of its last token.

        The last segment is always computed, since it is its logits that are wanted. `on_batch` is called
        before each batch and may raise to give up. Raises DecodeError; the cache stays consistent.
        """
        prompt = [token for segment in segments for token in segment]
        cached = self._keep_common(segments[:-1])
        lasting = sum(map(len, self._segments[: self._lasting]))
        if cached == lasting:  # nothing generated is in the way: segment by segment, to be found again
            for segment in segments[self._lasting : -1]:
                self._decode(segment, on_batch, logits=False)
                self._segments.append(segment)
                self._lasting += 1
        self._decode(prompt[len(self._context.tokens) :], on_batch, logits=True)
        self._segments = list(segments[:-1])
        return Prefill(len(prompt), cached)

    def _decode(self, tokens: Sequence[int], on_batch: Callable[[], None], *, logits: bool) -> None:
        for start in range(0, len(tokens), self._context.n_batch):
            on_batch()
            batch = tokens[start : start + self._context.n_batch]
            self._context.decode(batch, logits=logits and start + len(batch) == len(tokens))

    def _keep_common(self, segments: Sequence[Segment]) -> int:
        """Drop all tokens but those that these segments begin with; how many are kept."""
        kept = 0
        for have, want in zip(self._segments, segments, strict=False):
            if have != want:
                break
            kept += 1
        length = sum(map(len, segments[:kept]))
        if kept == len(self._segments) and kept < len(segments):
            length += _common(self._context.tokens[length:], segments[kept])
        return self._drop(kept, length)

    def _drop(self, segments: int, tokens: int) -> int:
        """Keep so many segments and tokens, or none where the memory cannot; how many tokens are left."""
        left = self._context.drop_tail(tokens)
        kept = segments if left == tokens else 0
        del self._segments[kept:]
        self._lasting = min(self._lasting, kept)
        return left


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    """The length of the longest common prefix."""
    return next(
        (n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )
