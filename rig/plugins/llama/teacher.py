"""Teacher forcing: how likely a model finds a given answer under the grammar, token by token.

The answer follows the prompt that a run would make, and everything is computed in one pass: the model
generates nothing. Tokens without a choice, because the grammar allows no other, count nothing.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rig.core.calls import Call, Json
from rig.core.errors import RigError
from rig.core.models import Notify, Request, StepKey, ToolDoc, UserMessage
from rig.plugins.llama.core.assessment import Assessment, Choice, Kind
from rig.plugins.llama.core.llama import Chunk, DecodeError
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.core.template import TemplateError
from rig.plugins.llama.core.tokenizer import Tokenizer
from rig.plugins.llama.decoding.cache import read_prompt
from rig.plugins.llama.files.adapters import Adapter
from rig.plugins.llama.files.caches import sha256_of
from rig.plugins.llama.files.registry import resolve
from rig.plugins.llama.formats.base import Span
from rig.plugins.llama.grammar.language import Constraint, ConstraintError, Language
from rig.plugins.llama.loading import load

_LONGEST_PIECE = 256


class NotInGrammar(Exception):
    """The grammar does not allow this answer."""


class AnswerToken(NamedTuple):
    """A token of an answer, and the byte at which it begins.

    `allowed` are the ids that it was chosen from, ascending; None if the grammar allowed no other token.
    """

    token: int
    start: int
    allowed: npt.NDArray[np.intp] | None


def follow(
    constraint: Constraint,
    tokenizer: Tokenizer,
    text: str,
    until: int,
    *,
    fast_forward: bool,
    specials: Iterable[int] = (),
) -> list[AnswerToken]:
    """Return the tokens of `text` up to byte `until`, as the decoder would produce them.

    Where the grammar forces tokens, these are used, and where it allows one of the `specials` that the text
    spells, that one. Everywhere else the text is tokenized as in a prompt. Raises NotInGrammar if the tokens
    leave the grammar, and ConstraintError.
    """
    marks = frozenset(specials)
    spelled = [(token, piece) for token in marks if (piece := tokenizer.shown(token, marks))]
    data = text.encode()
    tokens: list[AnswerToken] = []
    planned = tokenizer.content(text)[::-1]
    at = 0

    def add(token: int, allowed: npt.NDArray[np.intp] | None) -> None:
        nonlocal at, planned
        piece = tokenizer.shown(token, marks)
        if not data.startswith(piece, at) or not piece:
            raise NotInGrammar(f"the grammar forces {piece!r} where {_start(data[at:])} should follow")
        tokens.append(AnswerToken(token, at, allowed))
        at += len(piece)
        if planned and planned[-1] == token:
            planned.pop()
        else:
            planned = []

    while at < until:
        if fast_forward:
            for token in constraint.forced():
                add(token, None)
            if at >= until:
                break
        mask = constraint.allowed()
        if not planned:
            planned = tokenizer.content(data[at:].decode("utf-8", "replace"))[::-1]
        special = (mark for mark, piece in spelled if mask[mark] and data.startswith(piece, at))
        token = next(special, planned[-1] if planned else -1)
        if token < 0 or not mask[token] or not data.startswith(tokenizer.shown(token, marks), at):
            token = _longest(mask, tokenizer, data[at : at + _LONGEST_PIECE])
        allowed = np.flatnonzero(mask)
        constraint.accept(token)
        add(token, None if len(allowed) == 1 else allowed)
    return tokens


def _longest(mask: npt.NDArray[np.bool_], tokenizer: Tokenizer, rest: bytes) -> int:
    """Return the allowed token that covers most of the coming bytes. Raises NotInGrammar if none fits."""
    fitting = [
        (len(piece), -token)
        for token in np.flatnonzero(mask).tolist()
        if (piece := tokenizer.shown(token)) and rest.startswith(piece)
    ]
    if not fitting:
        raise NotInGrammar(f"the grammar does not allow {_start(rest)} here")
    return -max(fitting)[1]


def _start(rest: bytes) -> str:
    return repr(rest[:24].decode("utf-8", "replace"))


def arranged(call: Call, tools: Sequence[ToolDoc]) -> Call:
    """Return the call with its arguments in the order of the tool's schema, which the grammar requires."""
    schema = next((tool.parameters for tool in tools if tool.name == call.name), {})
    return Call(call.name, _arranged(call.arguments, schema))


def _arranged(value: Json, schema: Json) -> Json:
    if not isinstance(schema, dict):
        return value
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        names = [name for name in properties if name in value]
        names += [name for name in value if name not in properties]
        return {name: _arranged(value[name], properties.get(name)) for name in names}
    if isinstance(value, list):
        return [_arranged(item, schema.get("items")) for item in value]
    return value


