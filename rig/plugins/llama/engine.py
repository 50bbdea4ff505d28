"""A GGUF file as a model: prompt, prefix cache, grammar and decoder put together."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from rig.core.calls import Json
from rig.core.errors import ErrorKind, Halted, RigError
from rig.core.models import Memory, Model, Notify, OnPiece, OnRead, Piece, Prediction, Request, unheard
from rig.core.paths import cache_directory
from rig.plugins.llama.core.llama import Chunk, DecodeError, LlamaContext
from rig.plugins.llama.core.settings import EngineSettings, Sampling
from rig.plugins.llama.core.template import ChatTemplate, TemplateError
from rig.plugins.llama.core.tokenizer import Segment, Tokenizer
from rig.plugins.llama.decoding.cache import Feeding, Logits, PrefixStore, PrefixTree
from rig.plugins.llama.decoding.decoder import Form, Lane, TokenBudget, generate
from rig.plugins.llama.decoding.sampler import Sampler
from rig.plugins.llama.files.adapters import Adapter, named
from rig.plugins.llama.formats.base import AnswerFormat, PlainFormat, chosen_tools
from rig.plugins.llama.formats.form import FormatChoice
from rig.plugins.llama.grammar import make_grammar
from rig.plugins.llama.grammar.language import Constraint, ConstraintError, FreeGrammar
from rig.plugins.llama.memory.fit import LoadedModel
from rig.plugins.llama.prompt import PromptBuilder

PREFILL_PIECE = 128
"""The most prompt tokens in one batch while several steps are under way."""


_FAILURES = {
    TemplateError: ErrorKind.TEMPLATE,
    ConstraintError: ErrorKind.CONSTRAINT,
    FloatingPointError: ErrorKind.DECODE,
}
"""Exceptions that can end a step besides DecodeError, which carries its kind itself."""

_SHAPES_STATE = (
    *("file_sha256", "adapter_sha256", "adapter_scale", "n_batch", "n_threads", "n_gpu_layers", "devices"),
    *("flash_attention", "kv_type", "cpu_weight_layouts", "n_cpu_moe"),
    *("llama_cpp_python", "llama_cpp", "llama_cpp_system"),
)
"""The part of a fingerprint that can change a bit of the KV state of given tokens."""


class LlamaCppModel(Model):
    """A loaded GGUF file that predicts up to `slots` steps at once. Not thread-safe.

    Steps are coroutines that ask for tokens to be decoded; `advance` puts these into one batch, decodes it,
    and lets the steps continue. With one slot, every batch is what its step asks for, whatever happened
    before.
    """

    def __init__(
        self,
        name: str,
        fingerprint: Mapping[str, Json],
        loaded: LoadedModel,
        *,
        tokenizer: Tokenizer,
        template: ChatTemplate,
        settings: EngineSettings,
        chosen: FormatChoice,
        sampling: Sampling,
        notify: Notify,
    ) -> None:
        """Take over what was loaded. Code that uses `context` outside of steps owns it from then on."""
        self._base_name = self.name = name
        self._base_fingerprint = self._fingerprint = dict(fingerprint)
        self.weights, self.context, self._plan, self._open_bare = loaded
        self.tokenizer = tokenizer
        self.settings = settings
        self._sampling = sampling
        self.prompts = PromptBuilder(template, tokenizer, whole=settings.whole_prompt)
        self.grammar = make_grammar(self.weights, tokenizer, settings)
        self._adapter: tuple[Any, float] | None = None
        self._notify = notify
        self._lanes: dict[int, Lane] = {}
        self.template = template
        self._chosen = chosen
        self._forms: dict[tuple[bool, bool, tuple[str, ...]], Form] = {}
        self._tools_are_shared = True
        self._is_slots_open = settings.parallel is None
        self._store = self._open_store()
        self._begin_empty()

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        """The given fingerprint, the number of sequences, and what follows from that number."""
        several = {"prefill_piece": PREFILL_PIECE} if self.slots > 1 else {}
        # Prompts are then prefilled in other batches, whose low bits differ.
        is_cut = self.prompts.cuts_before_tools and not self._tools_are_shared
        cut = {"prompt_cut": "before the tools"} if is_cut else {}
        return {**self._fingerprint, "n_seq": self.slots, **several, **cut}

    @property
    def slots(self) -> int:
        return len(self.context.sequences)

    @property
    def memory(self) -> Memory:
        return self._plan.memory(self.slots)

    def apply_adapter(self, adapter: Adapter | None) -> None:
        """Predict with an adapter from now on, or without one, on the same weights.

        Nothing computed before is used again. Raises RigError if the adapter cannot be loaded.
        """
        fingerprint = {**self._base_fingerprint, **(adapter.as_json() if adapter else {})}
        if self._fingerprint == fingerprint:
            return
        self._adapter = (self.weights.adapter(adapter.path), adapter.scale) if adapter else None
        self.name, self._fingerprint = named(self._base_name, adapter), fingerprint
        self._store = self._open_store()
        self._open_again(self.slots)

    def _open_store(self) -> PrefixStore | None:
        if not self.settings.prefix_cache:
            return None
        own = (name for name in self._fingerprint if name.startswith("llama."))
        names = (*(name for name in _SHAPES_STATE if name in self._fingerprint), *own)
        shape = {name: self._fingerprint[name] for name in names}
        return PrefixStore(cache_directory() / "prefixes", shape, self._notify)

    def _open_again(self, slots: int) -> None:
        self.context.close()
        self.context = self._open_context(slots, None)
        self._begin_empty()

    def _open_context(self, n_seq: int, n_cells: int | None) -> LlamaContext:
        context = self._open_bare(self.weights, self._plan.shape._replace(n_seq=n_seq), n_cells)
        if self._adapter is not None:
            context.apply_adapter(*self._adapter)
        return context

    def _begin_empty(self) -> None:
        """Start with an empty context."""
        self._tree = PrefixTree(self.context, self._store)
        self._forget_turns()

    def _forget_turns(self) -> None:
        """Note that no sequence of the context is in a turn."""
        self._turns: list[tuple[str, int, int] | None] = [None] * self.slots

    def prepare(
        self,
        opening: Request,
        slots: int | None,
        before: Mapping[str, Json] | None = None,
        on_read: OnRead = unheard,
    ) -> None:
        """Prefill what all prompts share, and settle how many steps are predicted at once.

        It is one step, unless more were asked for: see docs/lab/performance.md, "Answers at once". Raises
        RigError if memory is too short, or if the grammar cannot enforce the tools.
        """
        if self._is_slots_open:
            self._is_slots_open = False
            if (slots or 1) != self.slots:
                self._open_again(slots or 1)
        self._tools_are_shared = opening.tools_are_shared
        self.prompts.cuts_before_tools = before is None or "prompt_cut" in before
        form = self.form(opening)
        try:
            self._constraint(form)
        except ConstraintError as error:
            raise RigError(f"{self.name}: {error}") from error
        try:
            segments = self.prompts.build(opening, form.format)
        except TemplateError:
            return  # every step will say so
        # All conversations begin with the messages of an opening; the last segment begins an answer.
        segments = segments[:-1] if opening.messages else segments[:1]
        if sum(map(len, segments)) + self.settings.max_tokens >= self.context.n_ctx:
            return  # likewise
        self._grow(segments, on_read)
        self._forget_turns()

    def _grow(self, segments: Sequence[Segment], on_read: OnRead) -> None:
        """Prefill the first sequence with what all prompts begin with."""
        size, length = self.context.n_batch, sum(map(len, segments))
        try:
            for feed in self._tree.grow(segments):
                for start in range(0, len(feed.tokens), size):
                    on_read(len(self.context.sequences[0]), length)
                    self.context.decode([Chunk(0, feed.tokens[start : start + size], 0)])
        except DecodeError as error:
            raise RigError(f"{self.name}: the shared prompt cannot be computed: {error}") from error

    def obstacle(self, opening: Request) -> str | None:
        """Return a message if the beginning alone fills the context, else None.

        Whether the template accepts a conversation shows only once there are messages.
        """
        length = self._length(opening)
        if length is None or length < self.context.n_ctx:
            return None
        return (
            f"the prompt has {length} tokens before anything is said, the context {self.context.n_ctx};"
            " raise --n-ctx"
        )

    def room(self, request: Request) -> int | None:
        """Return how many tokens the context has left behind a prompt and the longest answer to it.

        None if the chat template refuses the prompt.
        """
        length = self._length(request)
        return None if length is None else self.context.n_ctx - length - self.settings.max_tokens

    def _length(self, request: Request) -> int | None:
        """Return a prompt's length in tokens; None if the chat template refuses it, as steps will say."""
        try:
            return sum(map(len, self.prompts.build(request, self.form(request).format)))
        except TemplateError:
            return None

    def begin(self, slot: int, request: Request, on_piece: OnPiece) -> None:
        """Start a step in a free slot. `on_piece` may raise to give up all steps.

        It is also called, with no text and no tokens, before every batch of the prompt.
        """
        if slot in self._lanes:
            raise RuntimeError(f"slot {slot} is at a step already")
        self._lanes[slot] = Lane(request, on_piece, time.perf_counter())

    def advance(self) -> list[tuple[int, Prediction]]:
        """Decode one batch for all steps under way, and return those that it finishes, with their slots.

        If a listener raises, every step is given up.
        """
        self._finished: list[tuple[int, Prediction]] = []
        try:
            for slot, lane in sorted(self._lanes.items()):
                if lane.steps is None:
                    lane.steps = self._step(slot, lane)
                    self._go_on(slot, lane, None)  # what it wants first; some fail at once
            if not self._finished:
                self._decode()
        except BaseException:
            self._lanes.clear()
            raise
        return self._finished

    def close(self) -> None:
        """Free the context and the weights."""
        self.context.close()
        self.weights.close()

    def _decode(self) -> None:
        batch = self._batch()
        for slot, tokens, _ in batch:
            lane = self._lanes[slot]
            if tokens and not lane.feed.generated:
                read = len(self.context.sequences[slot]), lane.usage.prompt_tokens
                lane.on_piece(Piece("", tokens=0, read=read))
        clock = time.perf_counter()
        failure: DecodeError | None = None
        try:
            self.context.decode([chunk for chunk in batch if chunk.tokens])
        except DecodeError as error:
            failure = error
        seconds = time.perf_counter() - clock
        total = sum(len(chunk.tokens) for chunk in batch)
        end = 0
        for slot, tokens, outputs in batch:
            lane = self._lanes[slot]
            lane.take(seconds * len(tokens) / total)
            lane.fed += len(tokens)
            end += len(tokens)
            if failure is not None and tokens:
                self._go_on(slot, lane, failure)
                continue
            if lane.fed == len(lane.feed.tokens):
                self._go_on(slot, lane, self.context.logits(end - 1) if outputs else None)

    def _batch(self) -> list[Chunk]:
        """Return the chunks to decode next, by slot: generated tokens first, then pieces of prompts.

        With several slots, prompts are read in small pieces, so that no step waits long for a token.
        """
        room = self.context.n_batch
        piece = room if self.slots == 1 else min(room, PREFILL_PIECE)
        batch = []
        for slot, lane in sorted(self._lanes.items(), key=lambda item: (not item[1].feed.generated, item[0])):
            size = min(room, len(lane.feed.tokens) - lane.fed, room if lane.feed.generated else piece)
            tokens = lane.feed.tokens[lane.fed : lane.fed + size]
            is_last = size > 0 and lane.fed + size == len(lane.feed.tokens)
            batch.append(Chunk(slot, tokens, int(is_last and lane.feed.logits)))
            room -= size
            if not lane.feed.generated:
                piece -= size
        return batch

    def _go_on(self, slot: int, lane: Lane, result: Logits | DecodeError | None) -> None:
        """Resume a step with the result it asked for; that may finish it."""
        steps = lane.steps
        assert steps is not None
        lane.is_generating = lane.feed.generated or lane.feed.logits
        clock = time.perf_counter()
        failure: tuple[ErrorKind, str] | None = None
        try:
            lane.feed = steps.throw(result) if isinstance(result, DecodeError) else steps.send(result)
            lane.fed = 0
            return
        except StopIteration:
            pass
        except (DecodeError, Halted) as error:
            failure = error.kind, str(error)
        except tuple(_FAILURES) as error:
            failure = _FAILURES[type(error)], str(error)
        finally:
            lane.take(time.perf_counter() - clock)
        del self._lanes[slot]
        self._finished.append((slot, lane.prediction(self.form(lane.request), failure)))

    def _step(self, slot: int, lane: Lane) -> Feeding:
        """Run one step, from the request to the last token."""
        request, limit = lane.request, self.settings.max_tokens
        thinking = 0 if self.settings.thinking == "off" else self.settings.thinking_tokens or 0
        form = self.form(request)
        constraint = self._constraint(form)
        segments = self.prompts.build(request, form.format)
        prompt = [token for segment in segments for token in segment]
        length = len(prompt)
        room = self.context.n_ctx - length
        lane.usage = replace(lane.usage, prompt_tokens=length)
        if room < 1:
            raise DecodeError(
                ErrorKind.CONTEXT, f"the prompt has {length} tokens, the context {self.context.n_ctx}"
            )
        turn = request.key.conversation, request.key.repeat, request.key.turn
        if request.key.step == 0 or turn != self._turns[slot]:
            self._tree.begin(slot)
            self._turns[slot] = turn
        cached, logits = yield from self._tree.prefill(slot, segments)
        lane.usage = replace(lane.usage, cached_tokens=cached)
        sampler = Sampler(self._sampling, self.settings.seed, request.key, self.weights.vocab)
        sampler.accept(prompt)
        try:
            yield from generate(
                lane,
                self.tokenizer,
                constraint,
                sampler,
                logits,
                budget=TokenBudget(limit, room, form.language.thoughts, thinking),
                marks=form.marks,
                fast_forward=self.settings.fast_forward,
            )
        finally:
            sampler.close()
        if not lane.complete:
            if room <= limit + lane.reasoning_tokens:
                raise DecodeError(ErrorKind.CONTEXT, f"the context of {self.context.n_ctx} tokens is full")
            raise DecodeError(ErrorKind.TRUNCATED, f"incomplete after {limit} tokens")

    def _constraint(self, form: Form) -> Constraint:
        """Return the constraint that holds a generation to a form; a free one for plain text."""
        return (self._free if isinstance(form.format, PlainFormat) else self.grammar).start(form.language)

    @cached_property
    def _free(self) -> FreeGrammar:
        return FreeGrammar(self.tokenizer)

    def form(self, request: Request) -> Form:
        several = request.several_calls and self.settings.several_calls
        key = several, request.in_words, tuple(tool.name for tool in request.tools)
        form = self._forms.get(key)
        if form is None or form.format.tools != request.tools:
            if request.in_words:
                format: AnswerFormat = PlainFormat(request.tools, self.template)
                language = format.language()
            else:
                make, grammar = self._chosen.make, self.settings.grammar
                format = make(request.tools, grammar, self.template)
                tools, choice = chosen_tools(self.settings.tool_choice, request.tools)
                # All tools are declared, whichever can be called.
                alone = format if tools == request.tools else make(tools, grammar, self.template)
                language = alone.language(choice)
            language = language if several else replace(language, separator="")
            form = self._forms[key] = Form(format, language, self.tokenizer.ends_in(language.markers))
        return form
