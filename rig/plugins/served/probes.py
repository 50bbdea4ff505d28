"""Connecting to a server: finding its dialect and model, and its faults by small requests."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from time import monotonic

from rig.core.budget import parse_json
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.models import Notify, Request, StepKey, ToolDoc, UserMessage
from rig.core.registry import registered
from rig.plugins.served.answers import CALL, StreamedAnswer
from rig.plugins.served.dialects.base import Dialect
from rig.plugins.served.model import ServedModel, identify
from rig.plugins.served.settings import ServedSettings
from rig.plugins.served.wire.address import Address
from rig.plugins.served.wire.client import HttpClient, ServerFault

ECHO = 'é "quoted" {"list": [1, [2]]} 東京'
"""The text that a model is asked to pass to a tool, with non-ASCII letters, quotes and brackets."""
_TEXTS = f"Use the tool repeat_text with exactly this text: {ECHO}", "Hello, who are you?"
INSTRUCTIONS = "You are a helpful assistant; this is a probe."
MOST_CONTEXT = 40_000
"""The largest context, in tokens, that is probed with prompts of its size."""
PROBING_S = 20.0
"""The most seconds of probes before a run, without `--thorough`."""
REFUSED_S = 5.0
"""Seconds within which a server refuses a prompt that is too long. To cut and read it can take minutes."""
THINKING = re.compile(r"</?think>|<\|channel\|>|\[/?THINK\]|<\|(?:START|END)_THINKING\|>")
_SPECIAL = re.compile(r"<\|[a-z_]+\|>|</s>|<end_of_turn>")
_TOOL = ToolDoc(
    "repeat_text",
    "Repeats a text, letter by letter.",
    {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)


@dataclass(frozen=True, slots=True)
class ProbeFinding:
    """One thing that a server does wrong."""

    name: str
    fault: str

    @property
    def advice(self) -> str:
        """What the fault does to scores, and how to mend it."""
        return _ADVICE[self.name]


def load(url: str, settings: ServedSettings, notify: Notify, *, probing: bool = False) -> ServedModel:
    """Connect to a server and find its dialect and model; with `probing`, its faults too. Raises RigError."""
    address = Address.parse(url)
    client = HttpClient(address, settings.timeout, lambda text: notify(f"{address}: {text}"))
    try:
        client.find()
        if not address.is_here:
            notify(f"{address}: prompts leave this machine, for {address.host}")
        dialect = _dialect(client, settings.dialect)
        model = ServedModel(client, dialect, identify(client, dialect), settings, notify)
        for line in (model.line, *model.adaptations):
            notify(f"{address}: {line}")
        if probing:
            _probe(model, notify)
        client.tell = _silent  # in a run, threads that wait say so themselves
        return model
    except BaseException as error:
        client.close()
        if isinstance(error, ServerFault):
            remedy = "try again once it is ready" if error.is_busy else "see whether the server is at work"
            raise RigError(f"{address.origin}: {error}; {remedy}") from error
        raise


def _silent(_: str) -> None:
    pass


def _dialect(client: HttpClient, name: str | None) -> Dialect:
    dialects: Mapping[str, type[Dialect]] = registered().dialects
    if name is not None:
        return dialects[name]()
    for candidate in dialects:
        dialect = dialects[candidate]()
        if dialect.recognises(client):
            return dialect
    raise RigError(
        f"{client.address.origin}: none of {', '.join(dialects)}; if it answers like one, --dialect NAME"
    )


def _probe(model: ServedModel, notify: Notify) -> None:
    """Report the server's faults with their remedies. The requests belong to no conversation."""
    settings = replace(settings_for_probes(model.settings), format=model.settings.format, thinking_tokens=0)
    tried, client = ServedModel(model.client, model.dialect, model.identity, settings, notify), model.client
    client.deadline = inf if settings.thorough else monotonic() + PROBING_S
    try:
        for finding in dict.fromkeys(probe(tried, lambda what: notify(f"{model.name}: probes {what}"))):
            notify(f"{model.name}: {finding.name}: {finding.fault}; {finding.advice}")
        is_late = monotonic() > client.deadline
    except ServerFault as fault:
        is_late = monotonic() > client.deadline
        if not is_late:
            notify(f"{model.name}: probing it failed: {fault}")
    client.deadline = inf
    if is_late:
        notify(
            f"{model.name}: not all was probed in {PROBING_S:g} s; --thorough asks all, however long it takes"
        )


def probe(served: ServedModel, tell: Notify | None = None) -> Iterator[ProbeFinding]:
    """Yield the faults that small requests show, one by one. Raises ServerFault.

    With `tell`, which is told what is probed, a nearly full context and a second answer are left out unless
    the settings are `thorough`: they take more than seconds.
    """
    quickly, tell = tell is not None and not served.settings.thorough, tell or _silent
    if served.takes_tools:
        tell("whether the model sees tools")
        yield from _tools(served)
    tell("what happens to a prompt that is too long")
    yield from _context(served, quickly=quickly)
    tell("whether temperature and seed hold")
    yield from _sampling(served)
    if served.takes_tools:
        tell("whether calls arrive as they are written")
        yield from _answers(served, _TEXTS[:1] if quickly else _TEXTS)


def settings_for_probes(settings: ServedSettings) -> ServedSettings:
    """Return settings for short greedy answers. Requests have tools whatever the server says about itself."""
    plain = replace(settings, format="native", thinking="auto", tool_choice="auto")
    return replace(plain, temperature=0.0, sampling=None, max_tokens=64)


