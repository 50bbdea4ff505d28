"""The process in which chat templates run: one question per line, one answer per line.

A template can loop forever, double a string until memory is gone, or crash the interpreter; in a separate
process, it harms nobody. One such process, limited and replaced when it dies, serves all templates. It is
never asked the same question twice: contents of messages are not part of the question, so most steps of a run
ask the same.

What templates can use is Jinja2's immutable sandbox, and what transformers adds to it
(`transformers.utils.chat_template_utils`), byte for byte; but the clock is the conversation's.
"""

import atexit
import json
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime
from functools import lru_cache
from typing import Any

import jinja2
import jinja2.ext
import jinja2.meta
import jinja2.nodes
import jinja2.parser
import jinja2.runtime
import jinja2.sandbox
import jinja2.utils

from rig.core.budget import parse_json
from rig.core.calls import Json, JsonObject

_MOST_ITEMS = 10_000
"""The most items of a list that a template makes for itself."""


def serve(seconds: int, memory: int, characters: int) -> None:
    """Answer questions until the input ends. Each may take this many seconds of computing."""
    # The terminal sends Ctrl-C to all processes; the one that asks decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_memory(memory)
    for line in sys.stdin:
        limit_time(seconds)
        begun = time.process_time()
        answer: JsonObject = dict(_answer(parse_json(line), characters))
        print(json.dumps({**answer, "took_s": time.process_time() - begun}), flush=True)


def limit_memory(size: int) -> None:
    """Limit this process to this many bytes of memory, where the system can limit it."""
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_time(seconds: int) -> None:
    """Limit this process to this many more seconds of computing; the kernel ends it when they are over."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + seconds + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (until, hard))


def _answer(question: JsonObject, characters: int) -> dict[str, str]:
    """Return the text that a template makes, or its fault; a template can raise anything."""
    try:
        if question.get("reads"):
            return {"text": json.dumps(variables_of(_environment(), question["source"]))}
        compiled = _Compiled(question["source"])
        text = compiled.render(question) if "messages" in question else ""
    except RecursionError:
        return {"fault": "it calls itself without end, as some do over parameters that can be null"}
    except MemoryError:
        return {"fault": "it wants too much memory"}
    except Exception as error:
        return {"fault": f"{type(error).__name__}: {error}"[:2_000]}
    if len(text) > characters:
        return {"fault": f"it makes a text of over {characters:,} characters"}
    return {"text": text}


def _environment() -> "_Sandbox":
    """Return what templates are compiled in."""
    extensions = [_GenerationTag, jinja2.ext.loopcontrols]
    environment = _Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
    environment.filters["tojson"] = _to_json
    # What is added to text that Jinja takes for safe is escaped for HTML, which no model was trained on.
    environment.filters["safe"] = str
    environment.globals.update(raise_exception=_raise, namespace=_Namespace, dict=_Dictionary())
    return environment


_DATES = (("datetime", "%b %d %Y"), ("date_string", "%d %b %Y"))
"""Variables that llama.cpp gives to templates besides `strftime_now`, and how it writes them."""


@lru_cache(maxsize=64)
class _Compiled:
    """A compiled template, and the values to give it. Raises what Jinja2 raises."""

    def __init__(self, source: str) -> None:
        environment = _environment()
        self._template = environment.from_string(source)
        undeclared = jinja2.meta.find_undeclared_variables(environment.parse(source))
        self._dates = [(name, form) for name, form in _DATES if name in undeclared]
        # Templates of FireFunction's age take declarations as text, and do not ask whether there are any.
        self._has_functions = "functions" in undeclared and "functions is defined" not in source

    def render(self, question: JsonObject) -> str:
        """Return what the template makes of messages and declarations. A template can raise anything."""
        tools = question["tools"]
        now = datetime.fromisoformat(question["now"])
        values = {"strftime_now": now.strftime, **question["given"]}
        for name, form in self._dates:
            values.setdefault(name, now.strftime(form))
        if tools:
            values["tools"] = _as_data(tools)
        if self._has_functions:
            values["functions"] = _to_json(tools, indent=4)
        return self._template.render(**values, messages=_as_data(question["messages"]))


class _Data(list[Any]):
    """A list given to a template, which cannot change it."""


def _as_data(value: Json) -> Json:
    """Return a copy of a JSON value whose lists cannot be changed."""
    if isinstance(value, Mapping):
        return {key: _as_data(inner) for key, inner in value.items()}
    return _Data(map(_as_data, value)) if isinstance(value, list) else value


class _Sandbox(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """The sandbox, except that a template may append to and pop from its own lists, as Kimi K2's does."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if type(obj) is list and attr in ("append", "pop"):
            return len(obj) < _MOST_ITEMS
        return super().is_safe_attribute(obj, attr, value)


