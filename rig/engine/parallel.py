"""How many steps at once pay on this machine: measured, because it depends on model, prompt and hardware.

In a batch with others, a sequence gets slightly different numbers than alone, and so now and then another
answer. Which others share the batch depends on what is left to do. Therefore only a large gain counts.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from rig.engine.core.llama import Chunk, LlamaContext
from rig.engine.core.tokenizer import Segment

CANDIDATES = (1, 2, 4, 8)
LEAST_GAIN = 2.5
"""How many times faster several sequences must be than one to be used without being asked for."""

PROMPT, ANSWER = 128, 24
"""Tokens of a step in the measurement: what its prompt adds to the one before, and its answer's batches.

A trained model of 135M parameters read 110 and decoded 20 per step, over 652 steps of rig's own suites.
"""
_TRIES = 4
_OWN = 256
"""Tokens that a conversation has beyond what all have in common, from the same runs."""

OpenContext: TypeAlias = Callable[[int, int | None], LlamaContext]
"""Makes a context for a number of sequences and of cells; None for as many cells as they can need."""


def measure(open_context: OpenContext, prefix: Segment, state: bytes) -> dict[int, float]:
    """Measure steps per second after a prefix by number of sequences, from the best of a few tries.

    Answers share batches, prompts are read one after the other. The cost of attention grows with the cells in
    use, so one more sequence holds as many as the histories of all would take. Raises RigError or DecodeError
    if memory is too short to try.
    """
    most = CANDIDATES[-1]
    context = open_context(most + 1, 2 * len(prefix) + most * _TRIES * len(CANDIDATES) + PROMPT)
    rates = {}
    try:
        if not (context.restore(0, prefix, state) and context.duplicate(0, most)):
            return {}
        for sequence in range(1, most):
            context.share(0, sequence, len(prefix))
        prompt = prefix[: min(PROMPT, context.n_batch)]
        # Each sequence has a token in every batch.
        for count in reversed([candidate for candidate in CANDIDATES if candidate <= context.n_batch]):
            context.drop_tail(most, count * _OWN)
            answering = [Chunk(sequence, prefix[-1:], True) for sequence in range(count)]
            reading = [Chunk(0, prompt, True)]
            batch_s = min(_seconds(context, answering) for _ in range(_TRIES))
            prompt_s = min(_seconds(context, reading, again=True) for _ in range(2)) * PROMPT / len(prompt)
            rates[count] = count / (count * prompt_s + ANSWER * batch_s)
    finally:
        context.close()
    return dict(sorted(rates.items()))


def _seconds(context: LlamaContext, chunks: Sequence[Chunk], *, again: bool = False) -> float:
    """Return how many seconds a batch takes; with `again`, its tokens are dropped afterwards."""
    held = [len(context.sequences[chunk.sequence]) for chunk in chunks]
    clock = time.perf_counter()
    context.decode(chunks)
    context.logits()
    seconds = time.perf_counter() - clock
    if again:
        for chunk, length in zip(chunks, held, strict=True):
            context.drop_tail(chunk.sequence, length)
    return seconds


def describe(rates: Mapping[int, float], chosen: int) -> str:
    """Return the choice and the rates behind it in one line."""
    others = ", ".join(f"{count}: {rate / rates[1]:.2f}x" for count, rate in rates.items() if count > 1)
    return f"{chosen} at once (steps per second against one at a time, measured: {others})"


def choose(rates: Mapping[int, float]) -> int:
    """Return the fewest sequences that reach nine tenths of the best rate; 1 if the gain is small."""
    best = max(rates.values(), default=0.0)
    if not rates or best < LEAST_GAIN * rates[1]:
        return 1
    return min(count for count, rate in rates.items() if rate >= 0.9 * best)
