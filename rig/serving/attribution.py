"""Why a served model answers otherwise than the same file in process: the first cause, in a fixed order.

Whatever the server is asked for this, it is asked by the route that answers take. The order is that in which
an answer comes about: prompt, sampler, context, calls, reasoning, weights. What none explains is chance.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from rig.calls import Json
from rig.engine.core.llama import DecodeError
from rig.engine.core.template import TemplateError
from rig.engine.formats.salvage import AnswerError, read_answer
from rig.errors import SERVER, ErrorKind
from rig.models import Prediction, Request
from rig.serving.model import ServedModel
from rig.serving.reference import ReferenceModel
from rig.serving.wire.client import ServerFault

CauseKind: TypeAlias = Literal[
    "prompt", "sampler", "context", "calls", "reasoning", "weights", "grammar", "chance", "server fault"
]
NOISE = 0.02
"""The mean divergence of the likeliest tokens, in nats, up to which weights count as the same.

On SmolLM2-135M, flash attention alone makes 0.004, a KV cache of q4_0 0.058.
"""
PLACES = 4
"""How many places of an answer are scored."""
GAP = 1.0
"""By how many nats less likely a token has to be for something else than a tie to have chosen it."""
_THINKING = ("<think>", "</think>", "<|channel|>", "[THINK]", "<|START_THINKING|>")
_CALL_MARKS = (
    "<tool_call",
    "[TOOL_CALLS]",
    "<|tool_call",
    "<function=",
    "<|python_tag|>",
    '{"name":',
    '"arguments":',
)


@dataclass(frozen=True, slots=True)
class Cause:
    """Why an answer differs, and what shows that, in a line."""

    kind: CauseKind
    detail: str


@dataclass(frozen=True, slots=True)
class _Message:
    """An answer as a client gets it: calls by name and arguments, and words."""

    calls: tuple[tuple[str, Json], ...]
    content: str

    @classmethod
    def of(cls, prediction: Prediction) -> "_Message":
        """What a server's answer was before rig read it."""
        if prediction.raw.startswith('{"content": '):
            value: Any = json.loads(prediction.raw)
            calls = tuple((call["name"], call["arguments"]) for call in value.get("tool_calls", ()))
            return cls(calls, value["content"])
        return cls((), prediction.raw)


def attribute(
    request: Request, mine: Prediction, theirs: Prediction, reference: ReferenceModel, served: ServedModel
) -> Cause:
    """The first cause that the server's answer to a request differs from the file's."""
    if theirs.error in SERVER:
        return Cause("server fault", f"{theirs.error}: {theirs.error_detail}")
    try:
        return next(filter(None, _Evidence(request, mine, theirs, reference, served).causes()))
    except TemplateError as error:
        return Cause("prompt", f"the file's template refuses the messages: {error}")
    except (ServerFault, DecodeError) as error:
        return Cause("server fault", f"it could not be asked again: {error}")