class _GenerationTag(jinja2.ext.Extension):
    """`{% generation %}` marks what an assistant wrote, for training; it does not change the text."""

    tags = {"generation"}  # noqa: RUF012 - so jinja2 has it

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node | list[jinja2.nodes.Node]:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_pass_on"), [], [], body).set_lineno(line)

    def _pass_on(self, caller: jinja2.runtime.Macro) -> str:
        return caller()


class _Dictionary:
    """`dict`, with nothing but its constructors."""

    def __call__(self, *arguments: Any, **names: Any) -> dict[Any, Any]:
        return dict(*arguments, **names)

    def fromkeys(self, *arguments: Any) -> dict[Any, Any]:
        return dict.fromkeys(*arguments)


class _Namespace(jinja2.utils.Namespace):
    """`namespace`, without names that begin with an underscore."""

    def __init__(*arguments: Any, **names: Any) -> None:
        self, *rest = arguments
        fields = dict(*rest, **names)
        for name in fields:
            _refuse_hidden(name)
        jinja2.utils.Namespace.__init__(self, fields)

    def __setitem__(self, name: str, value: Any) -> None:
        _refuse_hidden(name)
        super().__setitem__(name, value)


def _refuse_hidden(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(f"a namespace takes no name that begins with _: {name!r}")


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Write plain JSON; Jinja's own filter sorts keys and escapes for HTML, which no model was trained on."""
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
        default=_drawn,
    )


