"""Teach a model to call tools: a low-rank adapter, trained on generated conversations.

    OMP_WAIT_POLICY=passive python -m benchmarks.teach.train BASE.gguf OUT --conversations 2000 --threads 2

OUT receives `options.json`, `curve.jsonl` (a line for each step), `adapter.gguf` and `state.pt`; run the same
command again with --resume after an interruption. The prompt's shared beginning, most of every prompt, goes
through the model once, without gradient, and again after every --refresh conversations.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import cos, pi
from pathlib import Path
from random import Random
from time import perf_counter

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.teach.adapter import write_adapter
from benchmarks.teach.lessons import Lesson, Lessons, Wanted, batches, load, save
from benchmarks.teach.llama import KeysValues, Llama, read_model
from rig.plugins.tune.merging import read_pairs

PART = 256
"""So many tokens of the prefix go through the model at once."""

DTYPES = {"bf16": torch.bfloat16, "f32": torch.float32}


@dataclass(frozen=True, slots=True)
class Batch:
    """Several conversations side by side behind one prefix."""

    tokens: Tensor
    positions: Tensor
    sees: Tensor
    spoken: Tensor
    """Where the next token is one that the model has to say."""
    targets: Tensor
    weights: Tensor

    def on(self, device: torch.device) -> "Batch":
        """The same on a device."""
        return Batch(*(getattr(self, field.name).to(device) for field in fields(self)))


def pack(lessons: Sequence[Lesson], after: int) -> Batch:
    """Put conversations side by side. The shared prefix has `after` tokens."""
    owners = torch.tensor([number for number, lesson in enumerate(lessons) for _ in lesson.tokens])
    tokens = torch.tensor([token for lesson in lessons for token in lesson.tokens])
    positions = torch.tensor([after + place for lesson in lessons for place in range(len(lesson.tokens))])
    weights = torch.tensor([weight for lesson in lessons for weight in lesson.weights])
    # A conversation's first token is told, so what follows a conversation's last is never asked for.
    spoken = (weights[1:] > 0).nonzero()[:, 0]
    sees = (owners[:, None] == owners) & torch.ones(len(tokens), len(tokens), dtype=torch.bool).tril()
    return Batch(tokens, positions, sees, spoken, tokens[spoken + 1], weights[spoken + 1])


def loss_of(model: Llama, batch: Batch, prefix: Sequence[KeysValues]) -> Tensor:
    """The weighted mean loss of the tokens that the model has to say, in nats."""
    batch = batch.on(model.device)
    hidden, _ = model(batch.tokens, batch.positions, prefix, batch.sees)
    losses = F.cross_entropy(model.logits(hidden[batch.spoken]), batch.targets, reduction="none")
    return (losses * batch.weights).sum() / batch.weights.sum()


@torch.no_grad()
def prefix_state(model: Llama, prefix: Sequence[int]) -> list[KeysValues]:
    """The keys and values of the shared prefix, as the adapter makes them now.

    In parts, each behind those before it: torch's own attention takes three times as long in bf16 on a CPU.
    """
    state: list[KeysValues] = []
    for start in range(0, len(prefix), PART):
        part = torch.tensor(prefix[start : start + PART], device=model.device)
        places = torch.arange(start, start + len(part), device=model.device)
        sees = torch.ones(len(part), len(part), dtype=torch.bool, device=model.device).tril()
        _, made = model(part, places, state, sees) if state else model(part, places)
        state = [_joined(*pair) for pair in zip(state, made, strict=True)] if state else made
    return [(keys.contiguous(), values.contiguous()) for keys, values in state]


def _joined(before: KeysValues, after: KeysValues) -> KeysValues:
    return torch.cat([before[0], after[0]], 1), torch.cat([before[1], after[1]], 1)


def prepared(options: argparse.Namespace) -> list[Lessons]:
    """What is taught, a part for each form: rendered now, or read from a file, which needs no llama.cpp."""
    base: Path = options.base
    count = options.conversations
    wanted = Wanted(base.name, tuple(options.form or ["rig"]), options.seed, count, options.held_out)
    if options.lessons and options.lessons.exists():
        return load(options.lessons, wanted)
    from benchmarks.teach import render

    made = render.lessons(base, wanted)
    if options.lessons:
        save(options.lessons, made, wanted)
    return made


class Part:
    """The lessons in one form: in batches, behind a prefix whose state is computed now and then."""

    def __init__(self, lessons: Lessons, options: argparse.Namespace) -> None:
        self.prefix, self.declarations = lessons.prefix, lessons.declarations
        self.taught = batches(lessons.taught, options.batch_tokens)
        self.held_out = [
            pack(each, len(self.prefix)) for each in batches(lessons.held_out, options.batch_tokens)
        ]
        self._refresh: int = options.refresh
        self._fresh = 0
        self._state: list[KeysValues] = []

    def state(self, model: Llama, conversations: int) -> list[KeysValues]:
        """The prefix's state for a batch of so many conversations, at most --refresh conversations old."""
        if self._fresh <= 0:
            self._state, self._fresh = prefix_state(model, self.prefix), self._refresh
        self._fresh -= conversations
        return self._state


