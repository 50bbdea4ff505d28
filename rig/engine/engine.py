"""A GGUF file as a model: prompt, prefix cache, grammar and decoder put together."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from rig.calls import Json
from rig.engine.answer_format import FormatChoice
from rig.engine.cache.prefix import Feeding, Prefill, PrefixTree, Rows
from rig.engine.cache.store import PrefixStore
from rig.engine.core.llama import Chunk, DecodeError, LlamaContext, LlamaModel
from rig.engine.core.sampling import Sampler
from rig.engine.core.settings import EngineSettings
from rig.engine.core.tokenizer import Segment, Tokenizer
from rig.engine.decoder import Budget, Decoder
from rig.engine.drafting.ahead import Ahead
from rig.engine.drafting.drafter import Drafter
from rig.engine.files.adapters import Adapter, named
from rig.engine.grammar import ConstraintError, Grammar, make_grammar
from rig.engine.parallel import OpenContext, choose, describe, measure
from rig.engine.prediction import Form, Lane
from rig.engine.prompt import PromptBuilder
from rig.engine.templates.template import ChatTemplate, TemplateError
from rig.errors import ErrorKind, RigError
from rig.models import Notify, OnPiece, Piece, Prediction, Request

PREFILL_PIECE = 128
"""Tokens of prompts in a batch, at most, while several steps are under way."""


OpenStore: TypeAlias = Callable[[Mapping[str, Json]], PrefixStore | None]
"""Opens the store of prompts' beginnings for a fingerprint, if there should be one."""


class _Turn(NamedTuple):
    """The turn of an evaluation that a sequence belongs to."""

    conversation: str
    repeat: int
    turn: int


class Parts(NamedTuple):
    """What steps are made of, for those who put answers to a model instead of asking for them.

    `form` gives the form of an answer to a request, and what may be written in it.
    """

    model: LlamaModel
    context: LlamaContext
    tokenizer: Tokenizer
    prompts: PromptBuilder
    grammar: Grammar
    form: Callable[[Request], Form]
    settings: EngineSettings


