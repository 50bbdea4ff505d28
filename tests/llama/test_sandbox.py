"""Templates that would stop the machine: each ends in a line, within bounds, and the next one works."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny_gguf

from rig.core.errors import RigError
from rig.plugins.llama.core import process
from rig.plugins.llama.core.process import TemplateError
from rig.plugins.llama.core.template import ChatMessage, ChatTemplate

LOOPS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
DOUBLING = "{% set ns = namespace(x='aa') %}{% for a in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}"

HOSTILE = {
    "loops in loops": LOOPS,
    "a text without an end": "{{ lipsum(n=100000) }}",
    "a list of a long text": "{{ ('a' * 10**9) | list }}",
    "a text that doubles": DOUBLING + "{{ ns.x }}",
    "ten gigabytes": "{{ 'a' * 10**10 }}",
    "a wide number": "{{ '%999999999d' % 1 }}",
    "a number of many digits": "{{ 7 ** (9 ** 9) }}",
    "a list that doubles": "{% set n = namespace(x=[1]) %}{% for a in range(60) %}{% set n.x = n.x * 2 %}"
    "{% endfor %}",
    "a macro that calls itself": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "a long line": "{% for a in range(99999) %}{{ 'a' * 99 }}{% endfor %}",
    "centred far away": "{{ 'a' | center(10**10) }}",
    "many brackets": "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
    "many conditions": "{% if true %}" * 3000 + "{% endif %}" * 3000,
    "many filters": "{{ 'a'" + " | upper" * 5000 + " }}",
    "a pattern of a log": "{{ (messages | tojson) * 10**7 }}",
}


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that has a second for each question."""
    process.end()
    monkeypatch.setattr(process, "SECONDS", 1)
    monkeypatch.setattr(process, "_BEYOND", process._BEYOND.replace("than 5 s", "than 1 s"))
    yield
    process.end()


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
def test_a_template_that_wants_too_much_is_one_line(source: str) -> None:
    with pytest.raises(RigError) as caught:
        ChatTemplate(tiny_gguf.CHATML + source)
    assert "the chat template" in str(caught.value)
    assert len(str(caught.value)) < 2_200
    assert ChatTemplate(tiny_gguf.CHATML).system


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
def test_what_hides_until_a_conversation_is_long_ends_the_step_alone() -> None:
    hidden = tiny_gguf.CHATML + "{% if messages | length > 4 %}" + LOOPS + "{% endif %}"
    template = ChatTemplate(hidden)
    few = [ChatMessage("user", ("q",))]
    shown = template.render(few)
    for again in range(4):
        long = [ChatMessage(role, (str(again),)) for role in ("user", "assistant") * 2] + few
        with pytest.raises(TemplateError, match="more than 1 s of computing"):
            template.render([*long, *[ChatMessage("assistant", ("a",)), *few] * again])
    assert template.render(few) == shown


@pytest.mark.slow
def test_all_that_is_asked_of_a_template_at_first_has_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    from rig.plugins.llama.verbs.info import tools_json

    asked: list[str] = []
    ask = process._Process.ask
    monkeypatch.setattr(process, "PROBE_S", 1.0)
    monkeypatch.setattr(
        process._Process, "ask", lambda self, question: asked.append(question) or ask(self, question)
    )
    slow = "{% for a in range(400) %}{% for b in range(4000) %}{% endfor %}{% endfor %}"
    # Answers are kept as long as the process: no other test may have asked this template.
    own = tiny_gguf.CHATML + "{# asked once #}"
    whole = tools_json(own)
    quick, asked[:] = len(asked), []
    tools_json(own + slow)
    assert 2 <= len(asked) < quick
    # Beyond the probe, a template has its seconds for each question again.
    assert ChatTemplate(own + slow).render([ChatMessage("user", ("q",))])
    assert tools_json(own) == whole


def test_answers_are_kept_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MOST_KEPT", 5_000)
    process._answered.cache_clear()
    for number in range(20):
        assert len(process.render("{{ 'a' * 1000 }}{{ n }}", [], [], {"n": number})) > 1_000
        assert process._answered.cache_info().currsize < 6
    process._answered.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
def test_a_template_that_is_known_to_want_too_much_is_not_run_again() -> None:
    source = LOOPS + "{# again #}"
    for _ in range(2):
        with pytest.raises(TemplateError):
            process.render(source, [], [], {"n": _})
    with pytest.raises(TemplateError, match="it was stopped"):
        process.render(source, [], [], {"n": 3})
    assert not process._processes


def test_what_a_template_raises_is_said() -> None:
    with pytest.raises(TemplateError, match="TemplateError: not so"):
        process.render("{{ raise_exception('not so') }}", [], [], {})
    with pytest.raises(TemplateError, match="TemplateSyntaxError"):
        process.render("{% if")


def test_texts_come_back_as_they_are() -> None:
    text = "\x00\ud800\u2028\r\n\U0001f600é"
    assert (
        process.render("{{ x }}{{ messages[0].content }}", [{"content": text}], [], {"x": text}) == text * 2
    )


def test_a_process_that_is_gone_is_replaced() -> None:
    assert process.render("{{ x }}", [], [], {"x": "before"}) == "before"
    process._processes[0]._child.kill()
    process._processes[0]._child.wait()
    with pytest.raises(TemplateError):
        process.render("{{ x }} ", [], [], {"x": "over it"})
    assert process.render("{{ x }}", [], [], {"x": "after"}) == "after"


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
def test_a_file_with_such_a_template_is_refused_in_a_line(rig: Callable[..., Any], tmp_path: Path) -> None:
    tiny_gguf.write(tmp_path / "tiny.gguf", template=tiny_gguf.CHATML + LOOPS)
    done = rig("run", tmp_path / "tiny.gguf", "--suite", "easy", "--limit", "1", "--display", "none")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "more than 1 s of computing" in done.err
