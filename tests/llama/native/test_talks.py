"""Whole conversations in prompts: every call is read as it was, and nothing is missing."""

import os
import random
import re

import native_talks
import pytest
from native_known import Known, known

from rig.core.calls import Call, Outcome
from rig.core.errors import RigError
from rig.core.models import CallMessage, ToolDoc, UserMessage
from rig.plugins.llama.core.template import ChatTemplate, TemplateError
from rig.plugins.llama.formats.base import Reading
from rig.plugins.llama.formats.detection import native_of
from rig.plugins.llama.grammar.language import Language

TALKS = int(os.environ.get("RIG_RANDOM_TALKS", "3"))
REFUSING = {
    "CohereForAI-c4ai-command-r-plus-tool_use": "calls itself without end|has no attribute",
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": "calls itself without end",
}
"""Templates that cannot show some declared types, and what they say then."""


def faults(each: Known, seed: int) -> list[str]:
    try:
        return list(native_talks.faults(each, random.Random(seed)))
    except TemplateError as error:
        return [str(error)]


def test_a_conversation_is_shown_as_it_was(each: Known) -> None:
    found = [fault for seed in range(TALKS) for fault in faults(each, seed)]
    refusal = REFUSING.get(each.name, "(?!)")
    assert [fault for fault in found if not re.search(refusal, fault)] == []


OUT = Call("log_out", {})
HISTORY = (
    UserMessage("Log me out twice."),
    CallMessage(OUT, Outcome("one"), content="I do.", reasoning="Hm."),
    CallMessage(OUT, Outcome("two"), joins=True),
)


