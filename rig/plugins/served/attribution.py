"""Why a served model answers differently from the same file in process: the first cause, in a fixed order.

The order follows the making of an answer: prompt, sampler, context, calls, reasoning, weights. A difference
that none of these explains is chance. Where the server is asked again, it is by the route of its answers.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax

from rig.core.budget import parse_json
from rig.core.calls import Json, JsonObject
from rig.core.errors import SERVER, ErrorKind
from rig.core.models import LEAKED, Model, Prediction, Request
from rig.plugins.llama.core.llama import Chunk, DecodeError
from rig.plugins.llama.core.template import TemplateError
from rig.plugins.llama.decoding.cache import common, read_prompt
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.formats.base import Reading
from rig.plugins.llama.formats.salvage import AnswerError, read_answer
from rig.plugins.served.answers import CALL, NO_CALLS
from rig.plugins.served.dialects.base import ScoredToken
from rig.plugins.served.model import ServedModel
from rig.plugins.served.probes import THINKING
from rig.plugins.served.wire.client import ServerFault

CauseKind: TypeAlias = Literal[
    "prompt", "sampler", "context", "calls", "reasoning", "weights", "grammar", "chance", "server fault"
]
NOISE = 0.02
"""The mean divergence of the likeliest tokens, in nats, up to which weights count as the same.

On SmolLM2-135M, flash attention alone gives 0.004, and a KV cache of q4_0 gives 0.058.
"""
PLACES = 4
"""How many places of an answer are scored."""
GAP = 0.5
"""A token up to this many nats less likely than the likeliest can have been chosen in a tie."""
_ESCAPES = ("\\u00", "&lt;", "&gt;", "&amp;", "&#", "&quot;", "&apos;", "\\n", "\\'")
_NEUTRAL = {"mirostat": 0, "dynatemp_range": 0, "ignore_eos": False}
"""Settings that rig never sends, with the values at which they change nothing."""


class ReferenceModel:
    """A loaded file as the reference for a server. It overwrites what the model's context holds."""

    def __init__(self, model: Model) -> None:
        assert isinstance(model, LlamaCppModel)
        self._model, self.tokenizer = model, model.tokenizer

    def prompt(self, request: Request) -> list[int]:
        """Return the tokens of a request's prompt. Raises TemplateError."""
        form = self._model.form(request).format
        return [token for segment in self._model.prompts.build(request, form) for token in segment]

    def text(self, tokens: Sequence[int]) -> str:
        """Return tokens as text, with special tokens spelled out."""
        tokenizer = self.tokenizer
        pieces = (tokenizer.piece(token) or tokenizer.special_text(token).encode() for token in tokens)
        return b"".join(pieces).decode("utf-8", "replace")

    def read(self, request: Request, text: str) -> Reading | None:
        """Read a text in this model's format; None if it cannot be read."""
        with suppress(AnswerError):
            return self._model.form(request).format.read(text)
        return None

    def logprobs(self, prompt: Sequence[int], answer: Sequence[int]) -> list[npt.NDArray[np.float64]]:
        """Return the natural log probabilities of all tokens, at each place of an answer.

        Raises DecodeError if the context has no room.
        """
        context = self._model.context
        read_prompt(context, 0, prompt)
        rows = [context.logits().astype(np.float64)]
        for token in answer[:-1]:
            context.decode([Chunk(0, (token,), 1)])
            rows.append(context.logits().astype(np.float64))
        return list(log_softmax(rows, axis=-1))


@dataclass(frozen=True, slots=True)
class Cause:
    """Why an answer differs, and the evidence in a line."""

    kind: CauseKind
    detail: str


@dataclass(frozen=True, slots=True)
class _Message:
    """An answer as a client gets it: the names and arguments of its calls, and its words."""

    calls: tuple[tuple[str, Json], ...]
    content: str

    @classmethod
    def of(cls, raw: str) -> "_Message":
        """Restore a server's answer from its stored text (`StreamedAnswer.raw`)."""
        if raw.startswith('{"content": '):
            value: Any = parse_json(raw)
            calls = tuple((call["name"], call["arguments"]) for call in value.get("tool_calls", ()))
            return cls(calls, value["content"])
        return cls((), raw)


