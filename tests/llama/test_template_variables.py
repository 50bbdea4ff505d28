"""Variables of chat templates: how they are set, which are found, and what they change."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_gguf
from native_known import SOURCES
from native_templates import REAL

from rig.config.engine import assignments
from rig.core.errors import RigError
from rig.plugins.llama.core.options import arms_of
from rig.plugins.llama.core.template import ChatMessage, ChatTemplate
from rig.plugins.llama.formats.detection import native_of
from rig.plugins.llama.formats.probe import check_variables, find_variables
from rig.plugins.templates.comparison import by_jinja, prompts

TALK = (
    "{% for m in messages %}<{{ m.role }}>{% if m.reasoning_content and keep_thoughts %}"
    "[{{ m.reasoning_content }}]{% endif %}{{ m.content }}{% endfor %}"
)
SOURCE = (
    "{% if effort is not defined %}{% set effort = 'medium' %}{% endif %}"
    "{% if effort not in ['low', 'medium'] %}{{ raise_exception('no such effort') }}{% endif %}"
    "{% set count = messages | length %}{{ effort }}{{ count }}{{ persona | default('Rig') }}"
    "{% if budget is defined and budget == 0 %}none{% endif %}{% if thinking %}{{ depth or 1 }}{% endif %}"
    + TALK
)


@pytest.mark.parametrize(
    ("texts", "arms"),
    [
        ((None,), [None]),
        (("a=true,false",), ["a=true", "a=false"]),
        (("a=1,2", "b=x,y"), ["a=1,b=x", "a=1,b=y", "a=2,b=x", "a=2,b=y"]),
        (("a=1", "a=2"), ["a=1", "a=2"]),
        (("a=1,b=x", "a=2,b=x"), ["a=1,b=x", "a=2,b=x"]),
        (("a=1,b=x", "a=1,b=x"), ["a=1,b=x"]),
        (('a="1"', "b=="), ['a="1",b==']),
    ],
)
def test_values_make_arms(texts: tuple[str | None, ...], arms: list[str | None]) -> None:
    assert arms_of(texts) == arms
    assert arms_of(arms) == arms  # as a run that goes on has them


def test_values_have_types() -> None:
    text = 'a=true,b=0,c=-1.5,d=null,e=low,f="7",g=NaN,h=[1'
    expected = {"a": True, "b": 0, "c": -1.5, "d": None, "e": "low", "f": "7", "g": "NaN", "h": "[1"}
    assert assignments(text) == expected
    assert [type(value) for value in assignments(text).values()] == list(map(type, expected.values()))


@pytest.mark.parametrize(
    ("texts", "fault"),
    [
        (("effort",), "give NAME=VALUE"),
        (("=x",), "give NAME=VALUE"),
        (("a=1,b=2,a=3",), "a is there twice"),
        (("a=1,b=2", "a=3"), "a is there twice"),
        (("messages=x",), "rig itself sets that"),
    ],
)
def test_what_sets_no_variable_is_refused(texts: tuple[str, ...], fault: str) -> None:
    with pytest.raises(RigError, match=fault):
        arms_of(texts)


@pytest.mark.slow
def test_variables_are_found_with_defaults_and_the_values_that_matter() -> None:
    found = {variable.name: variable for variable in find_variables(ChatTemplate(SOURCE))}
    assert found.keys() == {"effort", "persona", "budget", "thinking", "depth", "keep_thoughts"}
    assert (found["effort"].default, found["effort"].values) == ("medium", ("low",))
    assert (found["persona"].default, found["persona"].is_open) == ("Rig", True)
    assert found["budget"].values[:1] == (0,)
    assert (found["thinking"].default, found["thinking"].values) == (False, (True,))
    assert found["depth"].is_open
    assert (found["keep_thoughts"].default, found["keep_thoughts"].values) == (False, (True,))


def test_a_variable_that_matters_where_nothing_is_thought_is_found_and_a_macros_own_is_none() -> None:
    source = (
        "{% macro shown(text) %}{{ text if text is defined }}{% endmacro %}{% if true %}"
        "{% set text = 'x' %}{% endif %}{{ shown(text) }}{% set thinks = enable_thinking | default(true) %}"
        "{% if thinks or keep | default(false) %}"
        "{{ 'kept' }}{% endif %}" + TALK
    )
    found = {variable.name: variable.values for variable in find_variables(ChatTemplate(source))}
    assert found == {"enable_thinking": (False,), "keep": (True,), "keep_thoughts": (True,)}


@pytest.mark.slow
def test_a_variable_that_is_set_holds_in_every_prompt_and_no_other_is_taken() -> None:
    plain = ChatTemplate(SOURCE)
    low = ChatTemplate(SOURCE, chosen={"effort": "low"})
    user = [ChatMessage("user", ("x",))]
    texts = ["".join(part.text for part in template.render(user)) for template in (plain, low)]
    assert [text.partition("1")[0] for text in texts] == ["medium", "low"]
    assert check_variables(plain, {"effort": "low"}) == ""
    assert "changes none" in check_variables(plain, {"effort": "medium"})
    with pytest.raises(RigError, match=r"reads no such variable \(did you mean 'effort'\?\)"):
        check_variables(plain, {"efort": "low"})


def test_thoughts_are_kept_as_the_variable_says() -> None:
    source = (
        "{{ tools | tojson if tools }}{% for m in messages %}<|im_start|>{{ m.role }}\n"
        "{% if m.reasoning_content and (keep or loop.last) %}<think>{{ m.reasoning_content }}</think>"
        "{% endif %}{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>"
        '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}</tool_call>'
        "{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    kept = [native_of(ChatTemplate(source, chosen={"keep": keep})).thinking.kept for keep in (True, False)]
    assert kept == ["always", "never"]


KEEPING = [
    ("GLM-4.7-Flash", "clear_thinking", True, False),
    ("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "truncate_history_thinking", True, False),
    ("tencent-Hy3", "preserved_thinking", False, True),
]
"""The public templates with a variable that keeps the thoughts of earlier turns; to drop them, to keep."""


@pytest.mark.skipif(not REAL, reason="RIG_CHAT_TEMPLATES is not set")
@pytest.mark.parametrize(("name", "variable", "dropping", "keeping"), KEEPING)
def test_each_family_keeps_thoughts_as_its_variable_says(
    name: str, variable: str, dropping: bool, keeping: bool
) -> None:
    kept, shown = [], []
    for value in (dropping, keeping):
        template = ChatTemplate(SOURCES[name], bos="<s>", eos="</s>", chosen={variable: value})
        kept.append(native_of(template).thinking.kept)
        text = prompts(by_jinja(template))["thoughts of an earlier call"].text
        shown.append("Pondered-call" in text)
    assert kept == ["within a turn", "always"]
    assert shown == [False, True]


@pytest.mark.parametrize("source", ["{% for i in range(10**9) %}{% endfor %}{{ x }}", "{{ x }}" * 30_000])
def test_hostile_templates_are_read_within_limits(source: str) -> None:
    with pytest.raises(RigError):
        check_variables(ChatTemplate(source), {"x": "y"})


@pytest.mark.slow
def test_a_variable_makes_arms_whose_fingerprints_tell_them_apart(
    rig: Callable[..., Any], tmp_path: Path
) -> None:
    template = "{{ 'Effort: ' ~ (effort | default('medium')) ~ '\n' }}" + tiny_gguf.CHATML
    path = tiny_gguf.write(tmp_path / "m.gguf", template=template)
    run = ("--suite", "easy", "--limit", "1", "--tools", "exact", "--max-tokens", "4", "--display", "none")
    store = tmp_path / "x.sqlite"
    done = rig("run", path, *run, "--template-set", "effort=low,high", "--json", "--runs", store)
    arms = [arm["arm"] for arm in done.json["arms"]]
    assert [name.rpartition("template-set=")[2] for name in arms] == ["effort=low", "effort=high"]
    about = rig("models", "info", path, "--tools")
    assert 'variables     effort (by default "medium"): "low", "high", any text' in about.out
    refused = rig("run", path, *run, "--template-set", "efort=low", "--runs", tmp_path / "y.sqlite")
    assert "did you mean 'effort'?" in refused.err