class _Evidence:
    """What is known of one answer, the file's and the server's, and what the server tells if asked again."""

    def __init__(
        self,
        request: Request,
        mine: Prediction,
        theirs: Prediction,
        reference: ReferenceModel,
        served: ServedModel,
    ) -> None:
        self.request, self.mine, self.theirs = request, mine, theirs
        self.reference, self.served = reference, served
        self.ids = reference.prompt(request)
        self.body = served.body(request)
        self.whole, self.inside = served.whole(self.body)
        self.message = _Message.of(theirs)

    def causes(self) -> Iterator[Cause | None]:
        """Each possible cause in its order, None where it is not one. The last always is."""
        yield self.prompt()
        yield self.sampler()
        if self.theirs.error is ErrorKind.CONTEXT or self.inside.get("truncated"):
            yield Cause("context", self.theirs.error_detail or "the server ended the answer before its end")
        if what := self.mangled():
            yield Cause("calls", what)
        mark = next((mark for mark in _THINKING if mark in self.message.content), None)
        if mark or (self.mine.reasoning and self.mine.reasoning[:40] in self.message.content):
            yield Cause("reasoning", f"{mark or 'what was thought'} is in the answer")
        yield self.weights()
        yield Cause("chance", "the same prompt, settings and weights: a tie, or the numbers of another build")

    def prompt(self) -> Cause | None:
        """Another prompt, or one that was cut, with what is other about it."""
        count = self.theirs.usage.prompt_tokens or self.whole.tokens("prompt_tokens")
        text: str | None = self.inside.get("prompt")
        ids: Sequence[int] | None = None if text is None else self.reference.tokens(text)
        if ids is None:
            dialect, client = self.served.dialect, self.served.client
            ids = dialect.tokens(client, self.body)
            if ids is None and (rendered := dialect.prompt(client, self.body)) is not None:
                ids = self.reference.tokens(rendered)
            if ids is not None and count in (0, len(ids)):
                text = self.reference.text(ids)
        if text is None:
            return self._counted(count)
        if list(ids or ()) in (self.ids, self.ids[1:]):
            return None
        mine = self.reference.text(self.ids)
        kind, what = self._difference(mine, text)
        place = next(
            (n for n, (a, b) in enumerate(zip(mine, text, strict=False)) if a != b), min(len(mine), len(text))
        )
        here = slice(max(place - 20, 0), place + 40)
        return Cause(kind, f"{what}; the file reads {mine[here]!r}, the server {text[here]!r}")

    def _counted(self, count: int) -> Cause | None:
        """A difference by the number of tokens alone."""
        length = len(self.ids)
        if count in (0, length, length - 1):
            return None
        bare = {name: value for name, value in self.body.items() if name != "tools"}
        if "tools" in self.body and self.served.count(bare) == count:
            return Cause(
                "prompt", f"the tools are missing: {count} tokens with and without them, not {length}"
            )
        n_ctx = self.served.identity.n_ctx
        is_full = n_ctx is not None and length + self.served.settings.max_tokens > n_ctx
        if is_full and count < length:
            return Cause("context", f"{count} of {length} tokens are left in a context of {n_ctx}")
        return Cause("prompt", f"{count} tokens, not {length}: another template, or messages were lost")

    def _difference(self, mine: str, theirs: str) -> tuple[CauseKind, str]:
        """What is other about a prompt, in words."""
        names = [tool.name for tool in self.request.tools if tool.name in mine]
        if names and not any(name in theirs for name in names):
            return "prompt", "the tools are missing"
        texts = [str(message.get("content") or "") for message in self.body["messages"]]
        lost = [text for text in texts if text and text in mine and text not in theirs]
        if lost and any(theirs.count(sign) > mine.count(sign) for sign in ("\\u00", "&lt;", "&amp;", "&#")):
            return "prompt", "text is escaped"
        if theirs.count('\\"') > mine.count('\\"'):
            return "prompt", "arguments of earlier calls are encoded twice"
        if lost and texts[0] in lost:
            return "prompt", "the system prompt is missing, or another"
        if lost and len(texts) > 2 and lost[0] == texts[1] and texts[-1] not in lost:
            return "context", "the oldest messages are cut"
        if lost:
            return "prompt", f"an earlier message is missing or another: {lost[0][:40]!r}"
        return "prompt", "something is added" if len(theirs) > len(mine) else "another template"

    def sampler(self) -> Cause | None:
        """Other settings of sampling than were asked for, or answers that differ from time to time."""
        settings = self.inside.get("settings")
        if isinstance(settings, dict):
            seed = {"seed": self.body["seed"]} if "seed" in self.body else {}
            asked: Mapping[str, Any] = {**self.served.fields, **seed}
            for name, value in asked.items():
                actual: Any = settings.get(name, value)
                if isinstance(value, int | float) and abs(actual - value) > 1e-3:
                    return Cause("sampler", f"{name} is {actual:g}, not {value:g} as asked for")
        elif self.served.is_greedy and self.served.whole(self.body)[0].raw != self.whole.raw:
            return Cause("sampler", "two answers to one request differ, though temperature 0 was asked for")
        return None

    def mangled(self) -> str | None:
        """What happened to calls and words between the model's text and the answer; None if nothing did."""
        text: str = self.inside.get("content", self.mine.raw)
        reading, message = self.reference.read(self.request, text), self.message
        expected = reading.calls if reading else ()
        leak = next(
            (mark for mark in self.reference.specials() if mark in message.content and mark not in text), None
        )
        if leak:
            return f"the special token {leak} is in the text"
        if len(message.calls) < len(expected):
            names = {call.name for call in expected}
            if not message.calls and any(mark in message.content for mark in _CALL_MARKS):
                return "a call is left in the text"
            if any("}{" in str(arguments).replace(" ", "") for _, arguments in message.calls):
                return "several calls are merged into one"
            if (message.calls or not message.content.strip()) and {
                name for name, _ in message.calls
            } <= names:
                return f"{len(expected) - len(message.calls)} of {len(expected)} calls are lost"
            return None
        for call, (name, arguments) in zip(expected, message.calls, strict=False):
            if what := _changed(call.name, call.arguments, name, arguments):
                return what
        if expected and reading and reading.content and not message.content.strip():
            return "words beside calls are lost"
        return None

    def weights(self) -> Cause | None:
        """Other likely tokens after the same prompt, or a choice that only the server's grammar explains."""
        served = self.served
        scored = served.dialect.scored(served.client, self.body, self.ids, PLACES)
        tokens: list[int] = []
        for place in scored:
            if (token := self._id(place.token)) is None:
                break
            tokens.append(token)
        if tokens:
            rows = self.reference.logprobs(self.ids, tokens)
            likeliest = (
                {self._id(token): value for token, value in place.likeliest.items()} for place in scored
            )
            mean = float(np.mean([_divergence(*pair) for pair in zip(likeliest, rows, strict=False)]))
            if mean > NOISE:
                return Cause("weights", f"log-probabilities after the same prompt diverge by {mean:.3f} nats")
        answer, mine = self.inside.get("tokens") or [], self.mine.token_ids
        parting = next((n for n, (a, b) in enumerate(zip(answer, mine, strict=False)) if a != b), None)
        if parting is not None and self.inside["settings"].get("grammar"):
            [row] = self.reference.logprobs([*self.ids, *answer[:parting]], answer[parting : parting + 1])
            if row.max() - row[answer[parting]] > GAP:
                return Cause("grammar", "the server's grammar held a call to the tools")
        return None

    def _id(self, token: int | bytes) -> int | None:
        if isinstance(token, int):
            return token
        ids = self.reference.tokens(token.decode("utf-8", "replace"))
        return ids[0] if len(ids) == 1 else None


