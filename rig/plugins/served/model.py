"""A served model: it sends requests over HTTP, several at once, and reads the answers as predictions."""

import hashlib
import json
import queue
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from threading import Thread
from time import monotonic, perf_counter, sleep
from typing import Any, TypeAlias

from rig.config.engine import CHOICES, assignments
from rig.core.calls import Json, JsonObject
from rig.core.errors import SERVER, ErrorKind, Halted, RigError, counted
from rig.core.models import (
    Model,
    Notify,
    OnPiece,
    OnRead,
    PendingStep,
    Piece,
    Prediction,
    Request,
    Usage,
    halted_step,
    unheard,
)
from rig.core.registry import registered
from rig.plugins.llama.core.settings import DEFAULT_THOUGHTS
from rig.plugins.llama.core.template import ChatTemplate
from rig.plugins.llama.files.sampling import sampling_for_server
from rig.plugins.llama.formats import leaks
from rig.plugins.llama.formats.base import AnswerFormat, PlainFormat, RigFormat, chosen_tools, prediction
from rig.plugins.llama.formats.probe import check_variables
from rig.plugins.llama.prompt import conversation
from rig.plugins.served.answers import ServedFormat, StreamedAnswer
from rig.plugins.served.dialects.base import Dialect, Identity
from rig.plugins.served.settings import ServedSettings
from rig.plugins.served.wire.client import PAUSES_S, HttpClient, ServerFault, Unreachable

CHAT = "/v1/chat/completions"
TRIES = 3
"""How often a step is requested if the connection breaks or the server reports a failure."""
MOST_FAULTS = 5
"""After this many failed steps in a row the arm is given up; stored turns are kept."""
CHECK_S = 10.0
"""After how many seconds rig checks again, before a turn, that the server has not changed."""
_BODY = 2**20
_BODY_PER_TOKEN = 4096
_RETRIED = (ErrorKind.CONNECTION, ErrorKind.HTTP_STATUS)
_PLAIN = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
"""The template used if the server does not show one: tool results become the user's words."""


class _Abandoned(Exception):
    """Nobody waits for this step any more."""


Happening: TypeAlias = Piece | Prediction | str | BaseException


def identify(client: HttpClient, dialect: Dialect) -> Identity:
    """Ask a server what it is. Raises RigError if it does not answer as its dialect should."""
    try:
        return dialect.identify(client, client.address.model)
    except (ServerFault, AttributeError, KeyError, TypeError, ValueError) as error:
        what = f"{client.address.origin}: it does not answer as {dialect.name} does"
        raise RigError(f"{what}: {error}; --dialect forces another") from error


