"""Five questions that show what a model file does with tools, before a run is spent on it.

They are asked without a grammar: what counts is what the model writes by itself, with one tool, with a long
list of them, with two calls in one answer, without any call, and with nested arguments. The tools are many
and short, so that a model of 1.5 billion parameters is through in a minute on two cores.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from rig.core.calls import Call, Json, JsonObject
from rig.core.errors import ErrorKind
from rig.core.models import (
    BROKEN,
    LEAKED,
    OWN,
    Model,
    OnRead,
    Piece,
    Prediction,
    Request,
    StepKey,
    ToolDoc,
    UserMessage,
)
from rig.plugins import llama
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.files.registry import ResolvedModel
from rig.plugins.llama.formats.leaks import broken

INSTRUCTIONS = "You are a helpful assistant."
MOST_TOKENS = 128
"""The most tokens of an answer; the longest right one has about 90."""


def _object(**properties: JsonObject) -> JsonObject:
    required = {"required": list(properties)} if properties else {}
    return {"type": "object", "properties": properties, **required}


def _tool(name: str, description: str, **parameters: JsonObject) -> ToolDoc:
    return ToolDoc(name, description, _object(**parameters))


_TEXT: JsonObject = {"type": "string"}
_NUMBER: JsonObject = {"type": "integer"}


WEATHER = _tool("get_weather", "Get today's weather in a city.", city=_TEXT)
TOOLS = (
    WEATHER,
    _tool("set_timer", "Start a timer.", minutes=_NUMBER),
    _tool(
        "create_order",
        "Order articles for a customer.",
        customer=_object(name=_TEXT, city=_TEXT),
        items={"type": "array", "items": _object(article=_TEXT, quantity=_NUMBER)},
    ),
    _tool("send_message", "Send a message.", to=_TEXT, text=_TEXT),
    _tool("translate", "Translate a text.", text=_TEXT, language=_TEXT),
    _tool("find_route", "Find the way between two places.", start=_TEXT, end=_TEXT),
    _tool("set_volume", "Set the volume in percent.", percent=_NUMBER),
    _tool("play_song", "Play a song.", title=_TEXT),
    _tool("search_web", "Search the web.", query=_TEXT),
    _tool("get_stock_price", "Get the price of a share.", symbol=_TEXT),
    _tool("dim_lights", "Dim the lights of a room.", room=_TEXT),
    *(
        _tool(name.replace(" ", "_"), f"{name.capitalize()}.")
        for name in (
            *("lock the door", "open the garage", "list alarms", "list notes", "list contacts", "list files"),
            *("take a photo", "read the news", "check the battery", "start the vacuum", "water the garden"),
            *("stop the music", "next song", "log out", "restart the router", "flip a coin", "roll a die"),
        )
    ),
)
"""28 tools: as many as rig's own suites have."""


@dataclass(frozen=True, slots=True)
class ToolQuestion:
    """A question with the calls that it is due; an answer in words if there are none."""

    title: str
    text: str
    calls: tuple[Call, ...]
    tools: tuple[ToolDoc, ...] = TOOLS

    @property
    def request(self) -> Request:
        return Request(
            StepKey(self.title),
            INSTRUCTIONS,
            self.tools,
            messages=(UserMessage(self.text),),
            several_calls=True,
        )


_OSLO, _LIMA = (Call("get_weather", {"city": city}) for city in ("Oslo", "Lima"))
QUESTIONS = (
    ToolQuestion("one tool", "What is the weather in Oslo today?", (_OSLO,), (WEATHER,)),
    ToolQuestion("28 tools", "Set a timer for 12 minutes, please.", (Call("set_timer", {"minutes": 12}),)),
    ToolQuestion("two calls", "What is the weather in Oslo today, and what is it in Lima?", (_OSLO, _LIMA)),
    ToolQuestion("no call", "Thank you! That was all for today.", ()),
    ToolQuestion(
        "nested",
        "Order 3 of article L7 and 1 of article D2 for our customer Ada Byron in London.",
        (
            Call(
                "create_order",
                {
                    "customer": {"name": "Ada Byron", "city": "London"},
                    "items": [{"article": "L7", "quantity": 3}, {"article": "D2", "quantity": 1}],
                },
            ),
        ),
    ),
)
"""All but the first have the same tools, which are therefore read once."""


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """What a file did with a question. `form` is the form of its calls, empty for the one of its family."""

    question: ToolQuestion
    is_right: bool
    form: str
    text: str

    @property
    def is_leaked(self) -> bool:
        """Whether a call has another form than the family's, so that a strict server takes it for words."""
        return bool(self.form)