def length_of(spans: Sequence[Span]) -> int:
    """Return how many bytes an answer has up to the end of the last span that decides something."""
    last = max((number for number, span in enumerate(spans) if span.kind is not None), default=-1)
    return sum(len(span.text.encode()) for span in spans[: last + 1])


def kinds_of(spans: Sequence[Span]) -> Callable[[int], Kind | None]:
    """Return a function from a byte of the answer to what a token that begins there decides.

    It gives None for the words of a reply.
    """
    text = "".join(span.text for span in spans).encode()
    kinds = [span.kind for span in spans for _ in span.text.encode()]

    def kind(start: int) -> Kind | None:
        # A token's leading space belongs to a separator; what the token decides comes after it.
        while start < len(text) - 1 and text[start : start + 1] == b" " and kinds[start] != "value":
            start += 1
        return kinds[start]

    return kind


PIECE = 128
"""The number of an answer's tokens whose logits are read from one batch."""

Values: TypeAlias = npt.NDArray[np.float32]
Listen: TypeAlias = Callable[[int, Values], None]
"""Receives the number of each choice, and the logits of the tokens that were allowed, by token id."""
Watch: TypeAlias = Callable[[int, Kind | None, Values], None]
"""Receives each token of an answer: its id, what it decides (None: words), and the logits of all tokens."""


class Teacher:
    """Scores given answers with one model, in any order. A prompt is reused where the next one shares it."""

    def __init__(
        self, path: Path, settings: EngineSettings, name: str, notify: Notify, adapter: Adapter | None = None
    ) -> None:
        """Load the model and apply the adapter. Raises RigError as loading a model for a run does."""
        self.model = load(path, settings, name, notify, n_outputs=PIECE)
        try:
            self.model.apply_adapter(adapter)
        except BaseException:
            self.model.close()
            raise
        self._beginnings: dict[str, npt.NDArray[np.bool_]] = {}

    def close(self) -> None:
        self.model.close()

    def written(self, request: Request, answer: Call | str) -> list[int]:
        """Return the tokens of a request's prompt and of its answer, as the model reads and writes them."""
        try:
            form = self.model.form(request)
            prompt = list(chain.from_iterable(self.model.prompts.build(request, form.format)))
            spans = form.format.spans(arranged(answer, request.tools) if isinstance(answer, Call) else answer)
            until = sum(len(span.text.encode()) for span in spans)
            return prompt + [token.token for token in self._answer_tokens(form.language, spans, until)]
        except (TemplateError, ConstraintError, NotInGrammar) as error:
            raise RigError(" ".join(str(error).split())[:300]) from error

    def assess(
        self, request: Request, answer: Call | str, listen: Listen, watch: Watch | None = None
    ) -> Assessment:
        """Score one answer: a call, or the words of a reply.

        Without `watch`, the answer is read only up to the last part that decides something; with it, to its
        end.
        """
        try:
            return self._assess(request, answer, listen, watch)
        except (TemplateError, ConstraintError, NotInGrammar, DecodeError, FloatingPointError) as error:
            return Assessment(not isinstance(answer, Call), fault=" ".join(str(error).split())[:300])

    def _answer_tokens(self, language: Language, spans: Sequence[Span], until: int) -> list[AnswerToken]:
        tokenizer = self.model.tokenizer
        return follow(
            self.model.grammar.start(language),
            tokenizer,
            "".join(span.text for span in spans),
            until,
            fast_forward=self.model.settings.fast_forward,
            specials=() if language.schema else tokenizer.specials.values(),
        )

    def _calling(self, language: Language) -> npt.NDArray[np.bool_] | None:
        """Return which tokens begin a call, if a reply can begin with any other token; else None."""
        trigger = "" if language.lead else language.trigger
        if trigger and trigger not in self._beginnings:
            tokenizer, opening = self.model.tokenizer, trigger.encode()
            pieces = map(tokenizer.shown, range(tokenizer.n_vocab))
            begins_call = [
                bool(piece) and (opening.startswith(piece) or piece.startswith(opening)) for piece in pieces
            ]
            self._beginnings[trigger] = np.array(begins_call)
        return self._beginnings.get(trigger)

    def _assess(
        self, request: Request, answer: Call | str, listen: Listen, watch: Watch | None
    ) -> Assessment:
        form, context = self.model.form(request), self.model.context
        prompt = list(chain.from_iterable(self.model.prompts.build(request, form.format)))
        spans = form.format.spans(arranged(answer, request.tools) if isinstance(answer, Call) else answer)
        text, kind_at = "".join(span.text for span in spans).encode(), kinds_of(spans)
        tokens = self._answer_tokens(form.language, spans, len(text) if watch else length_of(spans))
        needed, n_ctx, is_reply = len(prompt) + len(tokens), context.n_ctx, not isinstance(answer, Call)
        if needed > n_ctx:
            fault = f"prompt and answer have {needed} tokens, the context {n_ctx}"
            return Assessment(is_reply, prompt_tokens=len(prompt), fault=fault)
        calling = self._calling(form.language) if is_reply else None
        computed = read_prompt(context, 0, prompt)
        choices: list[Choice] = []

        def take(token: AnswerToken, logits: npt.NDArray[np.float32]) -> None:
            kind = kind_at(token.start)
            if watch is not None:
                watch(token.token, kind, logits)
            if token.allowed is not None and kind is not None:
                values = logits[token.allowed]
                choice = self._choice(token, text, kind, values)
                if calling is not None and choice.kind == "answer":
                    choice = _not_calling(choice, values, calling[token.allowed])
                choices.append(choice)
                listen(len(choices) - 1, values)

        # The prompt's last token predicts the answer's first; what the answer's last predicts is not needed.
        if tokens:
            take(tokens[0], context.logits())
        # The logits of one batch differ slightly from those of single tokens.
        size = 1 if self.model.settings.exact else min(PIECE, context.n_batch)
        for start in range(0, len(tokens) - 1, size):
            piece = [token.token for token in tokens[start : min(start + size, len(tokens) - 1)]]
            context.decode([Chunk(0, piece, len(piece))])
            computed += len(piece)
            for index, token in enumerate(tokens[start + 1 : start + 1 + len(piece)]):
                take(token, context.logits(index))
        forced = sum(token.start < length_of(spans) for token in tokens) - len(choices)
        return Assessment(is_reply, tuple(choices), forced, len(prompt), computed)

    def _choice(self, token: AnswerToken, text: bytes, kind: Kind, values: Values) -> Choice:
        """Score a token's choice in double precision; `rig.plugins.llama.core.assessment` agrees to 1e-7."""
        assert token.allowed is not None
        exact = values.astype(np.float64)
        if np.isnan(exact).any():
            raise FloatingPointError("the model's logits are not numbers")
        index = int(np.searchsorted(token.allowed, token.token))
        top = int(exact.argmax())
        logprob = exact[index] - exact[top] - np.log(np.exp(exact - exact[top]).sum())
        rank = int((exact > exact[index]).sum() + (exact[:index] == exact[index]).sum())
        likeliest = int(token.allowed[top])
        piece = self.model.tokenizer.shown(likeliest)
        return Choice(
            token=token.token,
            start=token.start,
            kind=kind,
            logprob=float(logprob),
            rank=rank,
            top=likeliest,
            agrees=likeliest == token.token or bool(piece and text.startswith(piece, token.start)),
            allowed=len(token.allowed),
        )


