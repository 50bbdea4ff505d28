"""The five questions of the doctor: which tools, what is due, and what is said of an answer."""

import json
from typing import Any

import pytest
from native_templates import OWN

from rig.core.calls import Call
from rig.core.errors import ErrorKind
from rig.core.models import Prediction, Usage
from rig.plugins.doctor.questions import QUESTIONS, TOOLS, finding
from rig.plugins.llama.core.template import ChatTemplate
from rig.plugins.llama.formats.base import prediction
from rig.plugins.llama.formats.detection import native_of
from rig.plugins.llama.formats.form import NativeFormat
from rig.plugins.llama.grammar.schema import narrow

ONE, MANY, TWO, NONE, NESTED = QUESTIONS


def written(text: str, error: ErrorKind | None = None) -> Prediction:
    """What rig makes of a text that a model with Qwen's template wrote, without a grammar."""
    template = ChatTemplate(OWN["json in tags"], bos="", eos="<|im_end|>")
    form = NativeFormat(TOOLS, "none", template, native=native_of(template))
    failure = (error, "incomplete after 128 tokens") if error else None
    return prediction(text, lambda: form.read(text), failure, several=True, reasoning="", usage=Usage())


def bare(*calls: Call) -> str:
    return "\n".join(json.dumps({"name": call.name, "arguments": call.arguments}) for call in calls)


def marked(*calls: Call) -> str:
    return "\n".join(f"<tool_call>\n{bare(call)}\n</tool_call>" for call in calls)


def fenced(*calls: Call) -> str:
    return "\n".join(f"```json\n{bare(call)}\n```" for call in calls)


def test_every_form_of_calls_can_write_the_tools() -> None:
    assert len(TOOLS) == len({tool.name for tool in TOOLS}) == 28
    for tool in TOOLS:
        narrow(tool.parameters, tool.name, formats=True)
    due = {call.name for question in QUESTIONS for call in question.calls}
    assert due <= {tool.name for tool in TOOLS}
    assert [len(question.tools) for question in QUESTIONS] == [1, 28, 28, 28, 28]


@pytest.mark.parametrize("question", [ONE, MANY, TWO, NESTED])
def test_the_right_calls_in_the_own_form_are_right(question: Any) -> None:
    found = finding(question, written(marked(*question.calls)))
    assert (found.is_right, found.is_leaked, found.text) == (True, False, "right, in the right form")


@pytest.mark.parametrize("question", [ONE, MANY, TWO, NESTED])
@pytest.mark.parametrize(("write", "form"), [(fenced, "fenced JSON"), (bare, "bare JSON")])
def test_the_right_calls_in_another_form_are_right_and_leaked(question: Any, write: Any, form: str) -> None:
    found = finding(question, written(write(*question.calls)))
    assert (found.is_right, found.is_leaked) == (True, True)
    assert found.text.startswith("right, leaked (")
    assert form in found.form


def test_letters_and_the_order_of_a_list_do_not_count() -> None:
    (due,) = NESTED.calls
    arguments = json.loads(json.dumps(due.arguments).replace("London", "london"))
    arguments["items"].reverse()
    assert finding(NESTED, written(marked(Call(due.name, arguments)))).is_right


@pytest.mark.parametrize(
    ("question", "text", "says"),
    [
        (MANY, marked(Call("set_timer", {"minutes": 21})), "0 of 1 right"),
        (
            MANY,
            marked(Call("start_timer", {"minutes": 12})),
            "no tool accepts it, no tool is called 'start_timer'",
        ),
        (MANY, fenced(Call("start_timer", {})), "begins like a call and is none (JSON that names no tool)"),
        (MANY, fenced(Call("set_timer", {})), "no tool accepts it, set_timer: 'minutes' is a required"),
        (
            MANY,
            fenced(Call("set_timer", {"minutes": 3})),
            '0 of 1 right: set_timer {"minutes": 3}, leaked (fenced JSON)',
        ),
        (TWO, marked(TWO.calls[0]), "1 of 2 right"),
        (TWO, marked(*TWO.calls, TWO.calls[0]), "2 of 2 right"),
        (ONE, "It is sunny in Oslo.", "words instead of get_weather: It is sunny in Oslo."),
        (NONE, marked(Call("log_out", {})), "calls log_out where nothing is to do, in the right form"),
        (
            ONE,
            '```json\n{"name": "get_weather", "arguments": {"city": "Os',
            "begins like a call and is none (JSON)",
        ),
    ],
)
def test_what_is_wrong_is_said(question: Any, text: str, says: str) -> None:
    found = finding(question, written(text))
    assert not found.is_right
    assert says in found.text
    assert len(found.text) < 200


def test_words_are_right_where_nothing_is_to_do_even_if_they_go_on_and_on() -> None:
    assert finding(NONE, written("You are welcome!")).is_right
    assert finding(NONE, written("You are welcome! " * 20, ErrorKind.TRUNCATED)).is_right
    assert not finding(ONE, written("The weather " * 40, ErrorKind.TRUNCATED)).is_right


def test_a_failure_of_the_machine_is_said_as_such() -> None:
    failed = Prediction(error=ErrorKind.CONTEXT, error_detail="the prompt has 5,000 tokens")
    assert finding(ONE, failed).text.startswith("no answer, the prompt has 5,000 tokens")
