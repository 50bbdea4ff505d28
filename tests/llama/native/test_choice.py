"""The choice of tools: every form under `required`, under `none`, and with one tool that has to be called."""

from collections.abc import Callable

import pytest
from native_known import NAMES, Writer, known, marks_of
from native_templates import OWN
from rig_form import rig_format

from rig.core.calls import Call
from rig.core.models import ToolDoc
from rig.plugins.llama.grammar.language import ConstraintError, Language

_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolDoc("get_weather", "", _CITY)
TOOLS = (WEATHER, ToolDoc("find_hotel", "", _CITY))
OSLO, HOTEL = Call("get_weather", {"city": "Oslo"}), Call("find_hotel", {"city": "Oslo"})
EXPECTED = {
    "auto": (True, True, True),
    "required": (True, True, False),
    "none": (False, False, True),
    "get_weather": (True, False, False),
}
"""Whether the one call, the other one, and words are answers, by the choice."""


def accepts(writer: Writer, language: Language, text: str) -> bool:
    [grammar] = writer.grammars
    constraint = grammar.start(language)
    try:
        for token in writer.tokenizer.content(text, special=True):
            if not constraint.allowed()[token]:
                return False
            constraint.accept(token)
        ends = list(writer.tokenizer.end_of_generation)
        return constraint.complete or bool(constraint.allowed()[ends].any())
    except ConstraintError:
        return False


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in OWN else pytest.mark.slow) for name in NAMES]
)
def test_calls_and_words_are_answers_as_the_choice_of_tools_says(
    writer: Callable[..., Writer], name: str
) -> None:
    each = known(name)
    tiny = writer("bpe", marks_of(each.native))
    form, one = (each.form(tools, thinking="off") for tools in (TOOLS, (WEATHER,)))
    shape, found = each.native.shape, {}
    for choice in EXPECTED:
        language = one.language("required") if choice == "get_weather" else form.language(choice)
        before = f"hm{language.thoughts.close}\n" if language.thoughts and language.thoughts.is_open else ""
        # A prompt can hold what comes before a call already.
        calls = (
            language.call_lead + shape.write((call,)).removeprefix(shape.opening[0]) for call in (OSLO, HOTEL)
        )
        texts = (*calls, f"{shape.lead}Good morning.")
        found[choice] = tuple(accepts(tiny, language, before + text) for text in texts)
    assert found == EXPECTED


def test_rigs_own_form_has_the_choice_as_well(writer: Callable[..., Writer]) -> None:
    tiny = writer("bpe")
    texts = (
        '{"tool": "get_weather", "arguments": {"city": "Oslo"}}',
        '{"tool": "find_hotel", "arguments": {"city": "Oslo"}}',
        '{"reply": "Good morning."}',
    )
    found = {}
    for choice in EXPECTED:
        form = rig_format((WEATHER,) if choice == "get_weather" else TOOLS)
        language = form.language("required" if choice == "get_weather" else choice)
        found[choice] = tuple(accepts(tiny, language, text) for text in texts)
    assert found == EXPECTED