def ask(resolved: ResolvedModel, on_read: OnRead) -> Iterator[AnsweredQuestion]:
    """Ask a model the questions, and yield what it does with each. Raises RigError as loading does."""
    settings = EngineSettings(
        grammar="none", thinking="off", max_tokens=MOST_TOKENS, parallel=1, prefix_cache=False
    )
    with closing(llama.load(resolved.path, settings, resolved.base, lambda _remark: None)) as model:
        llama.apply_adapter(resolved.adapter, model)
        for question in QUESTIONS:
            yield finding(question, _answer(model, question.request, on_read))


def _answer(model: Model, request: Request, on_read: OnRead) -> Prediction:
    def listen(piece: Piece) -> None:
        on_read(*piece.read)

    return model.predict(request, listen)


def finding(question: ToolQuestion, prediction: Prediction) -> AnsweredQuestion:
    """Say what an answer does with a question."""
    calls, fault = prediction.calls, _fault(prediction)
    form = prediction.form.removeprefix(LEAKED) if prediction.form.startswith(LEAKED) else ""
    due = ", ".join(call.name for call in question.calls)
    if fault:
        is_right, text = False, f"{fault}: {_clipped(prediction.raw)}" if prediction.raw else fault
    elif not calls:
        expected = f" instead of {due}" if due else ", as it should"
        is_right, text = not question.calls, f"words{expected}: {_clipped(prediction.raw)}"
    elif not question.calls:
        is_right, text = False, f"calls {calls[0].name} where nothing is to do"
    else:
        right = sum(any(_alike(call, other) for other in calls) for call in question.calls)
        is_right = right == len(question.calls) == len(calls)
        calls_text = ", ".join(f"{call.name} {json.dumps(call.arguments)}" for call in calls)
        text = "right" if is_right else f"{right} of {len(question.calls)} right: {_clipped(calls_text)}"
    how = f"leaked ({form})" if form else "in the right form"
    is_call = calls or form or prediction.form == OWN
    return AnsweredQuestion(question, is_right, form, f"{text}, {how}" if is_call else text)


def _fault(prediction: Prediction) -> str:
    """Return why an answer is neither calls that a tool accepts nor words; empty if it is."""
    kind, form = prediction.error, prediction.form
    if kind is ErrorKind.TRUNCATED:
        form = form or broken(prediction.raw, {tool.name: tool.parameters for tool in TOOLS})
        kind = ErrorKind.INVALID if form else None
    if kind is None:
        begun = form.removeprefix(BROKEN)
        return f"begins like a call and is none ({begun})" if form.startswith(BROKEN) else ""
    if kind is not ErrorKind.INVALID:
        return f"no answer, {prediction.error_detail}"
    is_read = form == OWN or form.startswith(LEAKED)
    return f"{'no tool accepts it' if is_read else 'neither a call nor words'}, {prediction.error_detail}"


def _alike(call: Call, other: Call) -> bool:
    return (call.name, _folded(call.arguments)) == (other.name, _folded(other.arguments))


def _folded(value: Json) -> Any:
    """Return a value in which neither the case of letters nor the order of a list counts."""
    if isinstance(value, dict):
        return {key: _folded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return sorted((_folded(inner) for inner in value), key=repr)
    return value.casefold() if isinstance(value, str) else value


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 70 else f"{line[:67]} .."
