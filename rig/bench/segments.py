"""Where prompts that come as bare token ids are cut, so that what they share is prefilled once."""

from collections.abc import Iterator, Sequence
from itertools import pairwise


def cut(prompts: Sequence[Sequence[int]]) -> list[tuple[tuple[int, ...], ...]]:
    """Cut every prompt wherever it parts from another one, and before its last token.

    Those are the nodes of the prompts' prefix tree: whatever two prompts share is whole segments of both. The
    last token stands alone because its logits are always computed, whatever the cache holds.
    """
    order = sorted(range(len(prompts)), key=lambda number: tuple(prompts[number]))
    cuts: list[set[int]] = [{len(prompt) - 1} for prompt in prompts]
    # What two prompts share is the least that any two neighbours between them share, so a pass in each
    # direction along the sorted prompts brings every cut to everybody it concerns.
    for direction in (order, order[::-1]):
        for one, other in pairwise(direction):
            shared = _shared(prompts[one], prompts[other])
            cuts[one].add(shared)
            cuts[other] |= {at for at in cuts[one] if at <= shared}
    return [tuple(_pieces(prompt, at)) for prompt, at in zip(prompts, cuts, strict=True)]


def _shared(left: Sequence[int], right: Sequence[int]) -> int:
    """The length of the longest common prefix."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(left), len(right)))


def _pieces(prompt: Sequence[int], cuts: set[int]) -> Iterator[tuple[int, ...]]:
    edges = sorted({0, *cuts, len(prompt)} - {-1})
    for start, end in pairwise(edges):
        yield tuple(prompt[start:end])