def test_a_form_of_one_call_shows_several_one_by_one() -> None:
    for name, count in (("one bare object", 2), ("json in tags", 1)):
        each = known(name)
        chat = each.form(()).write(HISTORY)
        assert [len(message.calls) for message in chat if message.role == "assistant"] == [2 // count] * count
        said = any(
            "several of one message are shown one by one" in line for line in each.native.remarks("auto")
        )
        assert said == (count == 2)


def test_words_that_make_a_template_drop_or_refuse_calls_are_left_out() -> None:
    source = known("thinking").template.source
    dropping = source.replace("{% if m.tool_calls %}", "{% if m.tool_calls and not m.content %}")
    refusing = source.replace(
        "{% if m.tool_calls %}",
        "{% if m.tool_calls and m.content and m.reasoning_content %}{{ raise_exception('both') }}{% endif %}"
        "{% if m.tool_calls %}",
    )
    for text, beside in ((source, "yes"), (dropping, "no"), (refusing, "without thoughts")):
        template = ChatTemplate(text)
        native = native_of(template)
        assert native.words_beside_calls == beside
        assert any("takes no words beside" in fault for fault in native.faults) == (beside != "yes")
        form = Known("x", template, native).form(())
        (words,) = {message.parts for message in form.write(HISTORY) if message.calls}
        assert words == (("I do.",) if beside == "yes" else ())


def test_contents_behind_the_results_are_no_fault_and_lost_ones_are() -> None:
    behind = (
        "{% for m in messages %}{% if not m.tool_calls %}<{{ m.content }}>{% endif %}"
        "{% if m.role == 'tool' %}{{ messages[-2].content }}{% endif %}"
        "{% for c in m.tool_calls or [] %}{{ c.function.name }}{% endfor %}{% endfor %}"
    )
    form = known("json in tags").form(())
    text = "".join(part.text for part in ChatTemplate(behind).render(form.write(HISTORY[:2])))
    assert text == '<Log me out twice.>log_out<"one">I do.'
    lost = ChatTemplate(behind.replace("{% if not m.tool_calls %}", "{% if m.role != 'tool' %}"))
    with pytest.raises(TemplateError, match="role tool does not appear"):
        lost._render(form.write(HISTORY[:2]))


def test_thoughts_are_kept_beside_calls_alone_where_replies_lose_them() -> None:
    source = known("thinking").template.source
    kept = source.replace("m.reasoning_content %}", "m.reasoning_content and m.tool_calls %}")
    assert native_of(ChatTemplate(source)).thinking.kept == "always"
    assert native_of(ChatTemplate(kept)).thinking.kept == "beside calls"


def test_which_thoughts_a_preset_keeps_is_what_its_template_does() -> None:
    source = known("elements").template.source
    kept = source.replace("m.reasoning_content %}", "m.reasoning_content and m.tool_calls %}")
    for text, expected in ((source, "always"), (kept, "beside calls")):
        native = native_of(ChatTemplate(text))
        assert (native.family, native.thinking.kept) == ("minimax-m3", expected)


def language_of(each: Known, thinking: str) -> Language:
    return each.form((), thinking=thinking).language()


def test_words_and_calls_between_tags_are_read_with_thoughts_and_without() -> None:
    each = known("tags with types")
    docs = native_talks.PLAN
    form = each.form((docs,), thinking="on")
    closed = "<|close|>response<|sep|><|close|>message<|sep|>"
    assert form.read(f"Hm.<|close|>think<|sep|><|open|>response<|sep|>Yes.{closed}") == Reading(
        (), "Yes.", "Hm."
    )
    assert each.form((docs,), thinking="off").read(f"Yes.{closed}") == Reading((), "Yes.")
    call = Call("plan_trip", {"where": {"place": "a"}, "either": 7})
    text = each.native.shape.write((call,))
    assert '"either" type="number"' in text
    assert form.read(f"Hm.<|close|>think<|sep|>{text}").calls == (call,)
    opening = "<|open|>response<|sep|>"
    assert language_of(each, "on").call_lead == f"{opening}<|close|>response<|sep|>"
    assert language_of(each, "off").call_lead == "<|close|>response<|sep|>"


def test_a_channel_for_each_call_is_told_from_words_and_thoughts() -> None:
    form = known("a channel for each call").form((native_talks.PLAN,))
    thoughts = " to=self<|message|>Hm.<|eom|><|start|>assistant"
    words = " to=user<|message|>Yes, to=x."
    assert form.read(f"{thoughts}{words}") == Reading((), "Yes, to=x.", "Hm.")
    call = Call("plan_trip", {"where": {"place": "a"}})
    text = "".join(span.text for span in form.spans(call))
    assert text.startswith(" to=plan_trip<|message|><x:calls>")
    assert form.read(thoughts + text).calls == (call,)
    both = form.read(f"{words}<|eom|><|start|>assistant{text}")
    assert (both.calls, both.content) == ((call,), "Yes, to=x.")


def prompt_of(name: str) -> str:
    each = known(name)
    return native_talks.prompt(each, each.form((native_talks.PLAN,)), HISTORY[:2])


def test_results_are_in_the_message_of_their_calls_where_a_template_knows_them_there_alone() -> None:
    each = known("results with their calls")
    assert '<call>log_out{}</call><result>log_out: "one"</result>' in prompt_of(each.name)
    assert any("in the message of the calls" in line for line in each.template.adaptations)
    assert not known("a tag for each").template.beside_calls


def test_thinking_stays_on_where_a_template_refuses_to_turn_it_off() -> None:
    each = known("thinking that stays on")
    assert prompt_of(each.name).endswith("<|im_start|>assistant\n<think>\n")
    assert any("rig leaves it on" in line for line in each.template.adaptations)
    assert each.native.thinking.off is None
    with pytest.raises(RigError, match="Disabling thinking is not supported"):
        ChatTemplate(each.template.source, chosen={"enable_thinking": False})


def test_thoughts_can_be_a_part_of_the_content() -> None:
    assert "[THINK]Hm.[/THINK]I do.[CALLS]log_out[ARGS]{}" in prompt_of("thoughts as a part of the content")
    # A template that prints any content shows a list of parts as Python does, which is no form of thoughts.
    printing = known("json in tags").template.source + "{# 'thinking' #}"
    assert not native_of(ChatTemplate(printing)).thinking.known


def test_words_between_the_marks_of_a_call_are_left_out() -> None:
    assert known("words between the marks").native.words_beside_calls == "no"
    assert '<|begin|><|end|>{"name": "log_out"' in prompt_of("words between the marks")


@pytest.mark.parametrize(
    ("name", "shown"),
    [("lists as Python shows them", """["it's", 1]"""), ("quotes as Python escapes them", r"a='it\'s'")],
)
def test_values_that_are_shown_otherwise_than_written_are_read(name: str, shown: str) -> None:
    each = known(name)
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "array"}}}
    call = Call("look", {"a": "it's", "b": ["it's", 1]})
    form = each.form((ToolDoc("look", "", schema),))
    text = each.shown(form, [call])
    assert shown in text
    assert form.read(text).calls == (call,)
    assert form.read(each.native.shape.write((call,))).calls == (call,)
    assert any("spells some values otherwise" in fault for fault in each.native.faults)
