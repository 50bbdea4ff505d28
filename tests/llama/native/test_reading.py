"""What is read of answers in a model's own form, with a grammar and without."""

from contextlib import suppress

import pytest
from native_known import known
from native_templates import OWN as OWN_TEMPLATES
from patience import in_a_moment
from rig_form import rig_format

from rig.config.engine import GrammarArm
from rig.core.calls import Call
from rig.core.models import LEAKED, OWN, ToolDoc
from rig.core.registry import registered
from rig.plugins.llama.core.template import ChatTemplate
from rig.plugins.llama.formats.base import Reading
from rig.plugins.llama.formats.detection import family_native
from rig.plugins.llama.formats.form import NativeFormat
from rig.plugins.llama.formats.salvage import AnswerError

PARAMETERS = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "loud": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "note": {"type": ["string", "null"]},
    },
    "required": ["city"],
}
TOOLS = (ToolDoc("get_weather", "", PARAMETERS), ToolDoc("log_out", "", {"type": "object", "properties": {}}))
PARIS = Call("get_weather", {"city": "Paris"})
OUT = Call("log_out", {})
HERMES = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'


def form(name: str, grammar: GrammarArm = "json", **choices: str) -> NativeFormat:
    if name in registered().presets:
        template = known("undeclared").template
        return NativeFormat(TOOLS, grammar, template, native=family_native(name, template))
    return known(name).form(TOOLS, grammar=grammar, **choices)


@pytest.mark.parametrize(
    ("name", "text", "calls", "content", "salvage"),
    [
        ("json in tags", HERMES, [PARIS], "", ""),
        ("json in tags", f"Let me see.\n{HERMES}", [PARIS], "Let me see.", ""),
        ("json in tags", "Good morning.", [], "Good morning.", ""),
        ("json in tags", HERMES.replace("\n", ""), [PARIS], "", "other white space"),
        ("json in tags", HERMES.replace(": ", ":"), [PARIS], "", "other white space"),
        (
            "json in tags",
            HERMES.removesuffix("\n</tool_call>"),
            [PARIS],
            "",
            "leaked: <tool_call> without its end",
        ),
        ("json in tags", f"{HERMES}\nThere.", [PARIS], "", "words after the calls"),
        (
            "json in tags",
            '<tool_call>\n{"name": "get_weather", "arguments": "{\\"city\\": \\"Paris\\"}"}\n</tool_call>',
            [PARIS],
            "",
            "arguments as text",
        ),
        (
            "json in tags",
            '```json\n{"name": "get_weather", "parameters": {"city": "Paris"}}\n```',
            [PARIS],
            "",
            "leaked: fenced JSON",
        ),
        (
            "json in tags",
            '<function=get_weather>{"city": "Paris"}</function>',
            [PARIS],
            "",
            "leaked: <function=…>",
        ),
        ("a tag for each", HERMES, [PARIS], "", "leaked: <tool_call>"),
        (
            "a tag for each",
            "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>"
            "\n<tool_call>\n<function=log_out>\n</function>\n</tool_call>",
            [PARIS, OUT],
            "",
            "",
        ),
        (
            "a tag for each",
            "<tool_call><function=get_weather><parameter=city>Paris</parameter></function></tool_call>",
            [PARIS],
            "",
            "other white space",
        ),
        (
            "opened thinking",
            f"I think.</think>{HERMES}",
            [PARIS],
            "",
            "leaked: <tool_call>",
        ),
        ("one bare object", '{"name": "get_weather", "parameters": {"city": "Paris"}}', [PARIS], "", ""),
        (
            "llama3",
            '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Paris"}}',
            [PARIS],
            "",
            "",
        ),
        ("as Python", '<|begin|>[get_weather(city="Paris")]<|finish|>', [PARIS], "", ""),
        ("as Python", "<|begin|>[get_weather(city='Paris')]<|finish|>", [PARIS], "", ""),
        (
            "a list with ids",
            '[TOOL_CALLS][{"name": "log_out", "arguments": {}}]',
            [OUT],
            "",
            "leaked: [TOOL_CALLS] without its end",
        ),
        ("a bare list", 'I look [1]. [get_weather(city="Paris")]', [PARIS], "I look [1].", ""),
        ("a bare list", "See [1] and [it].", [], "See [1] and [it].", ""),
    ],
)
def test_an_answer_without_a_grammar_is_read_and_what_was_overlooked_is_said(
    name: str, text: str, calls: list[Call], content: str, salvage: str
) -> None:
    found = form(name, "none").read(text)
    assert (list(found.calls), found.content) == (calls, content)
    told = found.salvage or found.form.removeprefix(OWN)
    assert told.startswith(salvage) if salvage else not told


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('<tool_call>\n{"name": "get_weather", "arguments": {"city": }}\n</tool_call>', "cannot be read"),
        ('<tool_call>\n{"name": "nothing", "arguments": {}}\n</tool_call>', "no tool is called"),
        (
            '<tool_call>\n{"name": "get_weather", "arguments": {}}\n</tool_call>',
            "'city' is a required property",
        ),
        ('<tool_call>\n{"name": "get_weather", "arguments": {"city": 7}}\n</tool_call>', "7 is not of type"),
        ("<tool_call>\nget_weather\n</tool_call>", "is missing"),
    ],
)
@pytest.mark.parametrize("grammar", ["none", "json"])
def test_a_broken_call_is_no_reply(text: str, fault: str, grammar: GrammarArm) -> None:
    with pytest.raises(AnswerError, match=fault):
        form("json in tags", grammar).read(text)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("7", "7"),
        ("null", "null"),
        (" two words ", " two words "),
        ('"quoted"', '"quoted"'),
        ("a\nb", "a\nb"),
    ],
)
def test_text_in_a_tag_is_taken_as_it_stands(raw: str, value: str) -> None:
    text = f"<tool_call>get_weather<arg_key>city</arg_key><arg_value>{raw}</arg_value></tool_call>"
    assert form("keys and values").read(text).calls == (Call("get_weather", {"city": value}),)


