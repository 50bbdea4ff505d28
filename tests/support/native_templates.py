"""Small chat templates in the styles of families, and tools and calls to try them with."""

# ruff: noqa: E501 - a template is easier to read in one piece
import json
import os
import random
from pathlib import Path
from typing import Any

from rig.core.calls import Call
from rig.core.models import ToolDoc

REAL = {
    path.stem: path
    for folder in filter(None, [os.environ.get("RIG_CHAT_TEMPLATES")])
    for path in sorted(Path(folder).glob("*.jinja"))
}
"""Public templates of models, where there are any."""


def _chatml(calls: str, *, thinking: str = "", results: str = "tool", declared: bool = True) -> str:
    """A ChatML template that shows calls in this way."""
    tools = "{% if tools %}{{ '\n# Tools\n' }}{% for tool in tools %}{{ tool | tojson }}{{ '\n' }}{% endfor %}{% endif %}"
    return (
        "{% for m in messages %}{% if loop.first and (m.role == 'system' or tools) %}{{ '<|im_start|>system\n' }}"
        "{% if m.role == 'system' %}{{ m.content }}{% endif %}"
        f"{tools if declared else ''}{{{{ '<|im_end|>\n' }}}}{{% endif %}}"
        "{% if m.role == 'user' %}{{ '<|im_start|>user\n' + m.content + '<|im_end|>\n' }}"
        "{% elif m.role == 'assistant' %}{{ '<|im_start|>assistant\n' }}"
        + (
            "{% if m.reasoning_content %}{{ '<think>\n' + m.reasoning_content + '\n</think>\n\n' }}{% endif %}"
            if thinking
            else ""
        )
        + "{{ m.content }}{% if m.tool_calls %}"
        + calls
        + "{% endif %}{{ '<|im_end|>\n' }}"
        f"{{% elif m.role == 'tool' %}}{{{{ '<|im_start|>{results}\n' + m.content + '<|im_end|>\n' }}}}"
        "{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
        + thinking
        + "{% endif %}"
    )


_EACH = "{% for c in m.tool_calls %}{% set f = c.function %}"
_ITEMS = "{% for k, v in f.arguments.items() %}"
_VALUE = "{{ v if v is string else v | tojson }}"
_SWITCH = (
    "{% if enable_thinking is defined and not enable_thinking %}{{ '<think>\n\n</think>\n\n' }}{% endif %}"
)

