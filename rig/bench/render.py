"""The prompts of a benchmark made ready: rendered from conversations, or completed where a file says less."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rig.bench import prompts as files
from rig.bench.given import rendered
from rig.bench.job import Job
from rig.bench.prompts import BenchPrompt
from rig.bench.segments import cut
from rig.calls import JsonObject
from rig.engine.engine import LlamaCppModel
from rig.engine.grammar import BETWEEN_ITEMS, BETWEEN_KEY_AND_VALUE
from rig.engine.llama import LlamaModel
from rig.engine.loading import load
from rig.engine.tokenizer import Tokenizer
from rig.errors import RigError


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
