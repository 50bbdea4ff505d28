"""Calls are written by the template, read again as the same calls, and are what the grammar accepts."""

import os
import random
from collections.abc import Callable

import native_templates
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from native_known import SOURCES, UNKNOWN, Known, Writer, marks_of
from native_templates import OWN, REAL, REFUSED
from random_schemas import mutated

from rig.core.calls import Call
from rig.core.models import ToolDoc
from rig.plugins.llama.core.template import ChatTemplate
from rig.plugins.llama.formats.detection import Unsupported, native_of
from rig.plugins.llama.formats.salvage import AnswerError
from rig.plugins.llama.formats.shape import CallShape
from rig.plugins.llama.grammar.language import ConstraintError, Grammar, Language
from rig.plugins.llama.teacher import NotInGrammar, follow

TRIALS = int(os.environ.get("RIG_RANDOM_CALLS", "6"))


RANDOM = st.randoms(use_true_random=False)
"""What tools and calls are made by; hypothesis looks for simple ones where a test fails."""


def tried(examples: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test for random tools and calls. Templates and tiny models are the same for all of them."""
    kept = settings(max_examples=examples, suppress_health_check=list(HealthCheck), deadline=None)
    return lambda test: kept(given(source=RANDOM)(test))


def made(each: Known, source: random.Random) -> tuple[tuple[ToolDoc, ...], list[Call]]:
    """Random tools, and calls of one message for a template."""
    docs = native_templates.tools(source)
    return docs, [native_templates.call(source, docs) for _ in range(each.count(source))]


@pytest.mark.slow
@tried(5 * TRIALS)
def test_what_is_shown_of_a_call_is_read_as_this_call(each: Known, source: random.Random) -> None:
    docs, calls = made(each, source)
    form = each.form(docs)
    if "Hermes-3" in each.name and "null" in repr(docs):
        return  # its macro goes on for ever
    shown = each.shown(form, calls)
    assert each.told(form.read(shown).calls) == each.told(calls), shown


@pytest.mark.slow
@tried(5 * TRIALS)
def test_what_is_written_is_read_and_damaged_calls_are_not(each: Known, source: random.Random) -> None:
    docs, calls = made(each, source)
    form = each.form(docs)
    text = each.native.shape.write(tuple(calls))
    assert each.told(form.read(text).calls) == each.told(calls)
    spans = form.spans(calls[0])
    assert each.native.shape.write((calls[0],)) in "".join(span.text for span in spans)
    cut = source.randrange(len(each.native.shape.open) + 1, len(text))
    try:
        damaged = form.read(text[:cut])
    except AnswerError:
        return
    read, written = each.told(damaged.calls), each.told(calls[: len(damaged.calls)])
    if damaged.form.endswith("without its end"):  # the last call may have lost arguments, and changed none
        last, whole = read.pop(), written.pop()
        assert (last.name, last.arguments.items() <= whole.arguments.items()) == (whole.name, True)
    assert read == written


def accepts(writer: Writer, language: Language, text: str) -> bool:
    """Whether a text is a whole answer, of which both engines have to think alike."""
    found = {_accepts(writer, grammar, language, text) for grammar in writer.grammars} - {None}
    assert len(found) == 1, text
    return found.pop() is True


def _accepts(writer: Writer, grammar: Grammar, language: Language, text: str) -> bool | None:
    """Whether a text is a whole answer; None where the engine says that it does not know the form."""
    try:
        constraint = grammar.start(language)
    except ConstraintError as error:
        if "use llguidance" not in str(error):
            raise
        return None
    try:
        follow(
            constraint,
            writer.tokenizer,
            text,
            len(text.encode()),
            fast_forward=False,
            specials=writer.tokenizer.specials.values(),
        )
    except NotInGrammar:
        return False
    ends = list(writer.tokenizer.end_of_generation)
    return constraint.complete or bool(constraint.allowed()[ends].any())


@pytest.mark.slow
@pytest.mark.parametrize("special", [False, True], ids=["text", "special tokens"])
@tried(max(TRIALS // 2, 1))
def test_the_grammar_accepts_calls_with_variants_and_no_damaged_ones(
    each: Known, writer: Callable[..., Writer], special: bool, source: random.Random
) -> None:
    marks = marks_of(each.native)
    if special and not marks:
        return
    tiny = writer(marks=tuple(mark for mark in marks if special))
    shape = each.native.shape
    docs, calls = made(each, source)
    form = each.form(docs, thinking="off")
    language = form.language()
    before = f"hm{language.thoughts.close}\n" if language.thoughts else ""
    text = before + shape.write(tuple(calls))
    assert accepts(tiny, language, text), text
    assert each.told(form.read(text).calls) == each.told(calls)
    words = f"{before}{shape.lead}Good morning."
    assert accepts(tiny, language, words)
    if not shape.lead:
        assert accepts(tiny, language, f"{before}I look. {text[len(before) :]}")
    place = len(before) + len(shape.open)
    for damaged in (
        text[: len(text) - 1] if shape.close else text + "!",
        text[:place] + "No" + text[place:],
        text[:place] + text[place + len(calls[0].name) + 1 :],
        text + "?",
    ):
        if damaged != text:
            assert not accepts(tiny, language, damaged), damaged
    changed = mutated(source, text)
    if accepts(tiny, language, changed):
        form.read(changed)


@pytest.mark.slow
def test_every_public_template_is_known_or_refused_with_the_reason() -> None:
    for name, source in SOURCES.items():
        template = ChatTemplate(source)
        if name in UNKNOWN:
            with pytest.raises(Unsupported, match=UNKNOWN[name]):
                native_of(template)
        else:
            assert native_of(template).shape.trigger
    assert len(SOURCES) == len(OWN) + len(REAL)


@pytest.mark.parametrize("name", REFUSED)
def test_a_form_that_would_be_wrong_is_refused_with_what_is_wrong(name: str) -> None:
    source, fault = REFUSED[name]
    with pytest.raises(Unsupported, match=fault):
        native_of(ChatTemplate(source, bos="<s>", eos="</s>"))


def shape_of(name: str) -> CallShape:
    return native_of(ChatTemplate(OWN[name], bos="<s>", eos="</s>")).shape


def test_what_a_template_says_before_each_answer_belongs_to_no_call() -> None:
    assert shape_of("told again before each answer").open == 'Action:\n[{"tool_name": "'


def test_thoughts_that_are_a_message_end_where_the_answers_begins() -> None:
    found = native_of(ChatTemplate(OWN["a message for each part"]))
    assert (found.thinking.open, found.thinking.close) == ("<|think|>", "<|end|><|begin|>assistant")
    assert (found.thinking.key, found.words) == ("reasoning", ("<|content|>", ""))
    assert native_of(ChatTemplate(OWN["a plan before calls"])).thinking.key == "tool_plan"


def test_a_form_that_loses_where_values_end_is_that_of_its_family_or_refused() -> None:
    found = native_of(ChatTemplate(OWN["quotes within quotes"]))
    assert (found.family, found.shows_calls) == ("llama4", False)
    assert "loses where values end" in found.faults[0]
    unknown = OWN["quotes within quotes"].replace("<|python_start|>", "<|here|>")
    with pytest.raises(Unsupported, match="loses where values end"):
        native_of(ChatTemplate(unknown))


def test_a_template_that_shows_two_calls_in_no_form_of_two_is_held_to_one() -> None:
    odd = OWN["json in tags"].replace("if not loop.first", "~ (f.arguments | length) if not loop.first")
    assert shape_of("json in tags").between
    assert not native_of(ChatTemplate(odd)).shape.between