def _request(text: str, *, tools: bool = True) -> Request:
    docs = (_TOOL,) if tools else ()
    return Request(StepKey("probe"), INSTRUCTIONS, docs, "", (UserMessage(text),), several_calls=True)


def _tools(served: ServedModel) -> Iterator[ProbeFinding]:
    """Check that the model sees the tools: prompts with and without them must differ in length."""
    count, bare = (served.count(served.body(_request("Hello.", tools=on))) for on in (True, False))
    if count and count <= bare + 5:
        yield ProbeFinding(
            "tools", f"a prompt has {count} tokens with a tool, and {bare} without: the model never sees it"
        )


def _context(served: ServedModel, *, quickly: bool) -> Iterator[ProbeFinding]:
    """Check that a prompt that fits is read whole, and a longer one is refused instead of cut silently."""
    n_ctx, patience = served.identity.n_ctx, served.client.timeout_s
    if not n_ctx or n_ctx > MOST_CONTEXT:
        return
    for size in (int(1.2 * n_ctx), *([] if quickly else [int(0.8 * n_ctx)])):
        text, count = f"The word is zebra. {'one ' * size}Which word?", size
        served.client.timeout_s = min(patience, REFUSED_S) if quickly else patience
        with suppress(ServerFault):
            count = served.count(served.body(_request(text, tools=not served.takes_tools)))
        served.client.timeout_s = patience
        if count < size:
            yield ProbeFinding(
                "context", f"{size} tokens are cut silently to {count}, in a context of {n_ctx}"
            )


def _sampling(served: ServedModel) -> Iterator[ProbeFinding]:
    """Check that temperature 0 is greedy, and that a seed repeats an answer."""
    request = _request("Tell me a story about a lighthouse.", tools=not served.takes_tools)
    body = {**served.body(request), "max_tokens": 16}
    settings = served.whole(body)[1].get("settings")
    temperature = settings.get("temperature") if isinstance(settings, dict) else None
    if isinstance(temperature, int | float) and temperature > 0:
        yield ProbeFinding("sampler", f"temperature 0 becomes {temperature:g}")
    elif len({served.whole(body)[0].raw for _ in range(3)}) > 1:
        yield ProbeFinding("sampler", "three answers at temperature 0 differ")
    drawn = {**body, "temperature": 1.5, "seed": 7}
    if served.whole(drawn)[0].raw != served.whole(drawn)[0].raw:
        yield ProbeFinding("seed", "two answers with one seed differ")


def _answers(served: ServedModel, texts: Sequence[str]) -> Iterator[ProbeFinding]:
    """Check answers for what should not be in them, and that a streamed answer equals the whole one."""
    for text in texts:
        body = served.body(_request(text))
        whole, inside = served.whole(body)
        streamed = served.streamed({**body, **served.dialect.insight})
        yield from _faults_of(whole, inside)
        if served.is_greedy and whole.raw != streamed.raw and served.whole(body)[0].raw == whole.raw:
            what = f"the streamed answer {streamed.raw[:60]!a} is not the whole one {whole.raw[:60]!a}"
            yield ProbeFinding("stream", what)


def _faults_of(answer: StreamedAnswer, inside: JsonObject) -> Iterator[ProbeFinding]:
    raw = str(inside.get("content"))
    if not answer.calls and CALL.search(answer.content):
        yield ProbeFinding("calls", f"a call is left in the text: {answer.content[:60]!a}")
    if answer.calls and raw.count('"name"') > len(answer.calls):
        yield ProbeFinding("several calls", "of several calls some are lost")
    for call in answer.calls if answer.finish != "length" else ():
        value: object = None
        with suppress(ValueError, RecursionError, TypeError):
            value = parse_json(call.arguments)
        if not isinstance(value, dict):
            what = "encoded twice" if isinstance(value, str) else "not JSON text"
            yield ProbeFinding("arguments", f"arguments are {what}")
        elif "東京" in raw and "東京" not in str(value):
            yield ProbeFinding("arguments", "letters beyond ASCII are changed")
    if mark := THINKING.search(answer.content):
        yield ProbeFinding("reasoning", f"thoughts are in the answer ({mark[0]})")
    if mark := _SPECIAL.search(answer.content[-20:]):
        yield ProbeFinding("stop token", f"answers end with {mark[0]}")


_ADVICE = {
    "tools": "every call is a guess, and recall falls to nothing; give the server a chat template that has"
    " tools (llama-server: --jinja --chat-template-file)",
    "context": "long conversations lose their tools or their beginning; raise the server's context"
    " (--ctx-size, num_ctx), and have it refuse what does not fit",
    "sampler": "scores are those of sampled answers, and change from run to run; see to it that the server"
    " passes the request's settings on (a proxy, a preset of the model)",
    "seed": "samples cannot be repeated, and repeats of a run are new draws; update the server, or serve one"
    " request at a time",
    "stream": "calls lose characters or arguments; update the server, whose parser of streams is at fault",
    "calls": "calls count as replies, and recall falls; start the server with the parser of the model's"
    " family, or use --format rig",
    "several calls": "recall falls; update the server",
    "arguments": "calls are invalid, or have wrong values; update the server",
    "reasoning": "replies are read with their thoughts; have the server split them (llama-server:"
    " --reasoning-format deepseek)",
    "stop token": "texts never match word for word; give the server the model's own template and end token",
}
"""What each fault does to scores, and how to mend it."""
