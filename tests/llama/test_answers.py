import json
from collections.abc import Callable

import pytest
from rig_form import rig_format, text_of

from rig.core.calls import Call
from rig.core.models import OWN, Request, ToolDoc
from rig.plugins.llama.formats.base import Reading, RigFormat
from rig.plugins.llama.formats.salvage import AnswerError


@pytest.fixture
def form(ask: Callable[..., Request]) -> RigFormat:
    return rig_format(ask("x").tools)


def test_what_a_model_is_shown_is_what_it_may_write(form: RigFormat) -> None:
    call = Call("AddAlarm", {"time": "07:30:00"})
    assert form.read(text_of(call)) == Reading((call,), form=OWN)
    assert form.read(text_of('He said "é😀"\n')) == Reading(content='He said "é😀"\n')


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "JSON"),
        ('{"reply": "x"', "JSON"),
        ("[" * 100_000, "JSON"),
        ("1" * 5000, "JSON"),
        ("[]", "neither"),
        ('{"reply": 1}', "neither"),
        ('{"reply": "x", "tool": "AddAlarm"}', "neither"),
        ('{"tool": "AddAlarm"}', "neither"),
        ('{"tool": "Nothing", "arguments": {}}', "Nothing"),
        ('{"tool": "AddAlarm", "arguments": []}', "neither"),
        ('{"tool": "AddAlarm", "arguments": {}}', "required"),
        ('{"tool": "AddAlarm", "arguments": {"time": 7}}', "string"),
        ('{"tool": "AddAlarm", "arguments": {"time": "x", "zone": "y"}}', "zone"),
        ('{"tool": "CreateEvent", "arguments": {"name": "x", "event_type": "party"}}', "party"),
        ('{"reply": "\\ud83d"}', "surrogate"),
    ],
)
def test_anything_else_is_refused_in_one_line(form: RigFormat, text: str, word: str) -> None:
    with pytest.raises(AnswerError, match=word) as caught:
        form.read(text)
    assert len(str(caught.value)) < 400


def test_tools_are_declared_in_few_words(form: RigFormat) -> None:
    assert form.offer().tools.removeprefix("Tools:\n\n") == (
        "AddAlarm: Sets an alarm. Returns the alarm's id.\n- time (string): When.\n\n"
        'CreateEvent\n- name (string)\n- event_type ("meeting" or "event")\n'
        "- attendees (list of string, optional)\n\n"
        "LogoutUser: Logs out."
    )


def test_a_parameter_of_an_unusual_kind_is_declared_by_its_schema() -> None:
    inner = {"type": "object", "properties": {"x": {"type": ["string", "null"], "description": "d"}}}
    form = rig_format((ToolDoc("T", "", {"type": "object", "properties": {"a": inner}}),))
    assert (
        '- a ({"type": "object", "properties": {"x": {"type": ["string", "null"]}}}, optional)'
        in form.offer().tools
    )


def test_documentation_does_not_reach_the_grammar(form: RigFormat) -> None:
    schema = json.dumps(form.language().schema)
    assert "When." not in schema
    assert "x-format" not in schema


def test_a_parameter_may_be_called_like_a_schema_keyword() -> None:
    parameters = {"type": "object", "properties": {"description": {"type": "string", "description": "d"}}}
    form = rig_format((ToolDoc("T", "", parameters),))
    assert form.read('{"tool": "T", "arguments": {"description": "x"}}') == Reading(
        (Call("T", {"description": "x"}),), form=OWN
    )
    assert '"description": {"type": "string"}' in json.dumps(form.language().schema)


def test_without_tools_only_words_are_possible() -> None:
    form = rig_format(())
    assert form.read('{"reply": "x"}') == Reading(content="x")
    assert len((form.language().schema or {})["anyOf"]) == 1