OWN: dict[str, str] = {
    "json in tags": _chatml(
        _EACH + '{{ \'\n\' if not loop.first }}<tool_call>\n{"name": "{{ f.name }}", "arguments": '
        "{{ f.arguments | tojson }}}\n</tool_call>{% endfor %}",
        results="user",
    ),
    "thinking": _chatml(
        _EACH + '{{ \'\n\' if not loop.first }}<tool_call>\n{"name": "{{ f.name }}", "arguments": '
        "{{ f.arguments | tojson }}}\n</tool_call>{% endfor %}",
        thinking=_SWITCH,
    ),
    "opened thinking": _chatml(
        _EACH + "<tool_call>{{ f.name }}{{ f.arguments | tojson }}</tool_call>{% endfor %}",
        thinking="{{ '<think>\n' }}",
    ),
    "a tag for each": _chatml(
        _EACH
        + "{{ '\n' if not loop.first }}<tool_call>\n<function={{ f.name }}>{{ '\n' }}"
        + _ITEMS
        + "<parameter={{ k }}>{{ '\n' }}"
        + _VALUE
        + "{{ '\n' }}</parameter>{{ '\n' }}{% endfor %}</function>\n"
        "</tool_call>{% endfor %}"
    ),
    "keys and values": _chatml(
        _EACH
        + "<tool_call>{{ f.name }}"
        + _ITEMS
        + "<arg_key>{{ k }}</arg_key><arg_value>"
        + _VALUE
        + "</arg_value>{% endfor %}</tool_call>{% endfor %}"
    ),
    "typed tags": _chatml(
        "<calls>{{ '\n' }}"
        + _EACH
        + "<invoke name=\"{{ f.name }}\">{{ '\n' }}"
        + _ITEMS
        + "<parameter name=\"{{ k }}\" string=\"{{ 'true' if v is string else 'false' }}\">"
        + _VALUE
        + "</parameter>{{ '\n' }}{% endfor %}</invoke>{{ '\n' }}{% endfor %}</calls>"
    ),
    "a list with ids": _chatml(
        "[TOOL_CALLS]["
        + _EACH
        + '{{ \'{"name": "\' + f.name + \'", "arguments": \' }}{{ f.arguments | tojson }}'
        "{% if c.id | length != 9 %}{{ raise_exception('nine') }}{% endif %}{{ ', \"id\": \"' + c.id + '\"}' }}"
        "{{ ', ' if not loop.last }}{% endfor %}]"
    ),
    "numbered": _chatml(
        "<|section|>"
        + _EACH
        + "<|one|>functions.{{ f.name }}:{{ loop.index0 }}<|with|>{{ f.arguments | tojson }}"
        "<|done|>{% endfor %}<|all|>"
    ),
    "one bare object": _chatml(
        "{% if m.tool_calls | length > 1 %}{{ raise_exception('one call') }}{% endif %}"
        + _EACH
        + "{{ '{\"name\": \"' + f.name + '\", \"parameters\": ' }}{{ f.arguments | tojson }}{{ '}' }}{% endfor %}"
    ),
    "name as key": _chatml(
        "<|tools|>[" + _EACH + "{{ '{\"' + f.name + '\": ' }}{{ f.arguments | tojson }}{{ '}' }}"
        "{{ ', ' if not loop.last }}{% endfor %}]<|/tools|>"
    ),
    "as Python": _chatml(
        "<|begin|>["
        + _EACH
        + "{{ f.name }}("
        + _ITEMS
        + "{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}"
        "{% endfor %}){{ ', ' if not loop.last }}{% endfor %}]<|finish|>"
    ),
    "only text": _chatml(_EACH + "<fn={{ f.name }}>{{ '' + f.arguments }}</fn>{% endfor %}"),
    "laid out over lines": _chatml(
        "{{ 'Action:\n```json\n[\n' }}"
        + _EACH
        + "{{ '    {\n        \"tool_name\": \"' + f.name + '\",\n' }}"
        "{{ '        \"parameters\": ' }}{{ f.arguments | tojson(indent=4) | indent(8) }}"
        "{{ '\n    }' }}{{ ',\n' if not loop.last }}{% endfor %}{{ '\n]```' }}"
    ),
    "id before the name": _chatml(
        "<|acts|>" + _EACH + "<|act|>{{ c.id }}<|of|>{{ f.name }}<|with|>{{ f.arguments | tojson }}<|done|>"
        "{% endfor %}"
    ),
    "number in JSON": _chatml(
        "<|START_ACTION|>{{ '[\n' }}"
        + _EACH
        + '{{ \'    {"tool_call_id": "\' ~ loop.index0 ~ \'", "tool_name": "\' }}'
        "{{ f.name + '\", \"parameters\": ' }}{{ f.arguments | tojson }}{{ '}' }}{{ ',' if not loop.last }}{{ '\n' }}"
        "{% endfor %}]<|END_ACTION|>"
    ),
    "words of Python": _chatml(
        _EACH
        + "<seed:tool_call>{{ '\n' }}<function={{ f.name }}>{{ '\n' }}"
        + _ITEMS
        + "<parameter={{ k }}>{{ v }}</parameter>{{ '\n' }}{% endfor %}</function>{{ '\n' }}</seed:tool_call>"
        "{% endfor %}"
    ),
    "quotes of its own": (
        "{% macro show(v) %}{% if v is string %}<q>{{ v }}<q>{% elif v is mapping %}{{ '{' }}"
        "{% for k, x in v | dictsort %}{{ k }}:{{ show(x) }}{{ ',' if not loop.last }}{% endfor %}{{ '}' }}"
        "{% elif v is sequence %}[{% for x in v %}{{ show(x) }}{{ ',' if not loop.last }}{% endfor %}]"
        "{% else %}{{ v | tojson }}{% endif %}{% endmacro %}"
        + _chatml(
            _EACH
            + "<begin>call:{{ f.name }}{{ '{' }}{% for k, v in f.arguments | dictsort %}{{ k }}:{{ show(v) }}"
            "{{ ',' if not loop.last }}{% endfor %}{{ '}' }}<end>{% endfor %}"
        )
    ),
    "escaped": _chatml(
        _EACH + "<call>{{ f.name }}={{ f.arguments | tojson(ensure_ascii=True) }}</call>{% endfor %}"
    ),
    "in sections": _chatml(
        _EACH + '<function name="{{ f.name }}">' + _ITEMS + '<param name="{{ k }}">'
        "{% if v is string and ('<' in v or '&' in v or '\n' in v) %}<![CDATA[{{ v }}]]>{% else %}{{ v }}{% endif %}"
        "</param>{% endfor %}</function>{% endfor %}"
    ),
    "a message for each part": (
        "{% for m in messages %}{% if m.role == 'assistant' %}"
        "{% if m.reasoning %}<|begin|>assistant<|think|>{{ m.reasoning }}<|end|>{% endif %}<|begin|>assistant"
        "{% if m.tool_calls %}<|tool_calls|>" + _EACH + "<|call:begin|>{{ c.id }}<|call:name|>{{ f.name }}"
        "<|call:args|>{{ f.arguments | tojson }}<|call:end|>{% endfor %}<|calls|>"
        "{% else %}<|content|>{{ m.content }}<|end|>{% endif %}"
        "{% else %}<|begin|>{{ m.role }}<|content|>{% if loop.first and tools %}{{ tools | tojson }}{% endif %}"
        "{{ m.content }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|begin|>assistant{% endif %}"
    ),
    "told again before each answer": _chatml(
        _EACH
        + '{{ "\nAction:\n[" }}{"tool_name": "{{ f.name }}", "parameters": {{ f.arguments | tojson }}}]{% endfor %}'
    ).replace(
        "{% if add_generation_prompt %}",
        "{% if add_generation_prompt %}{{ '<|im_start|>system\nWrite an action.<|im_end|>\n' }}",
    ),
    "quotes within quotes": _chatml(
        "<|python_start|>["
        + _EACH
        + "{{ f.name }}("
        + _ITEMS
        + "{{ k }}=\"{{ v }}\"{{ ', ' if not loop.last }}{% endfor %}){{ ', ' if not loop.last }}{% endfor %}]<|python_end|>"
    ),
    "a plan before calls": _chatml(
        "<|PLAN|>{{ m.tool_plan }}<|DONE|>"
        + _EACH
        + '<|act|>{"tool": "{{ f.name }}", "parameters": {{ f.arguments | tojson }}}<|/act|>{% endfor %}'
    ),
    "a bare list": _chatml(
        "["
        + _EACH
        + "{{ f.name }}("
        + _ITEMS
        + "{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %}){{ ', ' if not loop.last }}{% endfor %}]"
    ),
    "act and plug in": _chatml(
        _EACH
        + '<|action_start|><|plugin|>\n{"name": "{{ f.name }}", "parameters": {{ f.arguments | tojson }}}'
        "<|action_end|>\n{% endfor %}"
    ),
    "a list over lines": _chatml(
        "<tool_calls>[\n" + _EACH + '{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}'
        "{{ ',\n' if not loop.last }}{% endfor %}\n]</tool_calls>"
    ),
    "action and input": _chatml(
        _EACH + "Action: {{ f.name }}\nAction Input: {{ f.arguments | tojson }}\n{% endfor %}"
    ),
    "a call as it is given": _chatml("<tools>{{ m.tool_calls | tojson }}</tools>"),
    "lines of values": _chatml(
        _EACH + "<call>{{ f.name }}\n" + _ITEMS + "{{ k }}={{ v | tojson }}\n{% endfor %}</call>{% endfor %}"
    ),
    "text of arguments wanted": _chatml(
        _EACH + "{% if f.arguments is not string %}{{ raise_exception('text') }}{% endif %}"
        '<call>{"name": "{{ f.name }}", "arguments": {{ f.arguments }}}</call>{% endfor %}'
    ),
    "a channel for each call": (
        "{% for m in messages %}{% if m.role == 'assistant' %}{% if m.reasoning_content %}"
        "{{ '<|start|>assistant to=self<|message|>' + m.reasoning_content + '<|eom|>' }}{% endif %}"
        "{% if m.tool_calls %}"
        + _EACH
        + "{{ '<|start|>assistant to=' + f.name + '<|message|><x:calls>\n<x:invoke name=\"' + f.name + '\">\n' }}"
        + _ITEMS
        + "{{ '<x:parameter name=\"' + k + '\">' }}"
        + _VALUE
        + "{{ '</x:parameter>\n' }}{% endfor %}{{ '</x:invoke>\n</x:calls>' }}{{ '<|eot|>' if loop.last else '<|eom|>' }}"
        "{% endfor %}{% else %}{{ '<|start|>assistant to=user<|message|>' + m.content + '<|eot|>' }}{% endif %}"
        "{% else %}{{ '<|start|>' + m.role + '<|message|>' }}{{ tools | tojson if loop.first and tools }}"
        "{{ m.content + '<|eot|>' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}"
    ),
    "tags with types": (
        "{% macro a(t) %}<|open|>{{ t }}<|sep|>{% endmacro %}{% macro z(t) %}<|close|>{{ t }}<|sep|>{% endmacro %}"
        "{% if tools %}{{ a('message role=\"system\"') }}{{ tools | tojson }}{{ z('message') }}<|end_of_msg|>{% endif %}"
        "{% for m in messages %}{{ a('message role=\"' ~ m.role ~ '\"') }}{% if m.role == 'assistant' %}"
        "{% if thinking %}{{ a('think') }}{{ m.reasoning_content }}{{ z('think') }}{% endif %}{{ a('response') }}"
        "{{ m.content }}{{ z('response') }}{% if m.tool_calls %}{{ a('tools') }}"
        + _EACH
        + "{{ a('call tool=\"' ~ f.name ~ '\" index=\"' ~ loop.index ~ '\"') }}"
        + _ITEMS
        + "{% set t = 'string' if v is string else 'boolean' if v is boolean else 'null' if v is none else 'number' if"
        " v is number else 'object' if v is mapping else 'array' %}"
        "{{ a('argument key=\"' ~ k ~ '\" type=\"' ~ t ~ '\"') }}"
        + _VALUE
        + "{{ z('argument') }}{% endfor %}{{ z('call') }}{% endfor %}{{ z('tools') }}{% endif %}"
        "{% else %}{{ m.content }}{% endif %}{{ z('message') }}<|end_of_msg|>{% endfor %}"
        "{% if add_generation_prompt %}{{ a('message role=\"assistant\"') }}{{ a('think' if thinking else 'response') }}"
        "{% endif %}"
    ),
    "elements": (
        "{% macro xml(v) %}{% if v is mapping %}{% for k, x in v.items() if x is not none %}"
        "]<]minimax[>[<{{ k }}>{{ xml(x) }}]<]minimax[>[</{{ k }}>{% endfor %}{% elif v is iterable and v is not string %}"
        "{% for x in v %}]<]minimax[>[<item>{{ xml(x) }}]<]minimax[>[</item>{% endfor %}{% elif v is none %}"
        "{% else %}{{ v if v is string else v | tojson }}{% endif %}{% endmacro %}"
        + _chatml(
            "{{ ']<]minimax[>[<tool_call>\n' }}"
            + _EACH
            + "]<]minimax[>[<invoke name=\"{{ f.name }}\">{{ xml(f.arguments) }}{{ ']<]minimax[>[</invoke>\n' }}"
            "{% endfor %}]<]minimax[>[</tool_call>",
            thinking="{{ '<mm:think>' if thinking_mode == 'enabled' else '</mm:think>' if thinking_mode == 'disabled' }}",
        )
        .replace("<think>\n", "<mm:think>")
        .replace("\n</think>\n\n", "</mm:think>")
    ),
    "lists as Python shows them": _chatml(
        _EACH
        + "{{ '\n' if not loop.first }}<tool_call>\n<function={{ f.name }}>{{ '\n' }}"
        + _ITEMS
        + "<parameter={{ k }}>{{ '\n' }}{{ v | tojson if v is mapping else v | string }}"
        "{{ '\n' }}</parameter>{{ '\n' }}{% endfor %}</function>\n</tool_call>{% endfor %}"
    ),
    "quotes as Python escapes them": "{# List of tools: [ #}"
    + _chatml(
        "<|tool_call_start|>["
        + _EACH
        + "{{ f.name }}("
        + _ITEMS
        + "{{ k }}={% if v is string %}'{{ v | replace('\\\\', '\\\\\\\\') | replace(\"'\", \"\\\\'\") | replace('\\n', '\\\\n') }}'"
        "{% elif v is mapping or v is iterable %}{{ v | tojson }}{% else %}{{ v | string }}{% endif %}"
        "{{ ', ' if not loop.last }}{% endfor %}){{ ', ' if not loop.last }}{% endfor %}]<|tool_call_end|>"
    ),
    "results with their calls": _chatml(
        _EACH
        + "<call>{{ f.name }}{{ f.arguments | tojson }}</call>{% endfor %}"
        + "{% for r in m.tool_responses or [] %}<result>{{ r.name }}: {{ r.response }}</result>{% endfor %}"
    ).replace(
        "{% elif m.role == 'tool' %}{{ '<|im_start|>tool\n'", "{% else %}{{ '<|im_start|>' + m.role + '\n'"
    ),
    "words between the marks": _chatml(
        _EACH + '{"name": "{{ f.name }}", "parameters": {{ f.arguments | tojson }}}{% endfor %}'
    ).replace(
        "{{ m.content }}{% if m.tool_calls %}",
        "{% if not m.tool_calls %}{{ m.content }}{% else %}<|begin|>{{ m.content }}<|end|>",
    ),
    "thinking that stays on": "{% if enable_thinking is defined and not enable_thinking %}"
    "{{ raise_exception('Disabling thinking is not supported.') }}{% endif %}"
    + _chatml(
        _EACH + "<tool_call>{{ f.name }}{{ f.arguments | tojson }}</tool_call>{% endfor %}",
        thinking="{{ '<think>\n' }}",
    ),
    "thoughts as a part of the content": _chatml(
        "[CALLS]"
        + _EACH
        + "{{ '[CALLS]' if not loop.first }}{{ f.name }}[ARGS]{{ f.arguments | tojson }}{% endfor %}"
    ).replace(
        "{{ m.content }}{% if m.tool_calls %}",
        "{% if m.content is string %}{{ m.content }}{% else %}{% for part in m.content %}{% if part.type == 'thinking' %}"
        "{{ '[THINK]' + part.thinking + '[/THINK]' }}{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}"
        "{% if m.tool_calls %}",
    ),
    "undeclared": _chatml(
        _EACH + '<tool_call>{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}</tool_call>'
        "{% endfor %}",
        declared=False,
    ),
}

