"""Train what the scripted user understands: the adapter rig/methods/autode/hearing.safetensors.

    python benchmarks/autode/train.py [--epochs 2] [--hold g.jsonl] [--output FILE]

Reads benchmarks/autode/turns/*.jsonl: scenarios that no suite has, with what assistants say in them and the
things (slots, sentences of the script) that each utterance asks for, states rightly and states wrongly.
Takes about 8 minutes on two cores. `--hold` keeps a file out of the training, and says how well it is read.
"""

import argparse
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy
import torch
from safetensors.torch import save_file
from torch import nn
from transformers import AutoModel, AutoTokenizer

from rig.calls import Json
from rig.methods.autode.hearing import ADAPTER, LABELS, described
from rig.methods.autode.questions import spoken
from rig.methods.autode.scripted_user import introduction
from rig.reading.times import WEEKDAYS
from rig.scoring.similarity.encoder import LONGEST_PAIR
from rig.scoring.similarity.minilm import directory

TURNS = Path(__file__).resolve().parent / "turns"
HIDDEN, BATCH, RATE, RANK = 64, 32, 1e-4, 32
WEIGHTS = (1.0, 1.5, 1.5, 1.5)
"""Of each label in the loss: most things are not touched."""


@dataclass(frozen=True)
class Example:
    """An utterance, a thing, and the number of the label that holds."""

    utterance: str
    thing: str
    label: int


@dataclass
class Examples:
    """Scenarios as examples; with `chance`, false values are made from the true ones."""

    scenarios: Sequence[dict[str, Any]]
    chance: random.Random | None = None
    values: dict[str, list[str]] = field(default_factory=dict)
    """The values of slots that are named alike, by the last word of the name."""

    def __post_init__(self) -> None:
        for scenario in self.scenarios:
            for slot in scenario["slots"]:
                if isinstance(slot["value"], str):
                    self.values.setdefault(_last_word(slot["name"]), []).append(slot["value"])

    def __iter__(self) -> Iterator[Example]:
        for scenario in self.scenarios:
            slots = {slot["name"]: slot for slot in scenario["slots"]}
            things = {
                name: described(name, slot["description"], slot["value"]) for name, slot in slots.items()
            }
            things |= {"character": introduction(scenario["character"])}
            things |= {name: scenario[name] for name in ("background", "purpose")}
            for turn in scenario["turns"]:
                for name, thing in things.items():
                    label = next((n for n, key in enumerate(LABELS) if name in turn.get(key, ())), 0)
                    yield Example(turn["text"], thing, label)
                    if self.chance and name in slots and label:
                        yield from self._with_another_value(turn["text"], slots[name], LABELS[label])

    def _with_another_value(self, text: str, slot: dict[str, Any], label: str) -> Iterator[Example]:
        """The same with a value that the utterance does not state; what asks for one asks for any."""
        assert self.chance is not None
        if label == "false" or (label == "asks" and self.chance.random() > 0.3):
            return
        other = self._another(slot)
        if other is not None:
            thing = described(slot["name"], slot["description"], other)
            yield Example(text, thing, LABELS.index("false" if label == "true" else label))

    def _another(self, slot: dict[str, Any]) -> Json:
        value, chance = slot["value"], self.chance
        assert chance is not None
        if isinstance(value, bool):
            return not value
        numbers = list(re.finditer(r"\d+", value))
        if numbers and chance.random() < 0.6:
            match = chance.choice(numbers)
            changed = str(abs(int(match[0][:12]) + chance.choice((1, 2, -1, 10))))
            return value[: match.start()] + changed + value[match.end() :]
        for day in WEEKDAYS:
            if day.capitalize() in value and chance.random() < 0.7:
                return value.replace(day.capitalize(), chance.choice(WEEKDAYS).capitalize())
        others = [other for other in self.values.get(_last_word(slot["name"]), ()) if other != value]
        return chance.choice(others) if others else None


def _last_word(name: str) -> str:
    return spoken(name).split()[-1]