def _drawn(value: Any) -> Json:
    """Return a list of what a filter such as `map` yields one by one, as llama.cpp does."""
    if isinstance(value, Iterator):
        return list(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _raise(message: str) -> Any:
    raise jinja2.TemplateError(message)


NO_CLOCK = datetime(2024, 7, 26)  # noqa: DTZ001 - no zone is meant
"""The date for conversations that have none, so that prompts, and so their answers, stay the same."""
_MOST_CONSTANTS = 16
"""The most constants of a variable that are kept."""


def variables_of(environment: jinja2.Environment, source: str) -> Mapping[str, JsonObject]:
    """Return the variables that a template reads: `values` are constants that each may have.

    `is_own` is whether the template sets it whatever it was, to remember something.
    """
    tree = environment.parse(source)
    names = sorted(jinja2.meta.find_undeclared_variables(tree))
    constants: dict[str, list[Json]] = {name: [] for name in names}
    for name, value in _constants(tree):
        values = constants.get(name)
        if (
            values is not None
            and len(values) < _MOST_CONSTANTS
            and not any(_same(value, one) for one in values)
        ):
            values.append(value)
    own = {name for assignment in tree.find_all(jinja2.nodes.Assign) for name in _names(assignment.target)}
    own |= {name for block in tree.find_all(jinja2.nodes.AssignBlock) for name in _names(block.target)}
    tests = [test for test in tree.find_all(jinja2.nodes.Test) if "defined" in test.name]
    of_macros = {
        id(part)
        for macro in tree.find_all(jinja2.nodes.Macro)
        for part in macro.find_all((jinja2.nodes.Test, jinja2.nodes.Filter))
        if {argument.name for argument in macro.args}.intersection(_names(part.node))
    }
    parts = (part for part in (*tests, *_defaults(tree)) if id(part) not in of_macros)
    asked = {name for part in parts for name in _names(part.node)}
    return {name: {"values": constants[name], "is_own": name in own - asked} for name in names}


def _same(one: Json, other: Json) -> bool:
    return type(one) is type(other) and one == other


def _constants(tree: jinja2.nodes.Template) -> Iterator[tuple[str, Json]]:
    """Yield names with constants: what they are compared with, their defaults, and what they are set to."""
    for compared in tree.find_all(jinja2.nodes.Compare):
        sides = [compared.expr, *(operand.expr for operand in compared.ops)]
        names = [name for side in sides for name in _names(side)]
        yield from ((name, value) for name in names for side in sides for value in _values(side))
    for default in _defaults(tree):
        yield from ((name, value) for name in _names(default.node) for value in _values(default.args[0]))
    for choice in tree.find_all(jinja2.nodes.CondExpr):
        branches = [branch for branch in (choice.expr1, choice.expr2) if branch is not None]
        names = [name for branch in branches for name in _names(branch)]
        yield from ((name, value) for name in names for branch in branches for value in _values(branch))
    for assignment in tree.find_all(jinja2.nodes.Assign):
        yield from ((name, value) for name in _names(assignment.target) for value in _values(assignment.node))


def _defaults(tree: jinja2.nodes.Template) -> list[jinja2.nodes.Filter]:
    return [
        part for part in tree.find_all(jinja2.nodes.Filter) if part.name in ("default", "d") and part.args
    ]


def _names(node: jinja2.nodes.Node | None) -> list[str]:
    """Return the name that an expression is, also below filters such as `lower`."""
    while isinstance(node, jinja2.nodes.Filter):
        node = node.node
    return [node.name] if isinstance(node, jinja2.nodes.Name) else []


def _values(node: jinja2.nodes.Node) -> list[Json]:
    """Return the constants that an expression is."""
    parts = node.items if isinstance(node, jinja2.nodes.List | jinja2.nodes.Tuple) else [node]
    values = [part.value for part in parts if isinstance(part, jinja2.nodes.Const)]
    return [value for value in values if value is None or isinstance(value, str | bool | int | float)]


SECONDS = 5
"""Seconds of computing for one question. Real templates take milliseconds."""
MEMORY_BYTES = 1 << 30
MOST_CHARACTERS = 4_000_000
"""The most characters that a template may make."""
MOST_KEPT = 20_000_000
"""The most characters of all questions and answers that are kept together."""
_PATIENCE_S = 120.0
"""The limit by the clock: a busy machine computes little in that time, and templates that sleep end too."""
_MOST_DEATHS = 2
"""How often a template may end its process before it is no longer run."""


PROBE_S = 10.0
"""Seconds of computing for all questions of a probe, of which there are about forty."""
_left: ContextVar[list[float] | None] = ContextVar("left", default=None)
"""The seconds that are left to the probe that goes on, if one does."""


@contextmanager
def probing() -> Iterator[None]:
    """A context in which templates may compute for `PROBE_S` in all, however often they are asked."""
    if _left.get() is not None:
        yield
        return
    token = _left.set([PROBE_S])
    try:
        yield
    finally:
        _left.reset(token)


class TemplateError(Exception):
    """A template does not compile, refuses or loses one of the messages, or exceeds its limits."""


def render(
    source: str,
    messages: Sequence[JsonObject] | None = None,
    tools: Sequence[JsonObject] = (),
    variables: Mapping[str, Json] | None = None,
    now: datetime | None = None,
) -> str:
    """Return what a template makes of messages and declarations with these variables. Raises TemplateError.

    Without messages, it is only compiled. `now` is the date that it can write.
    """
    question: JsonObject = {"source": source}
    if messages is not None:
        question |= {"messages": list(messages), "tools": list(tools), "given": dict(variables or {})}
        question["now"] = (now or NO_CLOCK).isoformat()
    if (left := _left.get()) is not None and left[0] <= 0:
        raise TemplateError(_BEYOND)
    text, fault = _answered(source, json.dumps(question))
    if fault:
        raise TemplateError(fault)
    return text


def reads(source: str) -> Mapping[str, JsonObject]:
    """Return the variables that a template reads (`variables_of`). Raises TemplateError."""
    text, fault = _answered(source, json.dumps({"source": source, "reads": True}))
    if fault:
        raise TemplateError(fault)
    variables: Mapping[str, JsonObject] = parse_json(text)
    return variables


class _Process:
    """A running process. It ends with the process that started it, whose end closes its input."""

    def __init__(self) -> None:
        begin = (
            f"import sys; sys.path[:] = {sys.path!r}; from rig.plugins.llama.core.process import serve;"
            f" serve({SECONDS}, {MEMORY_BYTES}, {MOST_CHARACTERS})"
        )
        self._child = subprocess.Popen(
            [sys.executable, "-c", begin],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="ascii",
        )

    def ask(self, question: str) -> str:
        """Ask a question and return the line that answers it; empty if the process died over it."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        stopped = threading.Timer(_PATIENCE_S, self._child.kill)
        stopped.start()
        try:
            self._child.stdin.write(f"{question}\n")
            self._child.stdin.flush()
            return self._child.stdout.readline()
        except OSError:
            return ""
        finally:
            stopped.cancel()

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._child.kill()
        self._child.communicate()


_lock = threading.Lock()
_processes: list[_Process] = []
_deaths: Counter[str] = Counter()
_kept = [0]
_BEYOND = (
    f"it was stopped: it wants more than {SECONDS} s of computing ({PROBE_S:g} s for all that rig asks at"
    f" first) or {MEMORY_BYTES >> 20} MiB of memory"
)


@atexit.register
def end() -> None:
    """End the process, if there is one; the next question starts another."""
    with _lock:
        while _processes:
            _processes.pop().end()


def _charge(seconds: float) -> None:
    if (left := _left.get()) is not None:
        left[0] -= seconds


@lru_cache(maxsize=512)
def _answered(source: str, question: str) -> tuple[str, str]:
    """Return (text, fault) for a question; a template repeats its faults as reliably as its texts."""
    with _lock:
        if _deaths[source] >= _MOST_DEATHS:
            return "", _BEYOND
        if not _processes:
            _processes.append(_Process())
        line = ""
        try:
            line = _processes[0].ask(question)
        finally:
            # An interrupt during the wait leaves a process that is about to answer; it cannot be reused.
            if not line.endswith("\n"):
                _processes.pop().end()
        if not line.endswith("\n"):
            _deaths[source] += 1
            _charge(SECONDS)
            return "", _BEYOND
        _kept[0] += len(line) + len(question)
        if _kept[0] > MOST_KEPT:
            _answered.cache_clear()
            _kept[0] = 0
    answer = parse_json(line)
    _charge(answer["took_s"])
    return answer.get("text", ""), answer.get("fault", "")