@pytest.mark.parametrize(
    ("name", "raw", "value"),
    [
        ("days", "7", 7),
        ("loud", "true", True),
        ("loud", "True", True),
        ("tags", '["a", "b"]', ["a", "b"]),
        ("tags", "['a']", ["a"]),
        ("note", "null", None),
        ("note", "nullify", "nullify"),
    ],
)
def test_other_values_in_tags_are_read_by_their_type(name: str, raw: str, value: object) -> None:
    text = (
        "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value>"
        f"<arg_key>{name}</arg_key><arg_value>{raw}</arg_value></tool_call>"
    )
    assert form("keys and values").read(text).calls[0].arguments == {"city": "Paris", name: value}


def test_thoughts_are_read_apart() -> None:
    opened = form("opened thinking")
    call = '<tool_call>get_weather{"city": "Paris"}</tool_call>'
    thoughtful = Reading((PARIS,), "", "Paris, I think.", form=OWN)
    assert opened.read(f"Paris, I think.\n</think>\n\n{call}") == thoughtful
    assert opened.reasoning("Paris, I th") == "Paris, I th"
    free = form("thinking")
    assert free.read("<think>Hm.</think>\n\nGood morning.") == Reading((), "Good morning.", "Hm.")
    assert free.read("Good morning.") == Reading((), "Good morning.")
    assert form("json in tags").read("<think>Hm.</think> Yes.").reasoning == ""


@pytest.mark.parametrize(
    "text", ["{" * 70_000, "<tool_call>" * 9_000, "[" * 300_000, '<tool_call>\n{"name": "' * 999]
)
@pytest.mark.parametrize("name", ["json in tags", "a tag for each", "as Python", "one bare object"])
def test_hostile_text_is_read_in_a_moment(name: str, text: str) -> None:
    with in_a_moment(), suppress(AnswerError):
        assert not form(name, "none").read(text).calls


FENCED = '```json\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n```'


@pytest.mark.parametrize("grammar", ["none", "json"])
def test_a_leaked_call_is_carried_out_or_taken_for_words(grammar: GrammarArm) -> None:
    lenient = form("json in tags", grammar).read(FENCED)
    assert (lenient.calls, lenient.form) == ((PARIS,), f"{LEAKED}fenced JSON")
    strict = form("json in tags", grammar, leaked="strict").read(FENCED)
    assert (strict.calls, strict.content, strict.form) == ((), FENCED, f"{LEAKED}fenced JSON")


def test_a_leaked_call_that_no_tool_accepts_is_wrong_and_still_named() -> None:
    wrong = FENCED.replace('"Paris"', "7")
    with pytest.raises(AnswerError, match="7 is not of type") as raised:
        form("json in tags").read(wrong)
    assert raised.value.form == f"{LEAKED}fenced JSON"
    assert form("json in tags", leaked="strict").read(wrong).form == f"{LEAKED}fenced JSON"


