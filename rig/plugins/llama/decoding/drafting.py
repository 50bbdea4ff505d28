"""Drafts: a possible continuation, decoded before the model chooses it, and kept up to where it agrees.

Drafted tokens go through the batch of a chosen one. Each is kept if the model itself chooses it, from its own
logits under its grammar; from the first that it does not choose, the rest is dropped. In a batch of another
width, the logits of a token change slightly, and so do those of all later tokens. If the two best tokens are
closer than that noise, everything since the first draft is decoded again as in a run without drafts: the same
batches in the same cells, and so the same bits.
"""

import math
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import NamedTuple, TypeAlias

import numpy as np

from rig.core.errors import RigError
from rig.core.models import Request, Sibling
from rig.plugins.llama.core.assessment import margin
from rig.plugins.llama.core.llama import Chunk, DecodeError, LlamaContext, LlamaModel
from rig.plugins.llama.core.placement import Placement
from rig.plugins.llama.core.settings import DEFAULT_BATCH, DEFAULT_CONTEXT, EngineSettings
from rig.plugins.llama.core.tokenizer import Tokenizer
from rig.plugins.llama.decoding.cache import Decoding, Feed, Logits, Rows, common
from rig.plugins.llama.files.registry import ResolvedModel
from rig.plugins.llama.grammar.language import Mask
from rig.plugins.llama.memory.weights import open_weights

MOST = 24
"""The most tokens drafted at once. Their logits take this many times the vocabulary."""

NOISE = 0.75
"""Two logits further apart than this are in the same order, in any batch.

Measured by benchmarks/engine/draft_noise.py; docs/lab/performance.md has the figures.
"""


Source: TypeAlias = Callable[[Sequence[int], int], Sequence[int]]
"""Proposes, for one step, up to a number of tokens that may follow an answer so far. They may be wrong."""


class Ahead:
    """One sequence of a context, which may hold drafted tokens behind the chosen ones."""

    def __init__(self, context: LlamaContext, sequence: int) -> None:
        self._context = context
        self._sequence = sequence
        self.noise = NOISE
        self._source: Source | None = None
        self._tokens: list[int] = []
        self._rows: list[Logits] = []
        self._held = self._sound = 0
        self._since: list[tuple[Sequence[int], int]] = []
        """The batches of a run without drafts, and how many tokens of each are still there."""
        self.drafted = self.accepted = 0

    def settle(self) -> None:
        """Drop tokens that were drafted and never chosen; call this before each prompt."""
        if self._tokens:
            self._drop(self._held)

    def begin(self, prompt: Sequence[int], *, cached: int, lasting: int, source: Source | None) -> None:
        """Begin a step, right after its prompt was decoded.

        `cached` of the prompt's tokens were there before, and `lasting` come from prompts alone.
        """
        if cached <= lasting:
            self._since.clear()
        # Follow what an undrafted run keeps of its sequence.
        end, kept = self._sound, []
        for tokens, count in self._since:
            if (rest := min(count, cached - end)) <= 0:
                break
            kept.append((tokens, rest))
            end += rest
        self._since, self._sound = kept, min(self._sound, cached)
        if self._since:
            self._since.append((prompt[end:], len(prompt) - end))
        else:
            self._sound = len(prompt)
        self._held = len(prompt)
        self._source = source
        self.drafted = self.accepted = 0

    def go_on(self, pending: Sequence[int], answer: Sequence[int], left: int) -> Decoding:
        """Return the logits after chosen tokens, from what was decoded ahead or by decoding them.

        `answer` ends with these tokens; `left` is how many may still come.
        """
        accepted = self.take(pending)
        batch = pending, len(pending)
        if accepted == len(pending):
            logits = self._rows[accepted - 1]
            del self._tokens[:accepted], self._rows[:accepted]
            self._since.append(batch)
        else:
            self._drop(self._held + accepted)
            most = min(left, MOST)
            tokens = self._source(answer, most)[:most] if self._source and most > 0 else []
            draft = list(takewhile(lambda token: 0 <= token < self._context.n_vocab, tokens))
            rows = yield Feed([*pending[accepted:], *draft], logits=1 + len(draft), generated=True)
            assert rows is not None
            if draft or accepted or self._since:
                self._since.append(batch)
            else:
                self._sound += len(pending)
            logits, *self._rows = rows
            self._tokens = draft
            self.drafted += len(draft)
        self._held += len(pending)
        return logits

    def surely(self, logits: Logits, allowed: Mask) -> Decoding:
        """Return the same logits, or those of an undrafted run where it might choose another token."""
        if not self._since or margin(logits, allowed) >= self.noise:
            return logits
        # Decode everything that an undrafted run would have decoded by now, in the same batches.
        self._drop(self._sound)
        rows: Rows | None = None
        while self._since:
            tokens, kept = self._since[0]
            rows = yield Feed(tokens, logits=len(self._since) == 1, generated=True)
            self._sound += kept
            self._context.drop_tail(self._sequence, self._sound)
            del self._since[0]
        assert rows is not None
        return rows[-1]

    def take(self, pending: Sequence[int]) -> int:
        """Return how many of these chosen tokens were decoded ahead, and count them as accepted."""
        accepted = common(pending, self._tokens)
        self.accepted += accepted
        return accepted

    def _drop(self, position: int) -> None:
        """Drop all tokens from a position on, including those decoded ahead."""
        if len(self._context.sequences[self._sequence]) > position:
            self._context.drop_tail(self._sequence, position)
        self._tokens, self._rows = [], []