class ServedModel(Model):
    """A model behind a server, which answers up to `slots` steps at once."""

    def __init__(
        self,
        client: HttpClient,
        dialect: Dialect,
        identity: Identity,
        settings: ServedSettings,
        notify: Notify,
    ) -> None:
        super().__init__(slots=_slots(settings, identity, None))
        if settings.thinking_tokens is None:
            settings = replace(settings, thinking_tokens=DEFAULT_THOUGHTS)
        self.name = str(client.address)
        self.client, self.dialect, self.identity, self.settings = client, dialect, identity, settings
        self._notify = notify
        self._sampling = sampling_for_server(settings)
        self.fields = dialect.sampling(self._sampling) if self._sampling else {}
        self._template = _template(identity)
        self._format = _format_class(settings, identity)
        self._forms: dict[object, ServedFormat | AnswerFormat] = {}
        self._happenings: queue.Queue[tuple[PendingStep, Happening]] = queue.Queue()
        self._jobs: dict[int, PendingStep] = {}
        self._faults, self._build, self._effect = 0, "", ""
        self._checked = monotonic()
        self._thinks = settings.thinking == "on" or (
            settings.thinking == "auto" and "think" in identity.template
        )
        self._extras = {**dialect.extras, **self._switches()}
        if chosen := self._chosen():
            switches: Any = self._extras.get("chat_template_kwargs") or {}
            self._extras["chat_template_kwargs"] = {**switches, **chosen}

    @property
    def line(self) -> str:
        """A description of the model and its server, in one line."""
        identity = self.identity
        size = f"{identity.n_ctx} tokens of context" if identity.n_ctx else "a context that it does not tell"
        tools = "tools in the request" if self.takes_tools else f"tools in words ({self._format.name})"
        build = " ".join(filter(None, (self.dialect.name, identity.build)))
        return f"{identity.model} by {build}, {size}, {tools}"

    @property
    def adaptations(self) -> tuple[str, ...]:
        """What rig, or the server's template, does to prompts that a person should know of."""
        effect = (self._effect,) if self._effect else ()
        if not self.takes_tools:
            return *effect, *self._template.adaptations
        is_dated = self._template.is_dated
        return *effect, *(["its template writes today's date, not the conversation's"] if is_dated else [])

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        """The server's identity and the settings that requests have."""
        settings, identity = self.settings, self.identity
        sampled: JsonObject = {"temperature": self._sampling.temp if self._sampling else "server"}
        if self._sampling is None or self._sampling.draws:
            sampled |= {"seed": settings.seed, "sampling": str(self._sampling or "author")}
        native = {
            "several_calls": settings.several_calls,
            "tool_choice": settings.tool_choice,
            "leaked_calls": settings.leaked or "strict",
            "leak_rules": leaks.RULES,
        }
        return {
            "engine": "served",
            "dialect": self.dialect.name,
            "server": identity.build,
            "file": identity.file,
            "served_model": identity.model,
            "n_ctx": identity.n_ctx,
            "chat_template_sha256": _digest(identity.template),
            "server_defaults_sha256": _digest(json.dumps(identity.defaults, sort_keys=True)),
            "prompt_format": f"{self._format.name}-{self._format.version}",
            "max_tokens": settings.max_tokens,
            "thinking": settings.thinking,
            **({"template_set": settings.template_set} if settings.template_set else {}),
            **({"thinking_tokens": settings.thinking_tokens} if self._thinks else {}),
            **(native if self.takes_tools else {}),
            **sampled,
            "n_seq": self.slots,
        }

    def prepare(
        self,
        opening: Request,
        slots: int | None,
        before: Mapping[str, Json] | None = None,
        on_read: OnRead = unheard,
    ) -> None:
        """Set how many requests are made at once, and check the tools. Raises RigError."""
        self._slots = _slots(self.settings, self.identity, slots)
        self.form(opening)

    def form(self, request: Request) -> ServedFormat | AnswerFormat:
        """Return the format that shows the tools of a request and reads the answers."""
        key = request.in_words, tuple(tool.name for tool in request.tools)
        form = self._forms.get(key)
        if form is None or form.tools != request.tools:
            if request.in_words:
                form = PlainFormat(request.tools, self._template)
            elif self.takes_tools:
                form = ServedFormat(request.tools, self.settings.leaked or "strict")
                chosen_tools(self.settings.tool_choice, request.tools)
            else:
                form = self._format(request.tools, "none", self._template)
            self._forms[key] = form
        return form

    def body(self, request: Request) -> JsonObject:
        """Return the body of a request, which asks for a streamed answer."""
        form, settings = self.form(request), self.settings
        offer = form.offer()
        words = "\n\n".join(filter(None, (request.instructions, offer.rules, offer.tools)))
        chat = conversation(request.context, form.write(request.messages), offer, words)
        if not self.takes_tools:
            chat = self._template.adapt(chat)
        body: JsonObject = {
            "model": self.identity.model,
            "messages": [message.shown("".join(message.parts)) for message in chat],
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": settings.max_tokens + (settings.thinking_tokens or 0 if self._thinks else 0),
            **self.fields,
            **self._extras,
        }
        if self._sampling is None or self._sampling.draws:
            body["seed"] = int.from_bytes(request.key.digest(settings.seed)[:4], "big") >> 1
        if offer.declarations:
            body["tools"] = list(offer.declarations)
            if settings.tool_choice in CHOICES[1:]:
                body["tool_choice"] = settings.tool_choice
            elif settings.tool_choice != "auto":
                body["tool_choice"] = {"type": "function", "function": {"name": settings.tool_choice}}
            if not self._several(request):
                body["parallel_tool_calls"] = False
        return body

    @property
    def takes_tools(self) -> bool:
        """Whether requests have tools, and answers have calls, in OpenAI's form."""
        return self._format is ServedFormat

    @property
    def is_greedy(self) -> bool:
        """Whether requests ask for the likeliest token at each place."""
        return self._sampling is not None and not self._sampling.draws

    def whole(self, body: JsonObject) -> tuple[StreamedAnswer, JsonObject]:
        """Ask for an unstreamed answer. Returns it and its inside (`Dialect.inside`). Raises ServerFault."""
        asked = {name: value for name, value in body.items() if name != "stream_options"}
        answer = StreamedAnswer()
        inside: JsonObject = {}
        for event, *_ in self._read(answer, {**asked, "stream": False, **self.dialect.insight}):
            inside = inside or self.dialect.inside(event)
        return answer, inside

    def streamed(self, body: JsonObject) -> StreamedAnswer:
        """Ask for a streamed answer, as in a run. Raises ServerFault."""
        answer = StreamedAnswer()
        for _ in self._read(answer, body):
            pass
        return answer

    def _read(
        self, answer: StreamedAnswer, body: JsonObject, tell: Notify | None = None
    ) -> Iterator[tuple[JsonObject, str, bool]]:
        """Ask for an answer. Yields each event with the text that it adds, and whether that is a thought.

        Raises ServerFault, unless only what follows the end of the answer is lost.
        """
        try:
            for event in self.client.stream(CHAT, body, _BODY + _BODY_PER_TOKEN * body["max_tokens"], tell):
                yield event, *answer.take(event)
        except ServerFault as fault:
            if answer.finish is None or fault.kind not in (ErrorKind.CONNECTION, ErrorKind.TIMEOUT):
                raise
        answer.settle()
        answer.end()

    def count(self, body: JsonObject) -> int:
        """Return how many tokens the server counts in the prompt of a request; 0 if it does not say."""
        return self.whole({**body, "max_tokens": 1})[0].tokens("prompt_tokens")

    def begin(self, slot: int, request: Request, on_piece: OnPiece) -> None:
        """Send a request in a thread, beside those of other slots."""
        job = self._jobs[slot] = PendingStep(slot, request, on_piece)
        Thread(target=self._work, args=(job,), daemon=True).start()

    def advance(self) -> list[tuple[int, Prediction]]:
        """Pass on what has arrived, after a short wait if need be. Raises RigError if the server is gone."""
        finished: list[tuple[int, Prediction]] = []
        try:
            job, happening = self._happenings.get(timeout=0.2)
            while True:
                if job is self._jobs.get(job.slot):
                    self._pass_on(job, happening, finished)
                job, happening = self._happenings.get_nowait()
        except queue.Empty:
            return finished
        except BaseException:
            self._jobs.clear()
            self.client.stop()
            raise

    def close(self) -> None:
        """Abandon all pending requests and close the connection."""
        self._jobs.clear()
        self.client.close()

    def _pass_on(
        self, job: PendingStep, happening: Happening, finished: list[tuple[int, Prediction]]
    ) -> None:
        if isinstance(happening, Piece):
            try:
                job.on_piece(happening)
            except Halted as halted:
                del self._jobs[job.slot]
                finished.append((job.slot, halted_step(halted)))
        elif isinstance(happening, str):
            self._notify(f"{self.name}: {happening}")
        elif isinstance(happening, BaseException):
            raise happening
        else:
            del self._jobs[job.slot]
            self._faults = self._faults + 1 if happening.error in SERVER else 0
            if self._faults >= MOST_FAULTS:
                raise RigError(
                    f"{self.name}: {counted(self._faults, 'answer')} in a row failed, the last with"
                    f" {happening.error}: {happening.error_detail}; what is stored stays; mend the server,"
                    " then `rig run --resume RUN --retry-failed` goes on"
                )
            finished.append((job.slot, happening))

    def _work(self, job: PendingStep) -> None:
        """Request a step and queue everything that happens. Runs in a thread."""

        def tell(happening: Happening) -> None:
            if self._jobs.get(job.slot) is not job:
                raise _Abandoned  # which closes the connection
            self._happenings.put((job, happening))

        try:
            if job.request.key.step == 0 and monotonic() - self._checked > CHECK_S:
                self._check()
            tell(self._answered(job.request, tell))
        except _Abandoned:
            return
        except BaseException as error:  # raised where the steps are taken on
            self._happenings.put((job, error))

    def _answered(self, request: Request, tell: Any) -> Prediction:
        for trial in range(1, TRIES + 1):
            answer, began = StreamedAnswer(), perf_counter()
            first: float | None = None
            fault: ServerFault | None = None
            try:
                for _, text, is_thought in self._read(answer, self.body(request), tell):
                    if text:
                        first = first or perf_counter()
                        tell(Piece(text, tokens=1, thought=is_thought))
            except Unreachable as error:
                fault = self._wait_for_server(error, tell)
            except ServerFault as error:
                fault = error
            if fault is None or fault.kind not in _RETRIED or trial == TRIES or fault.is_final:
                break
            tell(f"{fault}; asked again ({trial + 1} of {TRIES})")
        ended = perf_counter()
        usage = answer.used((first or ended) - began, ended - (first or ended))
        self._build = self._build or answer.build
        if answer.build and answer.build != self._build:
            self._check()
        return self._prediction(request, answer, usage, fault)

    def _wait_for_server(self, fault: ServerFault, tell: Any) -> ServerFault:
        """Wait a little for a server that cannot be reached. Raises RigError if it does not come back."""
        for pause in PAUSES_S:
            tell(f"{fault}; waiting {pause:g} s")
            sleep(pause)
            try:
                self.client.find()
            except RigError:
                continue
            self._check()
            return fault
        raise RigError(
            f"{self.name}: nobody answers there any more; what is stored stays: start the server again, and"
            " `rig run --resume RUN` goes on"
        )

    def _check(self) -> None:
        """Raise RigError if the server's identity has changed."""
        now = identify(self.client, self.dialect)
        self._checked = monotonic()
        changes = [
            f"{part.name} was {_short(was)}, is {_short(after)}"
            for part in fields(Identity)
            if (was := getattr(self.identity, part.name)) != (after := getattr(now, part.name))
        ]
        if changes:
            raise RigError(
                f"{self.name}: the server changed under the run: {'; '.join(changes)}; make it what it was"
                " and resume, or start a new run"
            )

    def _prediction(
        self, request: Request, answer: StreamedAnswer, usage: Usage, fault: ServerFault | None
    ) -> Prediction:
        failure = (fault.kind, str(fault)) if fault else None
        answer.settle()
        tokens, limit = answer.tokens("completion_tokens"), self.settings.max_tokens
        is_cut = answer.finish == "length" or (answer.finish is None and tokens >= limit)
        if failure is None and is_cut:
            failure = ErrorKind.TRUNCATED, f"incomplete after {tokens or limit} tokens"
            if 0 < tokens < limit:
                failure = ErrorKind.CONTEXT, f"the server ended the answer after {tokens} of {limit} tokens"
        form = self.form(request)
        return prediction(
            answer.raw,
            lambda: form.read(answer) if isinstance(form, ServedFormat) else form.read(answer.content),
            failure,
            several=self._several(request) and self._format is not RigFormat,
            reasoning=answer.reasoning,
            usage=usage,
        )

    def _several(self, request: Request) -> bool:
        return request.several_calls and self.settings.several_calls

    def _chosen(self) -> JsonObject:
        """Return the variables of the chat template that users set. Raises RigError if it reads none such."""
        chosen = assignments(self.settings.template_set)
        if chosen and self.dialect.thinking is not self.dialect.by_template:
            raise RigError(
                f"--template-set {self.settings.template_set}: {self.dialect.name} passes no variables to its"
                " template; leave it out"
            )
        if chosen and self.identity.template:
            self._effect = check_variables(self._template, chosen)
        return chosen

    def _switches(self) -> JsonObject:
        """Return the members that switch thinking on or off.

        Raises RigError if the dialect has no such switch, or ignores the setting of `tool_choice`.
        """
        if self.settings.tool_choice != "auto" and not (self.dialect.takes_tool_choice and self.takes_tools):
            raise RigError(
                f"--tool-choice {self.settings.tool_choice}: {self.dialect.name} ignores it; leave it out"
            )
        if self.settings.tool_choice not in CHOICES and not self.dialect.takes_tool_name:
            raise RigError(
                f"--tool-choice {self.settings.tool_choice}: {self.dialect.name} takes no tool's name; give"
                f" one of {', '.join(CHOICES)}"
            )
        if self.settings.thinking == "auto":
            return {}
        if self.dialect.thinking is None:
            raise RigError(f"--thinking: {self.dialect.name} has no switch in its API; set it in the program")
        return self.dialect.thinking[self.settings.thinking == "off"]


def _slots(settings: ServedSettings, identity: Identity, before: int | None) -> int:
    """Return how many requests to make at once: as set, or as earlier arms did, up to the server's slots."""
    slots = settings.parallel or before or 1
    return min(slots, identity.slots or slots)


def _format_class(settings: ServedSettings, identity: Identity) -> Any:
    formats = registered().formats
    if settings.format == "native" or (settings.format == "auto" and identity.takes_tools):
        return ServedFormat
    if settings.format in ("auto", *formats):
        return formats["rig" if settings.format == "auto" else settings.format]
    raise RigError(f"--format {settings.format}: a server takes native, or {', '.join(formats)}")


def _template(identity: Identity) -> ChatTemplate:
    try:
        return ChatTemplate(identity.template or _PLAIN)
    except RigError:
        return ChatTemplate(_PLAIN)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _short(value: Json) -> str:
    text = str(value)
    return repr(text if len(text) <= 60 else f"{text[:28]}...{_digest(text)[:8]}")