def interleaved(parts: Sequence[Part]) -> list[tuple[Part, list[Lesson]]]:
    """All batches of all parts in one order, in which each part is spread evenly."""
    placed = [
        ((number + 0.5) / len(part.taught), part, lessons)
        for part in parts
        for number, lessons in enumerate(part.taught)
    ]
    return [(part, lessons) for _, part, lessons in sorted(placed, key=lambda each: each[0])]


def rate(step: int, done: float, options: argparse.Namespace) -> float:
    """The learning rate of a step: a rise, then the same, and for the last share half a cosine to nothing.

    `done` is the share of the training that is behind. Until the last share the rate does not depend on how
    long the training is, so a longer training begins as a shorter one.
    """
    left = (1 - done) / options.decay
    risen, kept = min(1.0, (step + 1) / options.warmup), (1 - cos(pi * min(1.0, left))) / 2
    return float(options.rate * risen * kept)


class Training:
    """A model, its optimizer, what it is taught, and how far it is."""

    def __init__(self, options: argparse.Namespace) -> None:
        torch.set_num_threads(options.threads)
        self.options = options
        self.out: Path = options.out
        self.parts = [Part(lessons, options) for lessons in prepared(options)]
        self.batches = interleaved(self.parts)
        torch.manual_seed(options.seed)
        self.model = read_model(
            options.base, rank=options.rank, alpha=options.alpha, dtype=DTYPES[options.dtype]
        ).to(options.device)
        trained = [value for value in self.model.parameters() if value.requires_grad]
        self.optimizer = torch.optim.AdamW(trained, lr=options.rate, betas=(0.9, 0.99), weight_decay=0.0)
        self.step = 0
        self.seconds = 0.0

    @property
    def steps(self) -> int:
        """How many steps the training has at most, from the first."""
        return min(len(self.batches), self.options.steps or len(self.batches))

    @property
    def done(self) -> float:
        """The share of the training that is behind: of its steps, or of its minutes where they are fewer."""
        spent = self.seconds / (60 * self.options.minutes) if self.options.minutes else 0.0
        return min(1.0, max(spent, self.step / self.steps))

    def run(self) -> None:
        """Go on to the last step, noting each in the curve and saving now and then."""
        began = saved = perf_counter()
        before = self.seconds
        last = min(self.steps, self.options.stop_after or self.steps)
        while self.step < last and self.done < 1:
            line = self._learn()
            self.seconds = before + perf_counter() - began
            if self.step % self.options.test_every == 0 or self.done == 1:
                line["held_out"] = round(self.held_out_loss(), 4)
            line["seconds"] = round(self.seconds, 1)
            with (self.out / "curve.jsonl").open("a") as curve:
                curve.write(json.dumps(line) + "\n")
            if perf_counter() - saved > self.options.save_minutes * 60 or self.step == last or self.done == 1:
                self.save()
                saved = perf_counter()

    def _learn(self) -> dict[str, float]:
        part, lessons = self.batches[self.step]
        state = part.state(self.model, len(lessons))
        batch = pack(lessons, len(part.prefix))
        if self.done < 1 - self.options.whole:
            kept = self.seen(part, lessons).to(self.model.device)
            state = [(keys[:, kept], values[:, kept]) for keys, values in state]
        now = rate(self.step, self.done, self.options)
        for group in self.optimizer.param_groups:
            group["lr"] = now
        loss = loss_of(self.model, batch, state)
        loss.backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(self.optimizer.param_groups[0]["params"], 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.step += 1
        return {
            "step": self.step,
            "conversations": len(lessons),
            "tokens": len(batch.tokens),
            "spoken": len(batch.spoken),
            "loss": round(loss.item(), 4),
            "norm": round(norm.item(), 3),
            "rate": round(now, 7),
        }

    def seen(self, part: Part, lessons: Sequence[Lesson]) -> Tensor:
        """The places of the prefix that a batch sees: not the declarations of most tools it does not call."""
        called = frozenset[str]().union(*(lesson.tools for lesson in lessons))
        others = [name for name in part.declarations if name not in called]
        random = Random(self.options.seed * 1_000_000 + self.step)
        shown = random.randint(0, min(self.options.others, len(others)))
        hidden = random.sample(others, len(others) - shown)
        gone = {place for name in hidden for place in part.declarations[name]}
        return torch.tensor([place for place in range(len(part.prefix)) if place not in gone])

    @torch.no_grad()
    def held_out_loss(self) -> float:
        """The loss on conversations that are never trained on."""
        loss = share = 0.0
        for part in self.parts:
            state = prefix_state(self.model, part.prefix)
            for batch in part.held_out:
                counts = float(batch.weights.sum())
                loss += loss_of(self.model, batch, state).item() * counts
                share += counts
        return loss / share

    def save(self) -> None:
        """Write the adapter, and all that is needed to go on from here."""
        write_model(self.out / "adapter.gguf", self.model, self.options.base.stem)
        state = {
            "adapter": self.model.adapter_state(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "seconds": self.seconds,
        }
        torch.save(state, self.out / "state.pt.part")
        (self.out / "state.pt.part").replace(self.out / "state.pt")

    def begin_with(self, adapter: Path) -> None:
        """Begin with what an adapter has been taught before. Raises ValueError if it does not fit."""
        pairs, alpha = read_pairs(adapter)
        layers = dict(self.model.adapted())
        shapes = {name: (a.shape, b.shape) for name, (a, b) in pairs.items()}
        wanted = {name: (tuple(layer.a.shape), tuple(layer.b.shape)) for name, layer in layers.items()}
        if shapes != wanted or alpha != self.model.alpha:
            raise ValueError(f"{adapter}: of another rank, alpha or base than what is trained here")
        with torch.no_grad():
            for name, (a, b) in pairs.items():
                layers[name].a.copy_(torch.from_numpy(a))
                layers[name].b.copy_(torch.from_numpy(b))

    def resume(self) -> None:
        """Go on from what was saved, forgetting the curve after it."""
        state = torch.load(self.out / "state.pt", weights_only=True, map_location=self.model.device)
        self.model.load_state_dict(state["adapter"], strict=False)
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.seconds = state["step"], state["seconds"]
        curve = self.out / "curve.jsonl"
        curve.write_text("".join(curve.read_text().splitlines(keepends=True)[: self.step]))


def write_model(path: Path, model: Llama, base: str) -> None:
    """Write a model's adapter as GGUF."""
    pairs = {
        name: (layer.a.detach().float().cpu().numpy(), layer.b.detach().float().cpu().numpy())
        for name, layer in model.adapted()
    }
    part = path.with_suffix(".part")
    write_adapter(part, pairs, model.alpha, name=f"{base} tools", base=base)
    part.replace(path)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", type=Path, help="GGUF file of a Llama model")
    parser.add_argument("out", type=Path, help="folder for the adapter, the curve and checkpoints")
    parser.add_argument("--conversations", type=int, default=2000)
    parser.add_argument("--steps", type=int, help="so many steps in all (default: one pass)")
    parser.add_argument(
        "--minutes",
        type=float,
        help="end after so many at the latest: the rate falls by the clock where steps are slow, and the "
        "curve says how many there were",
    )
    parser.add_argument("--stop-after", type=int, help="stop here, to --resume later")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--held-out", type=int, default=24, help="conversations of the held-out loss")
    parser.add_argument("--test-every", type=int, default=150, help="steps between held-out losses")
    parser.add_argument("--batch-tokens", type=int, default=512)
    parser.add_argument("--refresh", type=int, default=32, help="conversations between prefix passes")
    parser.add_argument(
        "--others",
        type=int,
        default=16,
        help="tools beside those called that a batch sees at most, until it sees all",
    )
    parser.add_argument(
        "--form",
        action="append",
        help="form of answers, as `rig run --format` names it (default: rig); repeated, the conversations "
        "take turns, and a form that is named twice gets two of them",
    )
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--alpha", type=float, default=32.0)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--warmup", type=int, default=30, help="steps until the full rate")
    parser.add_argument(
        "--decay", type=float, default=0.3, help="last share of the steps, with a falling rate"
    )
    parser.add_argument(
        "--whole", type=float, default=0.15, help="last share of the steps, which see all tools"
    )
    parser.add_argument("--dtype", choices=sorted(DTYPES), default="bf16")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="where torch computes, such as cuda")
    parser.add_argument(
        "--lessons",
        type=Path,
        metavar="FILE",
        help="rendered conversations: written where the file is not there, else read, without llama.cpp",
    )
    parser.add_argument("--save-minutes", type=float, default=8.0)
    parser.add_argument("--init", type=Path, metavar="ADAPTER", help="go on from this adapter, not from none")
    parser.add_argument("--resume", action="store_true")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    training = Training(options)
    if options.resume:
        training.resume()
    else:
        if options.init:
            training.begin_with(options.init)
        (options.out / "curve.jsonl").write_text("")
        told = {
            name: str(value) if isinstance(value, Path) else value for name, value in vars(options).items()
        }
        (options.out / "options.json").write_text(json.dumps(told, indent=2) + "\n")
    training.run()


if __name__ == "__main__":
    main()