def attribute(
    request: Request, mine: Prediction, theirs: Prediction, reference: ReferenceModel, served: ServedModel
) -> Cause:
    """Return the first cause why the server's answer to a request differs from the file's."""
    if theirs.error in SERVER:
        return _fault(f"{theirs.error}: {theirs.error_detail}")
    try:
        return next(filter(None, _Evidence(request, mine, theirs, reference, served).causes()))
    except TemplateError as error:
        return Cause("prompt", f"the file's template refuses the messages: {error}")
    except (ServerFault, DecodeError) as error:
        return _fault(f"it could not be asked again: {error}")


def _fault(text: str) -> Cause:
    """Return the cause of an answer that is none: a server that loses calls parses them wrongly."""
    return Cause("calls", f"calls are lost: {text}") if NO_CALLS in text else Cause("server fault", text)


@dataclass
class _Evidence:
    """The evidence on one request: the file's answer, the server's, and what further requests show."""

    request: Request
    mine: Prediction
    theirs: Prediction
    reference: ReferenceModel
    served: ServedModel

    def __post_init__(self) -> None:
        self.ids, self.body = self.reference.prompt(self.request), self.served.body(self.request)
        self.whole, self.inside = self.served.whole(self.body)
        self.message = _Message.of(self.theirs.raw)

    def causes(self) -> Iterator[Cause | None]:
        """Yield each possible cause in order, or None where it does not apply. The last always applies."""
        yield self.prompt()
        yield self.sampler()
        if self.theirs.error is ErrorKind.CONTEXT or self.inside.get("truncated"):
            yield Cause("context", self.theirs.error_detail or "the server ended the answer before its end")
        if what := self.mangled():
            yield Cause("calls", what)
        mark, thought = THINKING.search(self.message.content), self.mine.reasoning[:40]
        if mark or (thought and thought in self.message.content):
            yield Cause("reasoning", f"{mark[0] if mark else 'what was thought'} is in the answer")
        if thought and not self.theirs.reasoning and thought in str(self.inside.get("content")):
            yield Cause("reasoning", "what was thought is lost")
        yield self.weights()
        yield self.choice()

    def prompt(self) -> Cause | None:
        """Return a cause if the server's prompt is another or was cut, with the difference."""
        count = self.theirs.usage.prompt_tokens or self.whole.tokens("prompt_tokens")
        text: str | None = self.inside.get("prompt")
        ids: Sequence[int] | None = None if text is None else self.reference.tokenizer.template(text)
        if ids is None:
            dialect, client = self.served.dialect, self.served.client
            ids = dialect.tokens(client, self.body)
            if ids is None and (rendered := dialect.prompt(client, self.body)) is not None:
                ids = self.reference.tokenizer.template(rendered)
            if ids is not None and count in (0, len(ids)):
                text = self.reference.text(ids)
        if text is None:
            return self._counted(count)
        if list(ids or ()) in (self.ids, self.ids[1:]):
            return self._counted(count) if "prompt" in self.inside else None
        mine = self.reference.text(self.ids)
        kind, what = self._difference(mine, text)
        place = common(mine, text)
        here = slice(max(place - 20, 0), place + 40)
        return Cause(kind, f"{what}; the file reads {mine[here]!r}, the server {text[here]!r}")

    def _counted(self, count: int) -> Cause | None:
        """Return a cause that shows in the prompt's number of tokens alone."""
        length = len(self.ids)
        if count in (0, length, length - 1):
            return None
        bare = {name: value for name, value in self.body.items() if name != "tools"}
        if "tools" in self.body and self.served.count(bare) == count:
            return Cause("prompt", f"the tools are missing: {count} tokens with or without, not {length}")
        n_ctx = self.served.identity.n_ctx
        if n_ctx and count < length and length + self.served.settings.max_tokens > n_ctx:
            return Cause("context", f"{count} of {length} tokens are left in a context of {n_ctx}")
        return Cause("prompt", f"{count} tokens, not {length}: another template, or messages were lost")

    def _difference(self, mine: str, theirs: str) -> tuple[CauseKind, str]:
        """Describe how the server's prompt differs from the file's."""
        tools = [tool for tool in self.request.tools if tool.name in mine]
        missing = [tool.name for tool in tools if tool.name not in theirs]
        if missing:
            if all(_plain(name) in _plain(theirs) for name in missing):
                return "prompt", f"tools are renamed: {', '.join(missing[:3])}"
            which = "the tools are missing" if len(missing) == len(tools) else "tools are missing"
            return "prompt", f"{which}: {', '.join(missing[:3])}"
        texts = [(number, *_shown(message)) for number, message in enumerate(self.body["messages"])]
        messages = [(number, role, text) for number, role, text in texts if text and text in mine]
        lost = [message for message in messages if message[2] not in theirs]
        if theirs.count('\\"') > mine.count('\\"'):
            return "prompt", "arguments of earlier calls are encoded twice"
        if lost and any(theirs.count(sign) > mine.count(sign) for sign in _ESCAPES):
            return "prompt", "text is escaped"
        if mine.casefold() == theirs.casefold():
            return "prompt", "upper and lower case are other"
        letters, others = "".join(mine.split()), "".join(theirs.split())
        if letters == others:
            return "prompt", "white space is other"
        if sorted(letters) == sorted(others):
            return "prompt", "parts of it are in another order"
        words, other = Counter(mine.split()), Counter(theirs.split())
        removed, added = list(words - other), list(other - words)
        if any(tool.description in mine and tool.description not in theirs for tool in tools):
            return "prompt", "descriptions of tools are missing or others"
        if not removed:
            return "prompt", f"something is added: {_begin(added)}"
        if lost:
            return _lost(lost, messages, theirs)
        what = f"something is missing: {_begin(removed)}"
        if added:
            what = f"another template, or other roles: {_begin(removed)} became {_begin(added)}"
        return "prompt", what

    def sampler(self) -> Cause | None:
        """Return a cause if the server samples with other settings than requested, or greedy answers vary."""
        settings = self.inside.get("settings")
        if isinstance(settings, dict):
            asked: JsonObject = {**_NEUTRAL, **self.served.fields}
            asked |= {name: self.body[name] for name in ("seed", "max_tokens") if name in self.body}
            for name, value in asked.items():
                actual: Any = settings.get(name, value)
                if isinstance(value, int | float) and abs(actual - value) > 1e-3:
                    return Cause("sampler", f"{name} is {actual:g}, not {value:g} as asked for")
            if settings.get("logit_bias") and "logit_bias" not in self.body:
                return Cause("sampler", "tokens have a bias that nobody asked for")
            stops = {*(settings.get("stop") or ())}.difference(self.reference.tokenizer.specials)
            if end := next((stop for stop in sorted(stops) if stop in self.mine.raw), None):
                return Cause("sampler", f"answers end at {end!r}, which nobody asked for")
            if self.body.get("tool_choice") == "required" and settings.get("grammar_lazy"):
                return Cause("sampler", "tool_choice is not required, as was asked for")
        elif self.served.is_greedy and self.served.whole(self.body)[0].raw != self.whole.raw:
            return Cause("sampler", "two answers to one request differ, though temperature 0 was asked for")
        return None

    def mangled(self) -> str | None:
        """Describe how the server changed calls or words between the model's text and the answer, or None.

        If the server shows the text before parsing, text and answer come from one generation.
        """
        text, whole = self.inside.get("content"), _Message.of(self.whole.raw)
        if "two calls have one index" in self.theirs.notes:
            return "several calls have one index"
        if text is None:
            return self._mangling(self.mine.raw, self.message, is_same=False)
        if (what := self._mangling(text, whole, is_same=True)) or whole == self.message:
            return what
        streamed = _Message.of(self.served.streamed({**self.body, **self.served.dialect.insight}).raw)
        if streamed == whole or self.served.whole(self.body)[0].raw != self.whole.raw:
            return None
        what = self._mangling(text, streamed, is_same=True)
        return f"{what or 'the answer is another'}, but only where it is streamed"

    def _mangling(self, text: str, message: _Message, *, is_same: bool) -> str | None:
        """Describe how a message differs from the model's text, or None.

        With `is_same` the message was made from this very text; else from one that may differ.
        """
        reading = self.reference.read(self.request, text)
        expected = reading.calls if reading else ()
        for mark in self.reference.tokenizer.specials:
            if mark in message.content and mark not in text:
                return f"the special token {mark} is in the text"
        if not self.served.takes_tools:  # calls are words, too
            return "the text is changed" if is_same and text.strip() != message.content.strip() else None
        if len(message.calls) < len(expected):
            names = {call.name for call in expected}
            if not message.calls and reading and reading.form.startswith(LEAKED):
                return f"a call is lost in parsing: {reading.form.removeprefix(LEAKED)}"
            if not message.calls and CALL.search(message.content):
                return "a call is left in the text"
            if any("}{" in str(arguments).replace(" ", "") for _, arguments in message.calls):
                return "several calls are merged into one"
            is_bare = bool(message.calls) or not message.content.strip()
            if is_same or (is_bare and {name for name, _ in message.calls} <= names):
                return f"{len(expected) - len(message.calls)} of {len(expected)} calls are lost"
            return None
        for call, (name, arguments) in zip(expected, message.calls, strict=False):
            if what := _changed(call.name, call.arguments, name, arguments, is_same=is_same):
                return what
        if reading and is_same and len(message.calls) > len(expected) and (expected or not CALL.search(text)):
            return f"calls are added: {len(message.calls)} instead of {len(expected)}"
        if reading and expected and reading.content and not message.content.strip():
            return "words beside calls are lost"
        is_plain = not any(mark.search(text + message.content) for mark in (CALL, THINKING))
        if reading and is_same and is_plain and reading.content.strip() != message.content.strip():
            return f"the words are changed: {reading.content[:30]!r} became {message.content[:30]!r}"
        return None

    def weights(self) -> Cause | None:
        """Return a cause if the likeliest tokens after the same prompt have other probabilities."""
        scored = self.served.dialect.scored(self.served.client, self.body, self.ids, PLACES)
        mean = self._divergence(self.ids, scored)
        if mean > NOISE:
            return Cause("weights", f"log-probabilities after the same prompt diverge by {mean:.3f} nats")
        return None

    def _divergence(self, prompt: Sequence[int], scored: Sequence[ScoredToken]) -> float:
        """Return the mean divergence of the file's distributions after a prompt from the server's (nats)."""
        tokens = list(takewhile(lambda token: token is not None, (self._id(place.token) for place in scored)))
        if not tokens:
            return 0.0
        rows = self.reference.logprobs(prompt, cast(list[int], tokens))
        likeliest = ({self._id(token): value for token, value in place.likeliest.items()} for place in scored)
        return float(np.mean([_divergence(*pair) for pair in zip(likeliest, rows, strict=False)]))

    def choice(self) -> Cause:
        """Return why the answers part after the same prompt and with the same weights, such as by a tie."""
        answer, mine = self.inside.get("tokens") or [], self.mine.token_ids
        parting = common(answer, mine)
        if not self.served.is_greedy:
            return Cause("chance", "the same prompt, settings and weights: other draws")
        if parting == min(len(answer), len(mine)):
            if what := self._mangling(self.mine.raw, self.message, is_same=False):
                return Cause("calls", f"{what}, but not when asked again")
            return Cause("chance", "a tie: asked again, the server answers as the file does")
        prefix = [*self.ids, *answer[:parting]]
        [row] = self.reference.logprobs(prefix, answer[parting : parting + 1])
        gap = row.max() - row[answer[parting]]
        scored = self.served.dialect.scored(self.served.client, self.body, prefix, 1)
        if (apart := self._divergence(prefix, scored)) > 5 * NOISE:
            return Cause("weights", f"log-probabilities where the answers part diverge by {apart:.3f} nats")
        free = self._id(scored[0].token) if scored else None
        settings: Any = self.inside.get("settings") or {}
        if free is not None and free != answer[parting] and settings.get("grammar"):
            if "tool_choice" not in self.body and not settings.get("grammar_lazy", True):
                return Cause("sampler", "answers are held to a grammar that nobody asked for")
            return Cause("grammar", "the server's grammar held a call to the tools; it answers alike without")
        if gap <= GAP:
            return Cause("chance", f"a tie: what the answers part in is {gap:.2f} nats less likely")
        return Cause("sampler", f"a token was chosen that is {gap:.1f} nats less likely than the likeliest")

    def _id(self, token: int | bytes) -> int | None:
        if isinstance(token, int):
            return token
        ids = self.reference.tokenizer.template(token.decode("utf-8", "replace"))
        return ids[0] if len(ids) == 1 else None


