"""How far the logits of the same tokens are apart when they are decoded in batches of another width.

    .venv/bin/python -m benchmarks.engine.draft_noise MODEL [--points 12] [--threads 1]

For points of true conversations the model answers, then its answer is decoded again behind the same prompt,
in batches of 1, 2, 4, 8, 16 and 25 tokens, and each alone behind others that were not. Printed for each,
against one token at a time: by how much the difference between the two best logits has changed, at most and
in 99% of the places; how often the best changed, and how far ahead it was then; and what batches cost.
`NOISE` in `rig.plugins.llama.decoding.drafting` is chosen from it.
"""

import argparse
import os
from collections.abc import Sequence
from time import process_time
from typing import TypeAlias

os.environ.setdefault("GOMP_SPINCOUNT", "2000")

import numpy as np
import numpy.typing as npt

from benchmarks.engine.contestants.engine import opening
from benchmarks.engine.work import Work
from rig.plugins.llama import apply_adapter
from rig.plugins.llama.core.llama import Chunk, LlamaContext
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.decoding.drafting import MOST
from rig.plugins.llama.files.registry import resolve
from rig.plugins.llama.loading import load

Rows: TypeAlias = npt.NDArray[np.float32]

WIDTHS = (2, 4, 8, 16, MOST + 1)

LONGEST = 64
"""Tokens of an answer. All of it is decoded in one batch once, with logits for each."""

CELLS = 0
"""Stands for one token alone, behind others that were not."""


def rows(
    context: LlamaContext, prompt: int, tokens: Sequence[int], width: int, costs: dict[int, list[float]]
) -> Rows:
    """The logits after each token, in batches of so many, shape (tokens, n_vocab).

    `costs` are seconds of CPU time by the number of tokens in a batch.
    """
    context.drop_tail(0, prompt)
    found = []
    for start in range(0, len(tokens), width):
        piece = tokens[start : start + width]
        clock = process_time()
        context.decode([Chunk(0, piece, len(piece))])
        found += [context.logits(index).copy() for index in range(len(piece))]
        costs.setdefault(len(piece), []).append(process_time() - clock)
    return np.array(found)


def alone_again(context: LlamaContext, prompt: int, tokens: Sequence[int]) -> Rows:
    """The logits after each token, alone in its batch, with those before it decoded in one."""
    rows(context, prompt, tokens, len(tokens), {})
    found = []
    for place in reversed(range(len(tokens))):
        context.drop_tail(0, prompt + place)
        context.decode([Chunk(0, tokens[place : place + 1], 1)])
        found.append(context.logits().copy())
    return np.array(found[::-1])


def compare(one: Rows, other: Rows) -> tuple[list[float], list[float]]:
    """By how much the two best moved apart in each place; and the lead where another became best."""
    moved, flipped = [], []
    for before, after in zip(one, other, strict=True):
        second, best = np.argsort(before)[-2:]
        gap = float(before[best] - before[second])
        moved.append(abs(gap - float(after[best] - after[second])))
        if int(after.argmax()) != best:
            flipped.append(gap)
    return moved, flipped


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--points", type=int, default=12)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--kv", default="f16")
    given = parser.parse_args()
    found = resolve(given.model)
    settings = EngineSettings(n_threads=given.threads, max_tokens=LONGEST, parallel=1, kv_type=given.kv)
    model = load(found.path, settings, found.base, print, n_outputs=LONGEST)
    apply_adapter(found.adapter, model)
    every = list(Work(limit=None, prefixes=None).requests().values())
    requests = every[:: max(1, len(every) // given.points)][: given.points]
    model.prepare(opening(requests[0]), None)
    moved: dict[int, list[float]] = {width: [] for width in (*WIDTHS, CELLS)}
    flipped: dict[int, list[float]] = {width: [] for width in (*WIDTHS, CELLS)}
    costs: dict[int, list[float]] = {}
    leads: list[float] = []
    for request in requests:
        answer = model.predict(request, lambda _: None)
        tokens, prompt = answer.token_ids[:-1], answer.usage.prompt_tokens
        alone = rows(model.context, prompt, tokens, 1, costs)
        leads += [float(np.subtract(*np.sort(row)[:-3:-1])) for row in alone]
        for width in WIDTHS:
            apart, changed = compare(alone, rows(model.context, prompt, tokens, width, costs))
            moved[width] += apart
            flipped[width] += changed
        apart, changed = compare(alone, alone_again(model.context, prompt, tokens))
        moved[CELLS] += apart
        flipped[CELLS] += changed
    print("0: one, behind others that were in one batch")
    print("| tokens in a batch | places | moved, 99% | moved, most | best changed | with a lead of up to |")
    print("| --- | --- | --- | --- | --- | --- |")
    for width in (*WIDTHS, CELLS):
        values = moved[width]
        print(
            f"| {width} | {len(values)} | {np.quantile(values, 0.99):.3f} | {max(values):.3f}"
            f" | {len(flipped[width])} | {max(flipped[width], default=0.0):.3f} |"
        )
    print("lead of the best:", {at: f"{np.quantile(leads, at):.2f}" for at in (0.05, 0.1, 0.2, 0.5)})
    milliseconds = {width: f"{1000 * min(values):.1f}" for width, values in sorted(costs.items())}
    print("ms of CPU time for a batch of so many tokens, least:", milliseconds)
    model.close()


if __name__ == "__main__":
    main()
