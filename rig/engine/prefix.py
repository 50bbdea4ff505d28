"""The KV cache as a stack of prompt segments: what the next prompt shares is kept, the rest dropped.

Only whole segments are reused, and each is prefilled in batches that begin at its own start, so what a cache
hit finds and what a miss computes went through identical batches. Generated tokens are never reused: they
were decoded in other batches than a prefill would use.
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

    def prefill(self, segments: Sequence[Segment], on_batch: Callable[[], None]) -> Prefill:
        """Bring the context to the end of the prompt, with the logits of its last token.

        The last segment is always computed, since it is its logits that are wanted. `on_batch` is called
        before each batch and may raise to give up. Raises DecodeError; the cache stays consistent.
        """
        kept = self._keep_common(segments[:-1])
        position = cached = sum(len(segment) for segment in segments[:kept])
        for number, segment in enumerate(segments[kept:], kept):
            last = number == len(segments) - 1
            for start in range(0, len(segment), self._context.n_batch):
                on_batch()
                batch = segment[start : start + self._context.n_batch]
                ends = last and start + len(batch) == len(segment)
                self._context.decode(batch, position, logits=ends)
                position += len(batch)
            if not last:
                self._segments.append(segment)
        return Prefill(position, cached)

    def _keep_common(self, segments: Sequence[Segment]) -> int:
        """Drop from the context all but the leading segments it shares with these; how many it shares."""
        kept = 0
        for have, want in zip(self._segments, segments, strict=False):
            if have != want:
                break
            kept += 1
        if not self._context.drop_tail(sum(len(segment) for segment in self._segments[:kept])):
            self._context.clear()
            kept = 0
        del self._segments[kept:]
        return kept