def _shown(message: JsonObject) -> tuple[str, str]:
    """Return a message's role and words; without words, the arguments of its first call."""
    calls: Any = message.get("tool_calls") or [{"function": {"arguments": ""}}]
    return str(message["role"]), str(message.get("content") or calls[0]["function"]["arguments"])


def _lost(
    lost: Sequence[tuple[int, str, str]], messages: Sequence[tuple[int, str, str]], theirs: str
) -> tuple[CauseKind, str]:
    """Return the cause why messages are not in the server's prompt. A cut removes adjacent messages."""
    (number, role, text), rest = lost[0], theirs
    for message in messages:
        rest = rest.replace(message[2], "")
    part = max(len(text) // 4, 8)
    if len(text) > 2 * part and (text[:part] in rest) != (text[-part:] in rest):
        return "context", f"a message is cut: {text[:40]!r}"
    if role == "system":
        return "prompt", "the system prompt is missing, or another"
    roles, first = {role for _, role, _ in lost}, messages.index(lost[0])
    is_piece = list(lost) == list(messages[first : first + len(lost)]) and lost[-1] != messages[-1]
    if is_piece and ("user" in roles or len(roles) > 1) and (number < 2 or len(lost) > 1):
        place = "the oldest messages are" if number < 2 else "messages in the middle are"
        return "context", f"{place} cut"
    name = {"tool": "a result of a tool", "assistant": "an earlier message"}.get(role, "a message")
    return "prompt", f"{name} is missing or another: {text[:40]!r}"


def _changed(name: str, arguments: Json, their_name: str, theirs: Json, *, is_same: bool) -> str | None:
    """Describe how a call was changed on its way; None if it was not or, unless `is_same`, is another one."""
    if their_name != name:
        if _plain(their_name) == _plain(name) or is_same:
            return f"the tool {name} is called {their_name}"
        return None
    if not isinstance(theirs, str):
        return "arguments are an object, not text"
    try:
        value = read_answer(theirs) if theirs.strip() else {}
    except AnswerError:
        begin = theirs.strip()[:20].replace(" ", "")[:8]
        is_begun = json.dumps(arguments, ensure_ascii=False).replace(" ", "").startswith(begin)
        return "arguments are cut or changed on the way" if is_begun or is_same else None
    if isinstance(value, str):
        return "arguments are encoded twice"
    if not isinstance(value, dict) or not isinstance(arguments, dict):
        return None
    if value == arguments:
        return None if list(value) == list(arguments) else "arguments are in another order"
    texts, other = ([str(item) for item in of.values()] for of in (arguments, value))
    if sorted(texts) == sorted(other):
        return "arguments are renamed" if value.keys() != arguments.keys() else "values have other types"
    mine = json.dumps(arguments, ensure_ascii=False)
    if "\ufffd" in theirs or theirs.encode("ascii", "ignore") == mine.encode("ascii", "ignore"):
        return "characters are changed"
    return "arguments are changed on the way" if is_same else None


def _plain(name: str) -> str:
    """Return a text in lower case without separators, so that names in different styles compare equal."""
    return re.sub(r"[\W_]", "", name).lower()


def _begin(words: Sequence[str]) -> str:
    return repr(" ".join(words[:6])[:60])


def _divergence(likeliest: dict[int | None, float], row: npt.NDArray[np.float64]) -> float:
    """Return the divergence of the file's distribution from the server's, over the tokens named, in nats."""
    likely = {token: value for token, value in likeliest.items() if token is not None}
    theirs, mine = np.exp(list(likely.values())), np.exp(row[list(likely)])
    theirs, mine = (np.append(shares, max(1 - shares.sum(), 1e-9)) for shares in (theirs, mine))
    return float((theirs * np.log(theirs / np.maximum(mine, 1e-12))).sum())