class DraftModel(NamedTuple):
    """A model that proposes drafts. It has its own context, with a sequence for every slot."""

    model: LlamaModel
    context: LlamaContext

    def propose(self, slot: int, prompt: Sequence[int], most: int, worth: float) -> list[int]:
        """Return the model's greedy continuation, while all of it together is likelier than `worth`.

        It is empty if the prompt does not fit or llama.cpp cannot decode it.
        """
        most = min(most, self.context.n_ctx - len(prompt))
        tokens: list[int] = []
        likely = 1.0
        try:
            if most > 0:
                read_prompt(self.context, slot, prompt)
            while len(tokens) < most:
                logits = self.context.logits()
                token = int(logits.argmax())
                likely /= float(np.exp(logits - logits[token], dtype=np.float64).sum())
                if not likely >= worth:
                    break
                tokens.append(token)
                if len(tokens) < most:
                    self.context.decode([Chunk(slot, (token,), 1)])
        except DecodeError:
            pass
        return tokens

    def close(self) -> None:
        """Free the context, and the weights if nobody else uses them."""
        self.context.close()
        self.model.close()


def read_prompt(context: LlamaContext, slot: int, prompt: Sequence[int]) -> int:
    """Bring a sequence to the end of a prompt and compute its last token; return how many were computed."""
    start = context.drop_tail(slot, min(common(context.sequences[slot], prompt), len(prompt) - 1))
    for at in range(start, len(prompt), context.n_batch):
        piece = prompt[at : at + context.n_batch]
        context.decode([Chunk(slot, piece, int(at + len(piece) == len(prompt)))])
    return len(prompt) - start


def open_draft_model(draft: ResolvedModel, of: Tokenizer, name: str, settings: EngineSettings) -> DraftModel:
    """Load a draft model for a model with this tokenizer and settings. Raises RigError if it cannot draft."""
    model = open_weights(draft.path, Placement(-1 if settings.n_gpu_layers else 0))
    try:
        if not model.can_branch:
            raise RigError(f"--draft {draft.path}: a recurrent model cannot take back a token; give another")
        own = Tokenizer(model)
        if own.n_vocab != of.n_vocab or any(own.piece(n) != of.piece(n) for n in range(of.n_vocab)):
            raise RigError(
                f"--draft {draft.path}: its tokens are not those of {name}; give a model of the same family"
            )
        context = LlamaContext(
            model,
            n_ctx=min(settings.n_ctx or DEFAULT_CONTEXT, model.n_ctx_train),
            n_batch=settings.n_batch or DEFAULT_BATCH,
            n_threads=settings.n_threads,
            flash_attention=bool(settings.flash_attention),
            kv_type="f16",
            n_seq=settings.parallel or 1,
        )
        if draft.adapter is not None:
            context.apply_adapter(model.adapter(draft.adapter.path), draft.adapter.scale)
        return DraftModel(model, context)
    except BaseException:
        model.close()
        raise


WORTH_CPU, WORTH_GPU = 0.5, 0.1
"""How likely drafted tokens have to be: the cost of one more token in a batch, relative to a batch of one."""
_LONG = 8
"""The longest run of equal tokens that is searched for; a longer one says nothing more."""
_LEAST = 2
"""The shortest run that suggests that the same will follow."""
_CERTAIN = 0.98
"""The highest probability that another model's token is this model's too, however certain that one was."""
_COPIED = 0.8
"""The probability that a token which followed in the prompt also follows here."""