_TEXTS = (
    *("Paris", "", "two words", 'He said "no".', "it's", "a\nb", " lead", "trail ", "7", "true", "null"),
    *("é 語 😀", "a, b: {c}", "[x]", "\\n", "50% & more", "{", "1e5", "-", "None", "x" * 90),
)


REFUSED: dict[str, tuple[str, str]] = {
    "a name that closes": (
        _chatml(_EACH + "<{{ f.name }}>{{ f.arguments | tojson }}</{{ f.name }}>{% endfor %}"),
        "shows a call's name more than once",
    ),
    "a name that some tools have otherwise": (
        _chatml(
            _EACH
            + "<call>{{ f.name }}{{ '!' if 'bravo' in f.name }}{{ f.arguments | tojson }}</call>{% endfor %}"
        ),
        "shows calls of some tools in another form",
    ),
    "arguments twice": (
        _chatml(
            _EACH
            + '<call>{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson | tojson }}}</call>{% endfor %}'
        ),
        "encodes arguments twice, as text within JSON",
    ),
    "arguments escaped": (
        _chatml(
            _EACH
            + '<call>{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson | e }}}</call>{% endfor %}'
        ),
        "in a form",
    ),
    "arguments cut off": (
        _chatml(
            _EACH
            + '<call>{"name": "{{ f.name }}", "arguments": {{ (f.arguments | tojson)[:40] }}}</call>{% endfor %}'
        ),
        "in no form that rig knows",
    ),
    "in small letters": (
        _chatml(
            _EACH
            + '<call>{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson | lower }}}</call>{% endfor %}'
        ),
        "in a form of its own",
    ),
    "as Python shows them": (
        _chatml(_EACH + '<call>{"name": "{{ f.name }}", "arguments": {{ f.arguments }}}</call>{% endfor %}'),
        "in a form of its own",
    ),
    "the first argument alone": (
        _chatml(
            _EACH
            + "<call>{{ f.name }}"
            + _ITEMS
            + "{% if loop.first %}({{ k }}={{ v | tojson }}){% endif %}{% endfor %}"
            "</call>{% endfor %}"
        ),
        "in no form that rig knows",
    ),
    "names as tags": (
        _chatml(
            _EACH
            + "<use>{{ f.name }}"
            + _ITEMS
            + "<{{ k }}>"
            + _VALUE
            + "</{{ k }}>{% endfor %}</use>{% endfor %}"
        ),
        "shows an argument's name more than once",
    ),
    "marks that end a message, too": (
        _chatml(
            _EACH
            + "<|open|>call {{ f.name }}<|sep|>"
            + _ITEMS
            + "<|open|>argument {{ k }}<|sep|>"
            + _VALUE
            + "<|close|>argument<|sep|>{% endfor %}<|close|>call<|sep|>{% endfor %}"
        ).replace("<|im_end|>\n", "<|close|>message<|sep|>"),
        "ends calls with marks that end a message, too",
    ),
    "nothing of tools": (_chatml("", declared=False), "does not show the calls of earlier messages"),
}
"""Templates that show calls so that nothing is to be made of it, with what is said of them."""

