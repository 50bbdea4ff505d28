"""The prompts of a benchmark made ready: rendered from conversations, or completed where a file says less."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from benchmarks.engine import prompts as files
from benchmarks.engine.external_prompts import rendered
from benchmarks.engine.job import Job
from benchmarks.engine.prompts import BenchPrompt
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.plugins.llama.core.llama import LlamaModel
from rig.plugins.llama.core.tokenizer import Tokenizer
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.grammar.language import BETWEEN_ITEMS, BETWEEN_KEY_AND_VALUE
from rig.plugins.llama.loading import load


def render(job: Job) -> JsonObject:
    """Write the job's file of prompts, from conversations or from what it holds; what the engine settled on.

    Raises RigError, also for a prompt that the context has no room for.
    """
    path = Path(job.prompts)
    model = load(Path(job.model), job.settings, job.name, notify=lambda text: None)
    vocabulary = LlamaModel(Path(job.model))
    try:
        tokenizer = Tokenizer(vocabulary)
        ready = (
            _from_work(model, tokenizer, job) if job.work else _completed(tokenizer, files.read(path), job)
        )
        n_ctx = int(str(model.fingerprint["n_ctx"]))
        for prompt in ready:
            needed = len(prompt.tokens) + prompt.max_tokens
            if needed > n_ctx:
                raise RigError(f"{prompt.id}: needs {needed} tokens, the context has {n_ctx}; see --n-ctx")
        files.write(path, ready)
        return dict(model.fingerprint)
    finally:
        vocabulary.close()
        model.close()


def _from_work(model: LlamaCppModel, tokenizer: Tokenizer, job: Job) -> list[BenchPrompt]:
    assert job.work is not None
    ready = []
    for id, request in job.work.requests().items():
        segments, schema = rendered(model, request)
        ready.append(
            BenchPrompt(
                id=id,
                text=_text(tokenizer, [token for segment in segments for token in segment]),
                segments=segments,
                schema=schema,
                max_tokens=job.max_tokens or files.DEFAULT_MAX_TOKENS,
                separators=(BETWEEN_ITEMS, BETWEEN_KEY_AND_VALUE),
            )
        )
    return ready


def _completed(tokenizer: Tokenizer, given: Sequence[BenchPrompt], job: Job) -> list[BenchPrompt]:
    """Text from tokens, tokens from text; lists of ids that are not in parts are cut where they branch."""
    given = [replace(prompt, max_tokens=job.max_tokens or prompt.max_tokens) for prompt in given]
    tokens = []
    for prompt in given:
        known = prompt.tokens or _tokens(tokenizer, prompt.text or "")
        if not known:
            raise RigError(f"{prompt.id}: the prompt has no tokens")
        if max(known) >= tokenizer.n_vocab:
            raise RigError(f"{prompt.id}: token {max(known)}; this model knows {tokenizer.n_vocab} tokens")
        tokens.append(known)
    return [
        replace(
            prompt,
            text=_text(tokenizer, whole) if prompt.text is None else prompt.text,
            segments=prompt.segments if len(prompt.segments) > 1 else branched,
        )
        for prompt, whole, branched in zip(given, tokens, cut(tokens), strict=True)
    ]


def _tokens(tokenizer: Tokenizer, text: str) -> list[int]:
    tokens = tokenizer.template(text)
    starts = tokenizer.adds_bos and tokens[:1] != [tokenizer.bos]
    return [tokenizer.bos, *tokens] if starts else tokens


def _text(tokenizer: Tokenizer, tokens: Sequence[int]) -> str:
    """The text that tokens stand for, special ones spelled out, without a beginning that is added anyway."""
    if tokenizer.adds_bos and tokens[:1] == [tokenizer.bos]:
        tokens = tokens[1:]
    pieces = (tokenizer.piece(token) or tokenizer.special_text(token).encode() for token in tokens)
    return b"".join(pieces).decode("utf-8", "replace")


def cut(prompts: Sequence[Sequence[int]]) -> list[tuple[tuple[int, ...], ...]]:
    """Cut prompts of bare token ids so that what they share is prefilled once.

    Every prompt is cut wherever it parts from another one, and before its last token.
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