class Copying:
    """Proposes what followed the last tokens elsewhere, while it is likely enough to be worth the work.

    `sibling` holds the tokens of another answer, each with its probability there. `worth` is what one more
    token in a batch costs, in batches: drafts stop where they are less likely than that.
    """

    def __init__(self, prompt: Sequence[int], sibling: Sequence[tuple[int, float]], worth: float) -> None:
        self._prompt = np.array(prompt, dtype=np.int64)
        self._sibling = [token for token, _ in sibling]
        self._likely = [min(likely, _CERTAIN) for _, likely in sibling]
        self._worth = worth
        self._at = self._seen = 0
        self._run = 2 * _LONG

    def propose(self, answer: Sequence[int], most: int) -> list[int]:
        """Return the sibling's next tokens after the answer so far; after its end, tokens of the prompt."""
        for end in range(self._seen + 1, len(answer) + 1):
            self._follow(answer[:end])
        self._seen = len(answer)
        if self._at >= len(self._sibling):
            return self._looked_up(answer, most)
        likely = self._likely[self._at : self._at + most]
        count = self._worthwhile((self._run + 1) / (self._run + 2), likely)
        return self._sibling[self._at : self._at + count]

    def _follow(self, answer: Sequence[int]) -> None:
        """Move to the place in the sibling that the answer's last token leads to."""
        if self._sibling[self._at : self._at + 1] == [answer[-1]]:
            self._at += 1
            self._run += 1
            return
        places = [place for place, token in enumerate(self._sibling, 1) if token == answer[-1]]
        runs = {place: common(answer[: -_LONG - 1 : -1], self._sibling[:place][::-1]) for place in places}
        near = {
            place: (run, -abs(place - self._at))
            for place, run in runs.items()
            if run >= _LEAST or abs(place - self._at) <= _LONG
        }
        # If the token is nowhere near, assume that it replaces the sibling's token at this place.
        best = max(near, key=near.__getitem__, default=self._at + 1)
        self._at, self._run = best, runs.get(best, 0)

    def _looked_up(self, answer: Sequence[int], most: int) -> list[int]:
        """Return what followed the last tokens where they occurred before."""
        text = np.concatenate([self._prompt, np.array(answer, dtype=np.int64)])
        ends, run = np.flatnonzero(text[:-1] == text[-1]) + 1, 1
        while run < min(_LONG, len(text) - 1):
            longer = ends[ends > run]
            longer = longer[text[longer - run - 1] == text[-run - 1]]
            if not len(longer):
                break
            ends, run = longer, run + 1
        if run < _LEAST or not len(ends):
            return []
        following: list[int] = text[ends[-1] : ends[-1] + most].tolist()
        return following[: self._worthwhile(run / (run + 3), [_COPIED] * len(following))]

    def _worthwhile(self, likely: float, steps: Sequence[float]) -> int:
        """Return how many tokens can be drafted before all of them together are too unlikely."""
        for count, step in enumerate(steps):
            likely *= step
            if likely < self._worth:
                return count
        return len(steps)


class Drafter:
    """Makes a source of drafts for each step, or none. It closes the `model`, if it has one."""

    def __init__(
        self, kind: str, tokenizer: Tokenizer, *, worth: float, model: DraftModel | None = None
    ) -> None:
        self.uses_siblings = kind == "sibling"
        self._drafts = kind != "none"
        self._tokenizer = tokenizer
        self._worth = worth
        self._model = model

    def source(
        self, slot: int, request: Request, prompt: Sequence[int], marks: frozenset[int]
    ) -> Source | None:
        """Return the source of drafts of a step, or None. `marks` are tokens that end only other answers."""
        if not self._drafts:
            return None
        if (model := self._model) is not None:
            return lambda answer, most: model.propose(slot, [*prompt, *answer], most, self._worth)
        sibling = request.sibling if self.uses_siblings else None
        if sibling is None and self.uses_siblings and self._worth >= WORTH_CPU:
            return None  # looked-up tokens are too seldom right to pay there
        return Copying(prompt, self._tokens(sibling, marks) if sibling else (), self._worth).propose

    def close(self) -> None:
        """Close the draft model."""
        if self._model is not None:
            self._model.close()

    def _tokens(self, sibling: Sibling, marks: frozenset[int]) -> list[tuple[int, float]]:
        """Return a sibling's answer in this model's tokens with their probabilities, without the last one."""
        tokens, logprobs = sibling.token_ids, sibling.logprobs
        if (
            len(logprobs) != len(tokens)
            or any(not 0 <= token < self._tokenizer.n_vocab for token in tokens)
            or b"".join(self._tokenizer.shown(token, marks) for token in tokens).decode("utf-8", "replace")
            != sibling.raw
        ):  # these tokens do not spell the text in this vocabulary
            tokens = tuple(self._tokenizer.content(sibling.raw, special=True))
            logprobs = (0.0,) * len(tokens)
        pairs = zip(tokens[:-1], logprobs, strict=False)
        return [(token, math.exp(min(logprob, 0.0))) for token, logprob in pairs]
