"""A GGUF file as a model: prompt, prefix cache, grammar and decoder put together."""

import time
from collections.abc import Mapping

from rig.calls import Call, Json
from rig.engine.answers import AnswerError, AnswerForm
from rig.engine.decoder import Decoder, Generation
from rig.engine.grammar import ConstraintError, GrammarEngine
from rig.engine.llama import DecodeError, LlamaContext, LlamaModel
from rig.engine.prefix import Prefill, PrefixCache
from rig.engine.prompt import PromptBuilder
from rig.engine.sampling import Sampler
from rig.engine.settings import EngineSettings
from rig.engine.template import ChatTemplate, TemplateError
from rig.engine.tokenizer import Tokenizer
from rig.errors import ErrorKind
from rig.models import OnPiece, Piece, Prediction, Request, ToolDoc, Usage


class LlamaCppModel:
    """A loaded GGUF file that predicts steps one after the other. Not thread-safe."""

    def __init__(
        self,
        name: str,
        fingerprint: Mapping[str, Json],
        *,
        model: LlamaModel,
        context: LlamaContext,
        tokenizer: Tokenizer,
        template: ChatTemplate,
        settings: EngineSettings,
    ) -> None:
        self._name = name
        self._fingerprint = dict(fingerprint)
        self._model = model
        self._context = context
        self._settings = settings
        self._prompts = PromptBuilder(template, tokenizer)
        self._grammar = GrammarEngine(model, tokenizer)
        self._prefix = PrefixCache(context)
        self._decoder = Decoder(context, tokenizer, fast_forward=settings.fast_forward)
        self._turn: tuple[str, int, int] | None = None
        self._forms: dict[tuple[str, ...], AnswerForm] = {}

    @property
    def name(self) -> str:
        return self._name

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        return self._fingerprint

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        """Predict one step. `on_piece` may raise to give up; the model can be used again afterwards.

        It is also called, with no text and no tokens, before every batch of the prompt.
        """
        started = time.perf_counter()
        form = self._form(request.tools)
        generation = Generation()
        prefill = Prefill(0, 0)
        prefilled = started
        failure: tuple[ErrorKind, str] | None = None
        try:
            constraint = self._grammar.start(form.schema)
            segments = self._prompts.build(request, form)
            length = sum(map(len, segments))
            room = self._context.n_ctx - length
            prefill = Prefill(length, 0)
            if room < 1:
                raise _ContextFull(f"the prompt has {length} tokens, the context {self._context.n_ctx}")
            turn = (request.key.conversation, request.key.repeat, request.key.turn)
            if request.key.step == 0 or turn != self._turn:
                self._prefix.begin()
                self._turn = turn
            prefill = self._prefix.prefill(segments, lambda: on_piece(Piece("", tokens=0)))
            prefilled = time.perf_counter()
            self._decoder.run(
                constraint,
                Sampler(self._settings, request.key),
                generation,
                budget=min(self._settings.max_tokens, room),
                on_piece=on_piece,
            )
            if not generation.complete:
                if room <= self._settings.max_tokens:
                    raise _ContextFull(f"the context of {self._context.n_ctx} tokens is full")
                failure = ErrorKind.TRUNCATED, f"incomplete after {self._settings.max_tokens} tokens"
        except TemplateError as error:
            failure = ErrorKind.TEMPLATE, str(error)
        except ConstraintError as error:
            failure = ErrorKind.CONSTRAINT, str(error)
        except _ContextFull as error:
            failure = ErrorKind.CONTEXT, str(error)
        except FloatingPointError as error:
            failure = ErrorKind.DECODE, str(error)
        except DecodeError as error:
            failure = error.kind, str(error)
        usage = Usage(
            prompt_tokens=prefill.prompt_tokens,
            cached_tokens=prefill.cached_tokens,
            completion_tokens=len(generation.token_ids),
            forced_tokens=sum(generation.token_forced),
            prefill_s=prefilled - started,
            decode_s=time.perf_counter() - prefilled,
            mask_s=generation.mask_s,
            first_token_s=(generation.first_token_at or started) - started,
        )
        return _prediction(form, generation, usage, failure)

    def close(self) -> None:
        """Free the context and the weights."""
        self._context.close()
        self._model.close()

    def _form(self, tools: tuple[ToolDoc, ...]) -> AnswerForm:
        names = tuple(tool.name for tool in tools)
        known = self._forms.get(names)
        if known is None or known.tools != tools:
            known = self._forms[names] = AnswerForm(tools)
        return known


class _ContextFull(Exception):
    """The prompt, or the prompt and what was generated, fill the context."""


def _prediction(
    form: AnswerForm, generation: Generation, usage: Usage, failure: tuple[ErrorKind, str] | None
) -> Prediction:
    answer: Call | str | None = None
    if failure is None:
        try:
            answer = form.parse(generation.text)
        except AnswerError as error:
            failure = ErrorKind.INVALID, str(error)
    kind, detail = failure or (None, "")
    incomplete = kind in (ErrorKind.TRUNCATED, ErrorKind.CONTEXT)
    return Prediction(
        raw=generation.text,
        call=answer if isinstance(answer, Call) else None,
        reply=answer if isinstance(answer, str) else None,
        error=kind,
        error_detail=" ".join(detail.split())[:500],
        finish_reason="stop" if kind is None else "length" if incomplete else "error",
        usage=usage,
        token_ids=tuple(generation.token_ids),
        logprobs=tuple(generation.logprobs),
        token_chars=tuple(generation.token_chars),
        token_forced=tuple(generation.token_forced),
    )
