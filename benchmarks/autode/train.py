"""Train what the scripted user understands: the adapter rig/plugins/autode/hearing.safetensors.

    python -m benchmarks.autode.train [--epochs 2] [--hold g.jsonl] [--output FILE]
    python -m benchmarks.autode.train --start FILE --epochs 3 --share 0.25

Reads benchmarks/autode/turns/*.jsonl: what assistants say in scenarios that no suite has and in those of
conversations/dynamic, with the things (slots, sentences of the script) that each utterance asks for, states
rightly and states wrongly. `--hold` keeps a file out of the training, and says how well it is read. `--start`
goes on from an adapter, with what is said of rig's own scenarios, what is said rightly of a story, and a
share of the other utterances.
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
from torch import nn

from benchmarks.adapters import Classifier, batches, optimizer_of, rate_at, started, step, write
from rig.core.calls import Json
from rig.core.paths import CONVERSATIONS
from rig.plugins.autode.hearing import ADAPTER, LABELS, described
from rig.plugins.autode.questions import spoken
from rig.plugins.autode.scenarios import Scenario, load_directory
from rig.plugins.autode.scripted_user import introduction
from rig.plugins.similarity.minilm import directory
from rig.plugins.text.reading.times import WEEKDAYS

TURNS = Path(__file__).resolve().parent / "turns"
BATCH, RATE = 32, 1e-4
WEIGHTS = (1.0, 1.5, 1.5, 1.5)
"""Of each label in the loss: most things are not touched."""
STORY = frozenset(("character", "background", "purpose"))


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
    share: float = 1
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
                is_kept = scenario["is_own"] or not STORY.isdisjoint(turn["true"])
                if self.chance and not is_kept and self.chance.random() >= self.share:
                    continue
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
        if value is None:
            return None
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


def scenarios_of(path: Path) -> list[dict[str, Any]]:
    """The scenarios of a file. Where its lines are utterances, they name ones of conversations/dynamic."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if "turns" in rows[0]:
        return [{**row, "is_own": False} for row in rows]
    own = {scenario.name: scenario for scenario in load_directory(CONVERSATIONS / "dynamic")}
    turns: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        turns.setdefault(row["scenario"], []).append(row)
    return [_described(own[name], texts) for name, texts in turns.items()]


def _described(scenario: Scenario, turns: Sequence[dict[str, Any]]) -> dict[str, Any]:
    slots = [
        {
            "name": parameter.name,
            "description": parameter.description,
            "value": scenario.slots.get(parameter.name),
        }
        for parameter in scenario.api.parameters
    ]
    return {**scenario.facts, "slots": slots, "turns": turns, "is_own": True}


def _last_word(name: str) -> str:
    return spoken(name).split()[-1]


def trained(examples: Examples, model: Classifier, epochs: int) -> None:
    """Train a model on examples, with new false values in each epoch."""
    chance = examples.chance or random.Random(0)
    optimizer = optimizer_of(model, RATE)
    total, done = epochs * len(list(examples)) // BATCH, 0
    for epoch in range(epochs):
        model.train()
        losses: list[float] = []
        for batch in batches(list(examples), BATCH, _length, chance):
            done += 1
            loss = nn.functional.cross_entropy(
                model(_texts(batch)),
                torch.tensor([example.label for example in batch]),
                weight=torch.tensor(WEIGHTS),
                label_smoothing=0.05,
            )
            losses.append(step(model, optimizer, loss, rate_at(RATE, 100, done, total)))
        print(f"epoch {epoch}: loss {sum(losses) / len(losses):.3f}", flush=True)
    model.eval()


def _length(example: Example) -> int:
    return len(example.utterance + example.thing)


def _texts(examples: Sequence[Example]) -> list[tuple[str, str]]:
    return [(example.utterance, example.thing) for example in examples]


def report(model: Classifier, examples: Sequence[Example]) -> None:
    """Print precision and recall of each label."""
    with torch.inference_mode():
        chosen = [
            int(number)
            for start in range(0, len(examples), BATCH)
            for number in model(_texts(examples[start : start + BATCH])).argmax(-1)
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
    parser.add_argument("--start", type=Path, help="an adapter to go on from")
    parser.add_argument("--share", type=float, default=1.0, help="of the other utterances")
    parser.add_argument("--output", type=Path, default=ADAPTER)
    options = parser.parse_args()
    torch.manual_seed(7)
    scenarios = {path.name: scenarios_of(path) for path in sorted(TURNS.glob("*.jsonl"))}
    held = scenarios.pop(options.hold, [])
    folder = directory()
    model = Classifier(folder, len(LABELS))
    if options.start:
        started(model, folder, options.start)
    examples = Examples(list(chain.from_iterable(scenarios.values())), random.Random(7), options.share)
    trained(examples, model, options.epochs)
    write(model, folder, options.output)
    if held:
        report(model, list(Examples(held)))


if __name__ == "__main__":
    main()