def _changed(name: str, arguments: Json, their_name: str, theirs: Json) -> str | None:
    """How a call was changed on its way, None if it was not, or is another call altogether."""
    if their_name != name:
        is_same = re.sub(r"[\W_]", "", their_name).lower() == re.sub(r"[\W_]", "", name).lower()
        return f"the tool {name} is called {their_name}" if is_same else None
    if not isinstance(theirs, str):
        return None
    try:
        value = read_answer(theirs) if theirs.strip() else {}
    except AnswerError:
        begin = theirs.strip()[:20]
        is_begun = (
            json.dumps(arguments, ensure_ascii=False).replace(" ", "").startswith(begin.replace(" ", "")[:8])
        )
        return "arguments are cut or changed on the way" if is_begun else None
    if isinstance(value, str):
        return "arguments are encoded twice"
    if not isinstance(value, dict) or not isinstance(arguments, dict) or value == arguments:
        return None
    if sorted(map(str, value.values())) == sorted(map(str, arguments.values())):
        return "arguments are renamed"
    if "\ufffd" in theirs or theirs.encode("ascii", "ignore") == json.dumps(
        arguments, ensure_ascii=False
    ).encode("ascii", "ignore"):
        return "characters are changed"
    return None


def _divergence(likeliest: dict[int | None, float], row: npt.NDArray[np.float64]) -> float:
    """How far the file's distribution is from the server's, over the tokens that it names, in nats."""
    likely = {token: value for token, value in likeliest.items() if token is not None}
    theirs, mine = np.exp(list(likely.values())), np.exp(row[list(likely)])
    theirs, mine = (np.append(shares, max(1 - shares.sum(), 1e-9)) for shares in (theirs, mine))
    return float((theirs * np.log(theirs / np.maximum(mine, 1e-12))).sum())
