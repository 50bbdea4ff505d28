"""Train what judges the wording of free text: the adapter rig/plugins/similarity/wording.safetensors.

    python -m benchmarks.free_text.train [--epochs 14] [--seeds 4] [--device cuda] [--output FILE]
    python -m benchmarks.free_text.train --start FILE --epochs 1 --seeds 1 --batch 48 --share 0.2 --new y za

Reads the families and the labelled pairs. Fresh sets 3 and 4 and every twelfth family are kept out, and say
how well the model reads what it has not seen. A pair is read whole or by its passages, the
sentences that belong together: texts that say the same do so in every passage, and texts that differ in
the one that is least alike. The weights of all seeds are averaged. `--start` goes on from an adapter, perhaps
with all families of new files and a share of the others in each epoch.
"""

import argparse
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy
import torch
from torch import nn

from benchmarks.adapters import Classifier, batches, optimizer_of, rate_at, started, step, write
from benchmarks.free_text.pairs import EVERY, KEPT_OUT, Labelled, families, labelled, passages, unseen
from benchmarks.free_text.rewording import HARMLESS, LEAST, OMISSIONS, Change, content_words, with_word
from rig.plugins.similarity.minilm import ADAPTER, directory

RATE, SMOOTHING = 2.5e-4, 0.05
SAME, OTHER, WHOLE = 6, 5, 0.4
"""Pairs of a family in an epoch, and the share of pairs that are read whole."""


@dataclass(frozen=True)
class Example:
    """The passages of a pair, which all say the same, or of which one does not."""

    passages: tuple[tuple[str, str], ...]
    same: bool


def epoch(
    all_families: Sequence[Sequence[Labelled]],
    others: Sequence[Labelled],
    chance: random.Random,
    share: float = 1,
    new: Sequence[str] = (),
) -> Iterator[Labelled]:
    """The pairs of an epoch: some of each family, some changed or shortened, texts that have nothing to do
    with one another, and the labelled ones, twice if all families are learned. Only the `new` files and a
    share of the other families are.
    """
    yield from (*others, *others) if share == 1 else others
    for pairs in all_families:
        if Path(pairs[0].group).name not in new and chance.random() >= share:
            continue
        same, other = ([pair for pair in pairs if pair.same is label] for label in (True, False))
        yield from chance.sample(same, SAME)
        yield from chance.sample(other, OTHER)
        yield from _omissions(chance.choice(same), chance)
        elsewhere = chance.choice(chance.choice(all_families))
        yield _unrelated(chance.choice(same), elsewhere, chance)
        pair, words = chance.choice(same), content_words(elsewhere.first)
        if words and (text := with_word(pair.second, chance.choice(words), chance)):
            yield replace(pair, second=text, same=False)
        alike, pair = chance.choice(same), chance.choice(pairs)
        if changed := _changed(alike.second, LEAST, chance):
            yield replace(alike, second=changed, same=False)
        if changed := _changed(pair.second, HARMLESS, chance):
            yield replace(pair, second=changed)
        if changed := _changed(pair.first, LEAST, chance):
            yield replace(pair, second=changed, same=False)


def _omissions(pair: Labelled, chance: random.Random) -> Iterator[Labelled]:
    """The pair with a part of the second text left out, and the first text with a part of itself left out."""
    for text in (pair.first, pair.second):
        if less := _changed(text, OMISSIONS, chance):
            yield replace(pair, second=less, same=False)


def _unrelated(pair: Labelled, other: Labelled, chance: random.Random) -> Labelled:
    """The first text beside one that has nothing to do with it: all of another one, a sentence of it, or its
    first words.
    """
    text, amount = other.second, chance.random()
    if amount < 0.7:
        text = chance.choice(re.split(r"(?<=[.!?]) ", text))
    if amount < 0.4:
        text = " ".join(text.split()[: chance.randint(1, 4)]).rstrip(".,!?") + chance.choice(".!?")
    return replace(pair, second=text, same=False)


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


def trained(seed: int, options: argparse.Namespace) -> Classifier:
    """A model that learned from all but what is kept out. All seeds start from the same weights."""
    chance = random.Random(seed)
    torch.manual_seed(0)
    model = Classifier(directory(), 2, marking=True)
    if options.start:
        model = started(model, directory(), options.start)
    model.to(options.device)
    torch.manual_seed(seed)
    to_learn = [pairs for number, pairs in enumerate(families()) if number % EVERY]
    others = [pair for pair in labelled() if pair.group not in KEPT_OUT]
    optimizer, done = optimizer_of(model, options.rate), 0
    for number in range(options.epochs):
        examples = [
            example(pair, chance) for pair in epoch(to_learn, others, chance, options.share, options.new)
        ]
        total, losses = options.epochs * len(examples) // options.batch, []
        model.train()
        for batch in batches(examples, options.batch, _length, chance):
            done += 1
            loss = loss_of(model, batch, chance)
            losses.append(step(model, optimizer, loss, rate_at(options.rate, 150, done, total)))
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
    parser.add_argument("--batch", type=int, default=192)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--start", type=Path, help="an adapter to go on from")
    parser.add_argument("--share", type=float, default=1.0, help="of the families in an epoch")
    parser.add_argument("--new", nargs="*", default=(), help="files of families that are learned whole")
    parser.add_argument("--output", type=Path, default=ADAPTER)
    options = parser.parse_args()
    models = [trained(seed, options).cpu() for seed in range(options.seeds)]
    model = averaged(models)
    write(model, directory(), options.output)
    report(model)


if __name__ == "__main__":
    main()
