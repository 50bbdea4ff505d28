"""Whole conversations in prompts: every call is read as it was, and nothing is missing."""

import os
import random
import re

import native_talks
import pytest
from native_known import Known, known

from rig.core.calls import Call, Outcome
from rig.core.models import CallMessage, UserMessage
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
