"""Templates render what transformers renders, with declarations, calls and results."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import jinja2
import jinja2.sandbox
import pytest
import tiny_gguf
from native_templates import REAL
from public_data import public

from rig.core.errors import RigError
from rig.plugins.llama.core.template import ChatMessage, ChatTemplate, TemplateError, ToolCall

_, real = public("RIG_CHAT_TEMPLATES")
TEMPLATES = sorted(REAL.values())

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "SetAlarm",
            "description": "Sets an alarm <now>, for 'you' & the café.",
            "parameters": {
                "type": "object",
                "properties": {
                    "time": {"type": "string", "description": "When. Zulu < Berlin."},
                    "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue"]}},
                    "alarm": {"type": "integer"},
                },
                "required": ["time"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "LogOut",
            "description": "Logs out.",
            "parameters": {"type": "object", "properties": {}},
        },
    },
]
CALL = ToolCall("abc123def", "SetAlarm", {"time": "07:00 'é' <b>", "days": ["tue"], "alarm": 3})
SYSTEM = ChatMessage("system", ("Be brief.", " And kind."))
USER = ChatMessage("user", ("Wake me.",))
CALLING = ChatMessage("assistant", ("",), (CALL,))
SAYING = ChatMessage("assistant", ("I set it.",), (CALL,))
RESULT = ChatMessage("tool", ('{"response": "it\'s <set>"}',), name="SetAlarm", call_id="abc123def")
DONE = ChatMessage("assistant", ("Done.",))
THANKS = ChatMessage("user", ("Thank you.",))
MESSAGES = {
    "plain": [SYSTEM, USER, DONE, THANKS],
    "no system": [USER, DONE, THANKS],
    "asked": [SYSTEM, USER],
    "called": [SYSTEM, USER, CALLING, RESULT],
    "called and said": [SYSTEM, USER, SAYING, RESULT, DONE, THANKS],
    "called twice": [USER, CALLING, RESULT, CALLING, RESULT, DONE, THANKS],
}

GIVEN: dict[str, Any] = {
    "add_generation_prompt": True,
    "enable_thinking": False,
    "bos_token": "<s>",
    "eos_token": "</s>",
}


class Fixed(datetime):
    @classmethod
    def now(cls, tz: Any = None) -> "Fixed":
        return cls(2024, 7, 26, tzinfo=tz)


@pytest.fixture
def transformers_renders(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from transformers.utils import chat_template_utils as theirs

    monkeypatch.setattr(theirs, "datetime", Fixed)

    compiled = theirs._compile_jinja_template

    def unescaped(source: str) -> Any:
        """Without marks of safe text, so that nothing is escaped for HTML."""
        return compiled(re.sub(r"\|\s*safe\b", "", source))

    monkeypatch.setattr(theirs, "_compile_jinja_template", unescaped)

    def render(source: str, messages: list[ChatMessage], tools: list[dict[str, Any]]) -> str | None:
        """What transformers makes of it, None where the template refuses.

        Without tools it passes None for them, where rig passes nothing: so its prompts have always been, and
        some templates take no None.
        """
        shown = [each.shown("".join(each.parts)) for each in messages]
        try:
            if not tools:
                return str(theirs._compile_jinja_template(source).render(messages=shown, **GIVEN))
            found, _ = theirs.render_jinja_template([shown], tools=tools, chat_template=source, **GIVEN)
            return str(found[0])
        except (jinja2.TemplateError, TypeError, ValueError):
            return None

    yield render
    compiled.cache_clear()


def lenient(source: str, messages: list[ChatMessage], tools: list[dict[str, Any]]) -> str:
    """What transformers makes of it once three things that rig allows are allowed there too.

    Templates may lengthen their own lists, show as JSON what a filter draws, and take declarations as text.
    """
    from transformers.utils import chat_template_utils as theirs

    template = theirs._compile_jinja_template(source)
    loose = jinja2.sandbox.SandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[type(each) for each in template.environment.extensions.values()],
    )
    loose.globals.update(template.environment.globals)
    loose.filters["tojson"] = lambda value, indent=None: json.dumps(
        value, ensure_ascii=False, indent=indent, default=list
    )
    return loose.from_string(source).render(
        messages=[each.shown("".join(each.parts)) for each in messages],
        **({"tools": tools} if tools else {}),
        functions=json.dumps(tools, indent=4, ensure_ascii=False),
        datetime=Fixed.now().strftime("%b %d %Y"),
        **GIVEN,
    )


def ours(source: str, messages: list[ChatMessage], tools: list[dict[str, Any]]) -> str | None:
    """As given, with nothing done around what the template cannot do."""
    try:
        template = ChatTemplate(source, bos="<s>", eos="</s>")
        template.beside_calls = False
        return "".join(fragment.text for fragment in template._render(messages, tools))
    except (RigError, TemplateError):
        return None


def loses_a_message(text: str | None, messages: list[ChatMessage]) -> bool:
    """Whether a content is left out, or comes in another order, with which rig makes no prompt."""
    at = 0
    for message in messages:
        if text and not message.calls:
            at = text.find("".join(message.parts), at)
            if at < 0:
                return True
    return False


@real
@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_real_template_renders_as_in_transformers(path: Path, transformers_renders: Any) -> None:
    """Byte for byte; where transformers refuses and rig does not, as it would if it allowed that."""
    source = path.read_text()
    compared = 0
    for name, messages in MESSAGES.items():
        for tools in ([], TOOLS):
            mine, theirs = ours(source, messages, tools), transformers_renders(source, messages, tools)
            if mine is None and loses_a_message(theirs, messages):
                continue
            if mine is not None and theirs is None:
                theirs = lenient(source, messages, tools)
            assert mine == theirs, (name, bool(tools))
            compared += mine is not None
    # One wants its declarations under another name.
    assert compared >= 2 or "functions" in source


def fragments(source: str, messages: list[ChatMessage], tools: list[dict[str, Any]]) -> list[str]:
    found = ChatTemplate(source).render(messages, tools)
    return [each.text for each in found if each.is_content]


HEAD = "{% for m in messages %}{{ '[' + m.role + ']' }}"
TAIL = "{% endfor %}"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("{'b': 1, 'a': 'é <\\'>'} | tojson", '{"b": 1, "a": "é <\'>"}'),
        ("{'b': 1, 'a': 2} | tojson(indent=1)", '{\n "b": 1,\n "a": 2\n}'),
        ("{'b': 1, 'a': 2} | tojson(sort_keys=True)", '{"a": 2, "b": 1}'),
        ("{'a': [1, 2]} | tojson(separators=(',', ':'))", '{"a":[1,2]}'),
        ("['é'] | tojson(ensure_ascii=True)", '["\\u00e9"]'),
        ("strftime_now('%Y')", "2024"),
        ("dict(a=1).a", "1"),
        ("dict.fromkeys(['x']) | length", "1"),
        ("namespace(a=3).a", "3"),
    ],
)
def test_what_a_template_can_use_is_as_in_transformers(
    expression: str, expected: str, transformers_renders: Any
) -> None:
    source = f"{HEAD}{{{{ m.content }}}}{TAIL}|{{{{ {expression} }}}}"
    assert ours(source, [USER], []) == f"[user]Wake me.|{expected}"
    assert transformers_renders(source, [USER], []) == f"[user]Wake me.|{expected}"


@pytest.mark.parametrize("expression", ["namespace(_a=1)", "dict.__mro__", "messages.append(1)"])
def test_what_a_template_must_not_do_ends_in_one_line(expression: str, transformers_renders: Any) -> None:
    source = f"{HEAD}{{{{ m.content }}}}{TAIL}{{{{ {expression}.x }}}}"
    assert ours(source, [USER], []) is None
    assert transformers_renders(source, [USER], []) is None
    with pytest.raises(RigError):
        ChatTemplate(f"{{% set ns = namespace() %}}{{% set ns._x = 1 %}}{source}")


def test_the_generation_tag_and_loop_controls_are_accepted() -> None:
    source = (
        HEAD + "{% generation %}{{ m.content }}{% endgeneration %}" + TAIL + "{% for m in messages %}"
        "{% if loop.index > 1 %}{% break %}{% endif %}!{% endfor %}"
    )
    assert ours(source, [USER, DONE, THANKS], []) == "[user]Wake me.[assistant]Done.[user]Thank you.!"


def test_content_that_a_template_puts_into_json_is_escaped_like_json() -> None:
    said = 'He said "yes"\n\u00e9 [rig:"content:0]'
    source = (
        HEAD + "{{ m.content if m.role == 'user' else m.content | tojson }}" + TAIL + "{{ tools | length }}"
    )
    talk = [USER, ChatMessage("assistant", (said,)), ChatMessage("user", (said,))]
    assert fragments(source, talk, TOOLS) == ["Wake me.", json.dumps(said, ensure_ascii=False)[1:-1], said]
    # Without declarations and calls it is as it has always been, so that no prompt changes.
    assert fragments(source.replace("tools", "'x'"), [USER, ChatMessage("assistant", (said,))], [])[1] == said


def test_words_beside_calls_may_be_left_out_and_other_words_not() -> None:
    source = HEAD + "{% if not m.tool_calls %}{{ m.content }}{% endif %}" + TAIL
    assert fragments(source, [USER, SAYING, RESULT], []) == ["Wake me.", RESULT.parts[0]]
    with pytest.raises(RigError, match="does not appear"):
        ChatTemplate(HEAD + TAIL)


def test_messages_with_calls_are_not_run_into_one() -> None:
    strict = (
        "{% for m in messages %}{% if loop.previtem is defined and loop.previtem.role == m.role"
        " and not m.tool_calls %}{{ raise_exception('twice') }}{% endif %}{{ m.content }}"
        "{% for c in m.tool_calls %}<{{ c.function.name }}>{% endfor %}{% endfor %}"
    )
    rendered = ChatTemplate(strict).render([USER, DONE, SAYING, SAYING])
    assert "".join(each.text for each in rendered) == "Wake me.Done.I set it.<SetAlarm>I set it.<SetAlarm>"


def test_nothing_is_escaped_for_html_beside_text_that_a_template_takes_for_safe() -> None:
    source = "{{ 'Use '|safe + messages[0].content + (tools or []) | tojson }}"
    text = ChatTemplate(tiny_gguf.CHATML + source).expand(
        [{"role": "user", "content": "<'é'>"}], [{"a": "<"}]
    )
    assert text.endswith("""Use <'é'>[{"a": "<"}]""")