_LETTERS = "ab \n\t\"'\\/{}[]()<>|:,=&%$#é語😀"


def tools(source: random.Random) -> tuple[ToolDoc, ...]:
    """One to three tools, with parameters of every type."""
    names = source.sample(("get_weather", "set_alarm", "Log.out", "find-it", "x"), source.randint(1, 3))
    return tuple(ToolDoc(name, "Does it.", _parameters(source, 0)) for name in names)


def _parameters(source: random.Random, depth: int) -> dict[str, Any]:
    names = source.sample(("city", "days", "Loud", "tags_2", "place", "z"), source.randint(0, 4))
    return {
        "type": "object",
        "properties": {name: _schema(source, depth) for name in names},
        "required": [name for name in names if source.random() < 0.5],
    }


def _schema(source: random.Random, depth: int) -> dict[str, Any]:
    plain: list[dict[str, Any]] = [
        {"type": "string"},
        {"type": "string"},
        {"type": "integer", "minimum": -5, "maximum": 900},
        {"type": "number", "minimum": -2, "maximum": 2.5},
        {"type": "boolean"},
        {"type": "null"},
        {"enum": ["red", "light blue", "green"]},
        {"type": "string", "minLength": 1, "maxLength": 6},
        {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$"},
        {"type": ["string", "null"]},
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "integer", "minimum": -5, "maximum": 900}},
    ]
    if depth < 2:
        plain += [{"type": "array", "items": _schema(source, depth + 1)}, _parameters(source, depth + 1)]
    return source.choice(plain)