def test_a_call_within_thoughts_is_seen_where_nothing_follows_them() -> None:
    thoughtful = form("thinking")
    call = thoughtful.write([]) or "".join(span.text for span in thoughtful.spans(PARIS))
    found = thoughtful.read(f"<think>I look. {call}</think>")
    assert (found.calls, found.form) == ((PARIS,), f"{LEAKED}within the thoughts")
    assert thoughtful.read(f"<think>I look. {call}</think>Good morning.").calls == ()


@pytest.mark.parametrize(
    ("text", "begun"),
    [
        ('<tools>\n{"name": "get_weather", "parameters": {"type": "object"}}\n</tools>', "<tools>"),
        ('<{{"name": "get_weather", "arguments": {"ci', "JSON"),
    ],
)
def test_a_reply_that_begins_like_a_call_is_named(text: str, begun: str) -> None:
    assert form("json in tags").read(text).form == f"broken: {begun}"


def test_a_template_that_has_no_tools_says_so() -> None:
    template = ChatTemplate("{% for m in messages %}{{ m.role + ': ' + m.content }}{% endfor %}")
    found = family_native("hermes", template)
    assert not found.tools_in
    assert "ignores declarations" in " ".join(found.faults)
    assert "NAME" in NativeFormat(TOOLS, "json", template, native=found).offer().rules


ANYTHING = ToolDoc(
    "f", "", {"type": "object", "properties": {"more": {"type": "object"}}, "required": ["more"]}
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "json in tags",
            '<tool_call>\n{"name": "f", "arguments": {"more": {"a": 1, "a": [2]}}}\n</tool_call>',
        ),
        ("as Python", "<|begin|>[f(more={'a': 1, 'a': [2]})]<|finish|>"),
        (
            "keys and values",
            '<tool_call>f<arg_key>more</arg_key><arg_value>{"a": 1, "a": [2]}</arg_value></tool_call>',
        ),
        ("rig", '{"tool": "f", "arguments": {"more": {"a": 1, "a": [2]}}}'),
    ],
)
def test_a_name_may_come_twice_where_any_may_come(name: str, text: str) -> None:
    """No grammar forbids it, so that it has to mean something; where names are declared it does not."""
    for tool, fault in ((ANYTHING, ""), (ToolDoc("f", "", CLOSED), "twice|is not of type 'object'")):
        made = rig_format((tool,)) if name == "rig" else known(name).form((tool,), grammar="json")
        if fault:
            with pytest.raises(AnswerError, match=fault):
                made.read(text)
        else:
            assert made.read(text).calls == (Call("f", {"more": {"a": [2]}}),)


CLOSED = {
    "type": "object",
    "properties": {
        "more": {
            "type": "object",
            "properties": {"a": {"type": "array", "items": {"type": "integer"}}},
        }
    },
    "required": ["more"],
}


ANY = {"type": ["string", "number", "boolean", "null", "array", "object"]}
LOOSE = (
    ToolDoc(
        "find", "", {"type": "object", "properties": {"place": {}, "days": ANY, "loud": {"type": "boolean"}}}
    ),
    ToolDoc("note", "", {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
    *TOOLS,
)
CUT = [
    [OUT, Call("find", {"place": None, "days": 123}), Call("find", {"days": ["a word", "Oslo"]})],
    [PARIS, Call("note", {"text": "{"}), Call("note", {"text": 'a=1, <b>, "c"'})],
    [
        Call("find", {"days": {"x": [1.5, "é"]}, "loud": True}),
        OUT,
        Call("find", {"loud": False, "place": 17}),
    ],
]


@pytest.mark.parametrize("calls", CUT, ids=["empty", "brace", "nested"])
@pytest.mark.parametrize("name", sorted(OWN_TEMPLATES))
def test_no_cut_of_an_answer_changes_a_call_or_skips_one(name: str, calls: list[Call]) -> None:
    each = known(name)
    shape = each.native.shape
    written = calls if shape.between else calls[1:2]
    text, read_by = shape.write(tuple(written)), each.form(LOOSE)
    for cut in range(len(shape.open) + 1, len(text)):
        with suppress(AnswerError):
            read = read_by.read(text[:cut])
            told, whole = each.told(read.calls), each.told(written[: len(read.calls)])
            if read.form.endswith("without its end"):
                # The last call may have lost arguments, and changed none.
                last, was = told.pop(), whole.pop()
                assert last.name == was.name, text[:cut]
                assert last.arguments.items() <= was.arguments.items(), text[:cut]
            assert told == whole, text[:cut]