class Classifier(nn.Module):
    """The encoder with two layers on top, as rig.scoring.similarity.encoder.PairClassifier runs it."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(str(folder), add_pooling_layer=False)
        self.encoder.embeddings.requires_grad_(False)
        self.dropout = nn.Dropout(0.1)
        self.hidden = nn.Linear(4 * self.encoder.config.hidden_size, HIDDEN)
        self.labels = nn.Linear(HIDDEN, len(LABELS))

    def forward(self, tokens: Any) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.training):
            states = self.encoder(**tokens).last_hidden_state
        states, real, side = states.float(), tokens["attention_mask"].bool(), tokens["token_type_ids"]
        masks = [(real & (side == number)).unsqueeze(-1).float() for number in (0, 1)]
        first, second = ((states * mask).sum(1) / mask.sum(1) for mask in masks)
        hidden = self.hidden(self.dropout(torch.cat([first, second, first * second, states[:, 0]], -1)))
        logits: torch.Tensor = self.labels(nn.functional.gelu(hidden))
        return logits


def trained(examples: Examples, model: Classifier, tokenizer: Any, epochs: int) -> None:
    """Train a model on examples, with new false values in each epoch."""
    chance = examples.chance or random.Random(0)
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=RATE, weight_decay=0.01)
    total, step = epochs * len(list(examples)) // BATCH, 0
    for epoch in range(epochs):
        model.train()
        losses: list[float] = []
        for batch in _batches(list(examples), chance):
            for group in optimizer.param_groups:
                group["lr"] = RATE * min(1, step / 100) * max(0.02, 1 - step / total)
            step += 1
            logits = model(_tokens(tokenizer, batch))
            loss = nn.functional.cross_entropy(
                logits,
                torch.tensor([example.label for example in batch]),
                weight=torch.tensor(WEIGHTS),
                label_smoothing=0.05,
            )
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {sum(losses) / len(losses):.3f}", flush=True)
    model.eval()


def _batches(examples: list[Example], chance: random.Random) -> list[list[Example]]:
    """Batches of examples about as long as one another, in a random order."""
    chance.shuffle(examples)
    batches: list[list[Example]] = []
    for start in range(0, len(examples), BATCH * 50):
        part = sorted(examples[start : start + BATCH * 50], key=lambda one: len(one.utterance + one.thing))
        batches += [part[n : n + BATCH] for n in range(0, len(part), BATCH)]
    chance.shuffle(batches)
    return batches


def _tokens(tokenizer: Any, batch: Sequence[Example]) -> Any:
    return tokenizer(
        [example.utterance for example in batch],
        [example.thing for example in batch],
        padding=True,
        truncation=True,
        max_length=LONGEST_PAIR,
        return_tensors="pt",
    )


def written(model: Classifier, folder: Path, path: Path) -> None:
    """Write the adapter: of each matrix its change in rank `RANK`, of all other weights their change."""
    before = dict(AutoModel.from_pretrained(str(folder), add_pooling_layer=False).named_parameters())
    tensors = {name: weight for layer in ("hidden", "labels") for name, weight in _layer(model, layer)}
    for name, weight in model.encoder.named_parameters():
        change = (weight - before[name]).detach()
        if not change.any():
            continue
        if change.ndim == 2:
            left, sizes, right = torch.linalg.svd(change, full_matrices=False)
            tensors[f"encoder.{name}.up"] = (left * sizes)[:, :RANK]
            tensors[f"encoder.{name}.down"] = right[:RANK]
        else:
            tensors[f"encoder.{name}"] = change
    save_file({name: tensor.detach().half().contiguous() for name, tensor in tensors.items()}, path)


def _layer(model: Classifier, name: str) -> Iterator[tuple[str, torch.Tensor]]:
    for part, weight in getattr(model, name).named_parameters():
        yield f"{name}.{part}", weight


def report(model: Classifier, tokenizer: Any, examples: Sequence[Example]) -> None:
    """Print precision and recall of each label."""
    with torch.inference_mode():
        chosen = [
            int(number)
            for start in range(0, len(examples), BATCH)
            for number in model(_tokens(tokenizer, examples[start : start + BATCH])).argmax(-1)
        ]
    told, true = numpy.array(chosen), numpy.array([example.label for example in examples])
    for number, label in enumerate(LABELS):
        both = ((told == number) & (true == number)).sum()
        said, there = (told == number).sum(), (true == number).sum()
        print(f"{label}: precision {both / said:.1%} of {said}, recall {both / there:.1%} of {there}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--hold", default="")
    parser.add_argument("--output", type=Path, default=ADAPTER)
    options = parser.parse_args()
    torch.manual_seed(7)
    scenarios = {
        path.name: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in sorted(TURNS.glob("*.jsonl"))
    }
    held = scenarios.pop(options.hold, [])
    folder = directory()
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    model = Classifier(folder)
    examples = Examples(list(chain.from_iterable(scenarios.values())), random.Random(7))
    trained(examples, model, tokenizer, options.epochs)
    written(model, folder, options.output)
    if held:
        report(model, tokenizer, list(Examples(held)))


if __name__ == "__main__":
    main()