def call(source: random.Random, docs: tuple[ToolDoc, ...]) -> Call:
    """A call that fits one of the tools."""
    tool = source.choice(docs)
    return Call(tool.name, _object(source, tool.parameters))


def _object(source: random.Random, schema: dict[str, Any]) -> dict[str, Any]:
    required = schema.get("required", ())
    return {
        name: _value(source, inner)
        for name, inner in schema["properties"].items()
        if name in required or source.random() < 0.6
    }


def _value(source: random.Random, schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return source.choice(schema["enum"])
    kind = schema["type"]
    if isinstance(kind, list):
        return source.choice((None, "Oslo", "two words"))
    match kind:
        case "string" if "pattern" in schema:
            return f"AB{source.randint(0, 99)}"
        case "string" if "maxLength" in schema:
            return source.choice(("a", "b c", "é語", "123456"))
        case "string":
            made = "".join(source.choice(_LETTERS) for _ in range(source.randint(0, 9)))
            return source.choice((*_TEXTS, made))
        case "integer":
            return source.randint(-5, 900)
        case "number":
            return source.choice((-2, 0, 0.25, 1.5, 2.5))
        case "boolean":
            return source.random() < 0.5
        case "null":
            return None
        case "array":
            return [_value(source, schema["items"]) for _ in range(source.randint(0, 3))]
    if "properties" not in schema:
        return _any_names(source, schema)
    return _object(source, schema)


def _any_names(source: random.Random, schema: dict[str, Any]) -> dict[str, Any]:
    inner = schema.get("additionalProperties")
    plain = ("x", 'He said "no"', -3, 2.5, True, None, ["a", 1], {"deep": "é"}, {})
    names = source.sample(("city", "Loud", "a-1", "z.2"), source.randint(0, 3))
    return {name: _value(source, inner) if inner else source.choice(plain) for name in names}


def text_of(value: Any) -> str:
    """A value in a line, for messages of failing tests."""
    return json.dumps(value, ensure_ascii=False)
