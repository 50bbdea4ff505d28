"""Adapters of the packaged encoder: models that read two texts at once.

`rig.plugins.similarity.encoder.PairClassifier` runs what `write` writes.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import torch
from safetensors.torch import save_file
from torch import nn
from transformers import AutoModel, AutoTokenizer

from rig.plugins.similarity.encoder import GROUP, LONGEST_PAIR, PACKED, SCALES, adapted

HIDDEN = 64
SHARES = (1.0, 0.9, 0.8, 0.7)
"""Of the largest number of a group, what its scale is made for."""
SORTED_TOGETHER = 50
"""Batches whose examples are sorted by their length together, so that those of a batch are about as long."""

T = TypeVar("T")


class Classifier(nn.Module):
    """The encoder of a folder with two layers on top; `marking` adds a vector to each token that the other
    text lacks.
    """

    def __init__(self, folder: Path, labels: int, *, marking: bool = False) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(str(folder), add_pooling_layer=False)
        for embeddings in ("word_embeddings", "position_embeddings"):
            getattr(self.encoder.embeddings, embeddings).requires_grad_(False)
        self.tokenizer = AutoTokenizer.from_pretrained(str(folder))
        size = self.encoder.config.hidden_size
        self.alone = nn.Parameter(torch.zeros(size), requires_grad=marking)
        self.dropout = nn.Dropout(0.1)
        self.hidden = nn.Linear(4 * size, HIDDEN)
        self.labels = nn.Linear(HIDDEN, labels)

    def forward(self, pairs: Sequence[tuple[str, str]]) -> torch.Tensor:
        """The logits of each label, of shape (pairs, labels)."""
        device = self.alone.device
        firsts, seconds = ([pair[side] for pair in pairs] for side in (0, 1))
        tokens = self.tokenizer(
            firsts, seconds, padding=True, truncation=True, max_length=LONGEST_PAIR, return_tensors="pt"
        ).to(device)
        real, side = tokens["attention_mask"].bool(), tokens["token_type_ids"]
        embedded = self.encoder.embeddings.word_embeddings(tokens["input_ids"])
        embedded = embedded + self._alone(tokens["input_ids"], side, real)[..., None] * self.alone
        with torch.autocast(device.type, torch.bfloat16, enabled=self.training):
            states = self.encoder(
                inputs_embeds=embedded, token_type_ids=side, attention_mask=tokens["attention_mask"]
            ).last_hidden_state
        states = states.float()
        masks = [(real & (side == number)).unsqueeze(-1).float() for number in (0, 1)]
        first, second = ((states * mask).sum(1) / mask.sum(1).clamp(min=1) for mask in masks)
        hidden = self.hidden(self.dropout(torch.cat([first, second, first * second, states[:, 0]], -1)))
        logits: torch.Tensor = self.labels(nn.functional.gelu(hidden))
        return logits

    def _alone(self, ids: torch.Tensor, side: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        """Which tokens of each pair stand in one text only."""
        equal = (ids[:, :, None] == ids[:, None, :]) & (side[:, :, None] != side[:, None, :])
        shared = (equal & real[:, None, :]).any(-1)
        special = torch.tensor(self.tokenizer.all_special_ids, device=ids.device)
        return real & ~shared & ~torch.isin(ids, special)


def started(model: Classifier, folder: Path, adapter: Path) -> Classifier:
    """A model with the weights of an adapter, to go on from."""
    encoder, _, tensors = adapted(folder, adapter)
    weights = {f"encoder.{name}": weight for name, weight in encoder.state_dict().items()}
    model.load_state_dict(model.state_dict() | weights | tensors)
    return model


def batches(examples: list[T], size: int, length: Callable[[T], int], chance: random.Random) -> list[list[T]]:
    """Batches of examples about as long as one another, in a random order."""
    chance.shuffle(examples)
    found: list[list[T]] = []
    for start in range(0, len(examples), size * SORTED_TOGETHER):
        part = sorted(examples[start : start + size * SORTED_TOGETHER], key=length)
        found += [part[n : n + size] for n in range(0, len(part), size)]
    chance.shuffle(found)
    return found


def optimizer_of(model: Classifier, rate: float) -> torch.optim.Optimizer:
    """An optimizer of all weights that are trained."""
    return torch.optim.AdamW(_trained(model), lr=rate, weight_decay=0.01)


def step(model: Classifier, optimizer: torch.optim.Optimizer, loss: torch.Tensor, rate: float) -> float:
    """Make a step at a rate. Returns the loss."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(_trained(model), 1.0)
    optimizer.step()
    return loss.item()


def rate_at(rate: float, warm_up: int, done: int, total: int) -> float:
    """A rate that rises over the first steps and then falls to a fiftieth."""
    return rate * min(1, done / warm_up) * max(0.02, 1 - done / total)


def write(model: Classifier, folder: Path, path: Path) -> None:
    """Write an adapter: of each matrix of the layers its change in four bits, of other weights in 16."""
    before = dict(AutoModel.from_pretrained(str(folder), add_pooling_layer=False).named_parameters())
    tensors = {name: weight for layer in ("hidden", "labels") for name, weight in _layer(model, layer)}
    if model.alone.requires_grad:
        tensors["alone"] = model.alone
    for name, weight in model.encoder.named_parameters():
        if not weight.requires_grad:
            continue  # the average of equal weights differs from them in its last bits
        change = (weight.cpu() - before[name]).detach()
        if change.ndim == 2 and "embeddings" not in name:
            tensors[f"encoder.{name}{PACKED}"], tensors[f"encoder.{name}{SCALES}"] = packed(change)
        elif change.any():
            tensors[f"encoder.{name}"] = change
    halves = {
        name: tensor if tensor.dtype is torch.uint8 else tensor.half() for name, tensor in tensors.items()
    }
    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in halves.items()}, path)


def packed(change: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A tensor in four bits, two numbers in a byte, and the scale of each group: of some, the one that errs
    least.
    """
    groups = change.reshape(-1, GROUP)
    largest = groups.abs().amax(1).clamp(min=1e-9) / 7
    tried = [largest * share for share in SHARES]
    errors = [((_rounded(groups, scales) * scales[:, None] - groups) ** 2).sum(1) for scales in tried]
    scales = torch.stack(tried).gather(0, torch.stack(errors).argmin(0)[None])[0].half().float()
    numbers = (_rounded(groups, scales) + 8).to(torch.uint8).reshape(-1, 2)
    return numbers[:, 0] | (numbers[:, 1] << 4), scales


def _rounded(groups: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    return (groups / scales[:, None]).round().clamp(-8, 7)


def _trained(model: Classifier) -> list[nn.Parameter]:
    return [weight for weight in model.parameters() if weight.requires_grad]


def _layer(model: Classifier, name: str) -> Iterator[tuple[str, torch.Tensor]]:
    for part, weight in getattr(model, name).named_parameters():
        yield f"{name}.{part}", weight