class LlamaCppModel:
    """A loaded GGUF file that predicts up to `slots` steps at once. Not thread-safe.

    Steps are coroutines that want tokens decoded; `advance` puts what they want into one batch, decodes it,
    and lets them continue. With one slot, every batch is what its step wants, no matter what happened before.
    """

    def __init__(
        self,
        name: str,
        fingerprint: Mapping[str, Json],
        *,
        model: LlamaModel,
        context: LlamaContext,
        open_context: OpenContext,
        tokenizer: Tokenizer,
        template: ChatTemplate,
        settings: EngineSettings,
        chosen: FormatChoice,
        most_slots: int,
        open_store: OpenStore,
        drafter: Drafter,
        notify: Notify,
    ) -> None:
        self._base_name = self._name = name
        self._base_fingerprint = self._fingerprint = dict(fingerprint)
        self._model = model
        self._tokenizer = tokenizer
        self._open_bare = open_context
        self._adapter: tuple[Any, float] | None = None
        self._settings = settings
        self._most_slots = most_slots
        self._open_store = open_store
        self._store = open_store(self._fingerprint)
        self._notify = notify
        self._prompts = PromptBuilder(template, tokenizer)
        self._grammar = make_grammar(model, tokenizer, settings, notify)
        self._drafter = drafter
        self._decoder = Decoder(tokenizer, fast_forward=settings.fast_forward)
        self._lanes: dict[int, Lane] = {}
        self._template = template
        self._chosen = chosen
        self._forms: dict[tuple[bool, tuple[str, ...]], Form] = {}
        self._tools_are_shared = True
        self._is_slots_open = settings.parallel is None
        self._context = context
        self._tree = PrefixTree(self._context, self._store)
        self._forget_turns()

    @property
    def name(self) -> str:
        return self._name

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        """What was given, and the number of sequences with what follows from it."""
        several = {"prefill_piece": PREFILL_PIECE} if self.slots > 1 else {}
        # Prompts are prefilled in other batches then, whose low bits differ.
        is_cut = self._prompts.cuts_before_tools and not self._tools_are_shared
        cut = {"prompt_cut": "before the tools"} if is_cut else {}
        return {**self._fingerprint, "n_seq": self.slots, **several, **cut}

    @property
    def slots(self) -> int:
        return len(self._context.sequences)

    @property
    def uses_siblings(self) -> bool:
        """Whether it drafts what another arm answered."""
        return self._drafter.uses_siblings

    @property
    def context(self) -> LlamaContext:
        """The KV cache and what was decoded into it, for measurements."""
        return self._context

    @property
    def parts(self) -> Parts:
        """The parts of this model. Once you use the context, you own it for good."""
        return Parts(
            self._model,
            self._context,
            self._tokenizer,
            self._prompts,
            self._grammar,
            self._form,
            self._settings,
        )

    def apply_adapter(self, adapter: Adapter | None) -> None:
        """Predict with an adapter from now on, or without one, on the same weights.

        Nothing computed before is used again. Raises RigError if the adapter cannot be loaded.
        """
        told = {} if adapter is None else adapter.as_json()
        if self._fingerprint == {**self._base_fingerprint, **told}:
            return
        slots = self.slots
        self._adapter = (self._model.adapter(adapter.path), adapter.scale) if adapter else None
        self._context.close()
        self._context = self._open_context(slots, None)
        self._name = named(self._base_name, adapter)
        self._fingerprint = {**self._base_fingerprint, **told}
        self._store = self._open_store(self._fingerprint)
        self._tree = PrefixTree(self._context, self._store)
        self._forget_turns()

    def _forget_turns(self) -> None:
        """No sequence of the context is in a turn."""
        self._turns: list[_Turn | None] = [None] * self.slots
        self._ahead = [Ahead(self._context, slot) for slot in range(self.slots)]

    def _open_context(self, n_seq: int, n_cells: int | None) -> LlamaContext:
        context = self._open_bare(n_seq, n_cells)
        if self._adapter is not None:
            context.apply_adapter(*self._adapter)
        return context

    def prepare(self, opening: Request, slots: int | None, before: Mapping[str, Json] | None = None) -> None:
        """Prefill what all prompts share, and settle how many steps are predicted at once.

        Raises RigError when there is not memory enough, and for tools that the grammar cannot hold it to.
        """
        self._tools_are_shared = opening.tools_are_shared
        self._prompts.cuts_before_tools = before is None or "prompt_cut" in before
        form = self._form(opening)
        try:
            self._grammar.start(form.language)
        except ConstraintError as error:
            raise RigError(f"{self._name}: {error}") from error
        try:
            segment = self._prompts.build(opening, form.format)[0]
        except TemplateError:
            return  # every step will say so
        if len(segment) + self._settings.max_tokens >= self._context.n_ctx:
            return  # likewise
        try:
            for feed in self._tree.grow([segment]):
                size = self._context.n_batch
                for start in range(0, len(feed.tokens), size):
                    self._context.decode([Chunk(0, feed.tokens[start : start + size], 0)])
        except DecodeError as error:
            raise RigError(f"{self._name}: the shared prompt cannot be computed: {error}") from error
        if self._is_slots_open:
            self._is_slots_open = False
            state = self._context.state(0)
            slots = slots or self._measured_slots(segment, state)
            if slots != self.slots:
                self._context.close()
                self._context = self._open_context(slots, None)
                self._tree = PrefixTree(self._context, self._store)
                self._tree.plant(segment, state)
        self._forget_turns()

    def obstacle(self, opening: Request) -> str | None:
        """That the beginning alone fills the context. Whether the template takes it, only messages show."""
        try:
            segments = self._prompts.build(opening, self._form(opening).format)
        except TemplateError:
            return None
        length = sum(map(len, segments))
        if length < self._context.n_ctx:
            return None
        return (
            f"the prompt has {length} tokens before anything is said, the context {self._context.n_ctx};"
            " raise --n-ctx"
        )

    def _measured_slots(self, segment: Segment, state: bytes) -> int:
        rates = self._store.rates(segment) if self._store else None
        if rates is None:
            try:
                rates = measure(self._open_context, segment, state)
            except (RigError, DecodeError):
                return 1  # no memory to try
            if self._store:
                self._store.keep_rates(segment, rates)
        slots = choose({count: rate for count, rate in rates.items() if count <= self._most_slots})
        self._notify(f"{self._name}: {describe(rates, slots)}")
        return slots

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        """Predict one step by itself. `on_piece` may raise to give up; the model can then be used again.

        It is also called, with no text and no tokens, before every batch of the prompt.
        """
        self.begin(0, request, on_piece)
        while True:
            for _, prediction in self.advance():
                return prediction

    def begin(self, slot: int, request: Request, on_piece: OnPiece) -> None:
        """Take on a step in a slot that has none; the rest is as in `predict`."""
        if slot in self._lanes:
            raise RuntimeError(f"slot {slot} is at a step already")
        self._lanes[slot] = Lane(request, on_piece, time.perf_counter())

    def advance(self) -> list[tuple[int, Prediction]]:
        """Decode one batch for all steps under way; those that are finished by it, by slot.

        When a listener raises, every step is given up.
        """
        try:
            return self._start() or self._decode()
        except BaseException:
            self._lanes.clear()
            raise

    def room(self, request: Request) -> int:
        """How many tokens are left in the context behind a prompt and the longest answer to it.

        A prompt that the chat template refuses is said to fit: asking says what is wrong with it.
        """
        try:
            segments = self._prompts.build(request, self._form(request).format)
        except TemplateError:
            return 0
        n_ctx: int = self._context.n_ctx
        return n_ctx - sum(map(len, segments)) - self._settings.max_tokens

    def close(self) -> None:
        """Free the context and the weights."""
        self._drafter.close()
        self._context.close()
        self._model.close()

    def _start(self) -> list[tuple[int, Prediction]]:
        """Let new steps say what they want first; those that fail at once."""
        finished = []
        for slot, lane in sorted(self._lanes.items()):
            if lane.steps is None:
                lane.steps = self._step(slot, lane)
                finished += self._go_on(slot, lane, None)
        return finished

    def _decode(self) -> list[tuple[int, Prediction]]:
        batch = self._batch()
        for slot, tokens in batch:
            lane = self._lanes[slot]
            if tokens and not lane.feed.generated:
                read = len(self._context.sequences[slot]), lane.prefill.prompt_tokens
                lane.on_piece(Piece("", tokens=0, read=read))
        clock = time.perf_counter()
        failure: DecodeError | None = None
        try:
            self._context.decode(
                [Chunk(slot, tokens, self._outputs(slot, tokens)) for slot, tokens in batch if tokens]
            )
        except DecodeError as error:
            failure = error
        seconds = time.perf_counter() - clock
        total = sum(len(tokens) for _, tokens in batch)
        finished = []
        end = 0
        for slot, tokens in batch:
            lane = self._lanes[slot]
            outputs = self._outputs(slot, tokens)
            lane.take(seconds * len(tokens) / total)
            lane.fed += len(tokens)
            end += len(tokens)
            if failure is not None and tokens:
                finished += self._go_on(slot, lane, failure)
                continue
            rows = [self._context.logits(index) for index in range(end - outputs, end)]
            if lane.fed == len(lane.feed.tokens):
                rows, lane.rows = [*lane.rows, *rows], []
                finished += self._go_on(slot, lane, rows)
            else:  # the next batch overwrites them
                lane.rows += [row.copy() for row in rows]
        return finished

    def _outputs(self, slot: int, tokens: Sequence[int]) -> int:
        """Of how many of these tokens, which are fed next, logits are wanted."""
        lane = self._lanes[slot]
        left = len(lane.feed.tokens) - lane.fed - len(tokens)
        return max(0, min(len(tokens), lane.feed.logits - left))

    def _batch(self) -> list[tuple[int, Sequence[int]]]:
        """What is decoded next, by slot: tokens that are being generated first, then pieces of prompts.

        With several slots prompts are taken in small pieces, so that nobody waits long for a token.
        """
        room = self._context.n_batch
        piece = room if self.slots == 1 else min(room, PREFILL_PIECE)
        batch = []
        for slot, lane in sorted(self._lanes.items(), key=lambda item: (not item[1].feed.generated, item[0])):
            size = min(room, len(lane.feed.tokens) - lane.fed, room if lane.feed.generated else piece)
            batch.append((slot, lane.feed.tokens[lane.fed : lane.fed + size]))
            room -= size
            if not lane.feed.generated:
                piece -= size
        return batch

    def _go_on(
        self, slot: int, lane: Lane, result: Rows | DecodeError | None
    ) -> list[tuple[int, Prediction]]:
        """Give a step what it wanted; its prediction when that was the last."""
        assert lane.steps is not None
        lane.is_generating = lane.feed.generated or lane.feed.logits > 0
        clock = time.perf_counter()
        failure: tuple[ErrorKind, str] | None = None
        try:
            if isinstance(result, DecodeError):
                lane.feed = lane.steps.throw(result)
            else:
                lane.feed = lane.steps.send(result)
            lane.fed = 0
            return []
        except StopIteration:
            pass
        except TemplateError as error:
            failure = ErrorKind.TEMPLATE, str(error)
        except ConstraintError as error:
            failure = ErrorKind.CONSTRAINT, str(error)
        except _ContextFull as error:
            failure = ErrorKind.CONTEXT, str(error)
        except _Truncated as error:
            failure = ErrorKind.TRUNCATED, str(error)
        except FloatingPointError as error:
            failure = ErrorKind.DECODE, str(error)
        except DecodeError as error:
            failure = error.kind, str(error)
        finally:
            lane.take(time.perf_counter() - clock)
        del self._lanes[slot]
        return [(slot, lane.prediction(self._form(lane.request), failure))]

    def _step(self, slot: int, lane: Lane) -> Feeding:
        """One step, from the request to the last token."""
        request, limit = lane.request, self._settings.max_tokens
        thinking = 0 if self._settings.thinking == "off" else self._settings.thinking_tokens
        form = self._form(request)
        constraint = self._grammar.start(form.language)
        segments = self._prompts.build(request, form.format)
        prompt = [token for segment in segments for token in segment]
        length = len(prompt)
        room = self._context.n_ctx - length
        lane.prefill = Prefill(length, 0)
        if room < 1:
            raise _ContextFull(f"the prompt has {length} tokens, the context {self._context.n_ctx}")
        turn = _Turn(request.key.conversation, request.key.repeat, request.key.turn)
        ahead = self._ahead[slot]
        ahead.settle()
        if request.key.step == 0 or turn != self._turns[slot]:
            self._tree.begin(slot)
            self._turns[slot] = turn
        lane.prefill, logits = yield from self._tree.prefill(slot, segments)
        cached, lasting = lane.prefill.cached_tokens, self._tree.lasting(slot)
        # Nobody drafts where the memory cannot take back a token.
        can_draft = self._context.can_branch
        source = self._drafter.source(slot, request, prompt, form.marks) if can_draft else None
        ahead.begin(prompt, cached=cached, lasting=lasting, source=source)
        try:
            yield from self._decoder.run(
                constraint,
                Sampler(self._settings, request.key),
                lane.generation,
                logits,
                budget=Budget(limit, room, form.language.thoughts, thinking),
                marks=form.marks,
                on_piece=lane.on_piece,
                ahead=ahead,
            )
        finally:
            lane.drafted_tokens, lane.accepted_tokens = ahead.drafted, ahead.accepted
        if not lane.generation.complete:
            if room <= limit + lane.generation.reasoning_tokens:
                raise _ContextFull(f"the context of {self._context.n_ctx} tokens is full")
            raise _Truncated(f"incomplete after {limit} tokens")

    def _form(self, request: Request) -> Form:
        several = request.several_calls and self._settings.several_calls
        key = several, tuple(tool.name for tool in request.tools)
        form = self._forms.get(key)
        if form is None or form.format.tools != request.tools:
            format = self._chosen.make(request.tools, self._settings.grammar, self._template)
            language = format.language()
            if language.schema is None:
                separator = language.separator if several else ""
                language = replace(language, separator=separator, choice=self._settings.tool_choice)
            form = self._forms[key] = Form(format, language, self._tokenizer.ends_in(language.markers))
        return form


class _ContextFull(Exception):
    """The prompt, or the prompt and what was generated, fill the context."""


class _Truncated(Exception):
    """The answer is longer than the settings allow."""