def _not_calling(choice: Choice, values: Values, calls: npt.NDArray[np.bool_]) -> Choice:
    """Return a choice to reply as the decision that no call begins, where a reply can begin with any word."""
    if calls.all():
        return choice
    exact = values.astype(np.float64)
    shares = np.exp(exact - exact.max())
    return choice._replace(
        logprob=float(np.log(shares[~calls].sum() / shares.sum())),
        rank=int((exact[calls] > exact[~calls].max()).sum()),
        agrees=not calls[int(exact.argmax())],
    )


_SYSTEM = "You read two texts and say whether the second follows from the first. Be strict about facts."
_TOOL = ToolDoc(
    "answer",
    "Say whether text 2 follows from text 1.",
    {
        "type": "object",
        "properties": {"follows": {"enum": ["yes", "no"], "description": "yes if it follows, else no."}},
        "required": ["follows"],
        "additionalProperties": False,
    },
)


class GgufReader:
    """A GGUF model, given by file or name, that judges texts under the grammar that holds tool calls."""

    def __init__(self, text: str) -> None:
        model = resolve(text)
        self.name = model.name
        files = [model.path, *([model.adapter.path] if model.adapter else [])]
        self.sha256 = hashlib.sha256("".join(map(sha256_of, files)).encode()).hexdigest()
        settings = EngineSettings(parallel=1, n_ctx=4096)
        self._teacher = Teacher(model.path, settings, model.base, lambda _text: None, model.adapter)

    def follows(self, first: str, second: str) -> float | None:
        """Return the probability of yes against no; None if the model cannot read the texts."""
        message = UserMessage(f"Text 1: {first}\nText 2: {second}")
        request = Request(StepKey("reader", 0, 0), _SYSTEM, (_TOOL,), "", (message,))
        assessed = self._teacher.assess(request, Call(_TOOL.name, {"follows": "yes"}), lambda _n, _v: None)
        if assessed.fault is not None:
            return None
        return math.exp(sum(choice.logprob for choice in assessed.choices if choice.kind == "value"))
