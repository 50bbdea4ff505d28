"""Train what judges the wording of free text: the adapter rig/scoring/similarity/wording.safetensors.

    python -m benchmarks.free_text.train [--epochs 14] [--seeds 4] [--device cuda] [--output FILE]

Reads the families and the labelled pairs. Fresh sets 3 and 4 and every twelfth family are kept out, and say
how well the model reads what it has not seen. A pair is read whole or by its passages, the
sentences that belong together: texts that say the same do so in every passage, and texts that differ in
the one that is least alike. The weights of all seeds are averaged.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy
import torch
from torch import nn

from benchmarks.adapters import Classifier, batches, optimizer_of, rate_at, step, write
from benchmarks.free_text.pairs import EVERY, KEPT_OUT, Labelled, families, labelled, passages, unseen
from benchmarks.free_text.rewording import HARMLESS, LEAST, Change
from rig.scoring.similarity.minilm import ADAPTER, directory

BATCH, RATE, SMOOTHING = 192, 2.5e-4, 0.05
SAME, OTHER, WHOLE = 5, 7, 0.4
"""Pairs of a family in an epoch, and the share of pairs that are read whole."""


@dataclass(frozen=True)
class Example:
    """The passages of a pair, which all say the same, or of which one does not."""

    passages: tuple[tuple[str, str], ...]
    same: bool


def epoch(
    all_families: Sequence[Sequence[Labelled]], others: Sequence[Labelled], chance: random.Random
) -> Iterator[Labelled]:
    """The pairs of an epoch: some of each family, some changed, and the labelled ones twice."""
    yield from (*others, *others)
    for pairs in all_families:
        same, other = ([pair for pair in pairs if pair.same is label] for label in (True, False))
        yield from chance.sample(same, SAME)
        yield from chance.sample(other, OTHER)
        alike, pair = chance.choice(same), chance.choice(pairs)
        if changed := _changed(alike.second, LEAST, chance):
            yield replace(alike, second=changed, same=False)
        if changed := _changed(pair.second, HARMLESS, chance):
            yield replace(pair, second=changed)
        if changed := _changed(pair.first, LEAST, chance):
            yield replace(pair, second=changed, same=False)


def _changed(text: str, changes: dict[str, Change], chance: random.Random) -> str | None:
    found = chance.choice(list(changes.values()))(text, chance)
    return None if found == text else found


def example(pair: Labelled, chance: random.Random | None = None) -> Example:
    """A pair as it is read: by its passages, and with `chance` sometimes whole."""
    whole = ((pair.first, pair.second),)
    if chance is not None and chance.random() < WHOLE:
        return Example(whole, pair.same)
    return Example(passages(pair.kind, pair.first, pair.second) or whole, pair.same)


def loss_of(model: Classifier, batch: Sequence[Example], chance: random.Random) -> torch.Tensor:
    """How far the model is from the labels of a batch."""
    turned = [[pair if chance.random() < 0.5 else pair[::-1] for pair in one.passages] for one in batch]
    margins = _margins(model, [pair for pairs in turned for pair in pairs])
    numbers = torch.tensor([n for n, pairs in enumerate(turned) for _ in pairs], device=margins.device)
    same = torch.tensor([one.same for one in batch], device=margins.device)
    least = torch.full((len(batch),), 1e4, device=margins.device)
    least = least.scatter_reduce(0, numbers, margins, "amin")
    alike = torch.zeros_like(least).index_add(0, numbers, _loss(margins)) / torch.bincount(numbers)
    losses: torch.Tensor = torch.where(same, alike, _loss(-least))
    return losses.mean()


def _margins(model: Classifier, pairs: Sequence[tuple[str, str]]) -> torch.Tensor:
    logits = model(pairs)
    return logits[:, 1] - logits[:, 0]


def _loss(margins: torch.Tensor) -> torch.Tensor:
    softplus = nn.functional.softplus
    return softplus(-margins) * (1 - SMOOTHING) + softplus(margins) * SMOOTHING


def trained(seed: int, epochs: int, device: str) -> Classifier:
    """A model that learned from all but what is kept out. All seeds start from the same weights."""
    chance = random.Random(seed)
    torch.manual_seed(0)
    model = Classifier(directory(), 2, marking=True).to(device)
    torch.manual_seed(seed)
    to_learn = [pairs for number, pairs in enumerate(families()) if number % EVERY]
    others = [pair for pair in labelled() if pair.group not in KEPT_OUT]
    optimizer, done = optimizer_of(model, RATE), 0
    for number in range(epochs):
        examples = [example(pair, chance) for pair in epoch(to_learn, others, chance)]
        total, losses = epochs * len(examples) // BATCH, []
        model.train()
        for batch in batches(examples, BATCH, _length, chance):
            done += 1
            rate = rate_at(RATE, 150, done, total)
            losses.append(step(model, optimizer, loss_of(model, batch, chance), rate))
        print(f"seed {seed}, epoch {number}: loss {sum(losses) / len(losses):.3f}", flush=True)
    return model.eval()


def _length(one: Example) -> int:
    return max(len(first) + len(second) for first, second in one.passages)


def averaged(models: Sequence[Classifier]) -> Classifier:
    """The first of some models with the average of the weights of all."""
    states = [model.state_dict() for model in models]
    models[0].load_state_dict(
        {name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]}
    )
    return models[0]


def report(model: Classifier) -> None:
    """Print how well the pairs that were kept out are told apart: the area under the curve."""
    kept = [example(pair) for pair in unseen()]
    with torch.inference_mode():
        least = [float(_margins(model, one.passages).min()) for one in kept]
    order = numpy.argsort(numpy.argsort(least)) + 1
    same = numpy.array([one.same for one in kept])
    above = order[same].sum() - same.sum() * (same.sum() + 1) / 2
    print(f"{len(kept)} pairs kept out: area {above / (same.sum() * (~same).sum()):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--output", type=Path, default=ADAPTER)
    options = parser.parse_args()
    models = [trained(seed, options.epochs, options.device).cpu() for seed in range(options.seeds)]
    model = averaged(models)
    write(model, directory(), options.output)
    report(model)


if __name__ == "__main__":
    main()
