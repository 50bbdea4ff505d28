"""Leaked calls as models of many families write them, in forms of JSON, tags, names, traces and Python."""

import json
from collections.abc import Callable
from random import Random

from rig.core.calls import Call

Writer = Callable[[Call], str]


def _json(call: Call, name: str = "name", arguments: str = "arguments") -> str:
    return json.dumps({name: call.name, arguments: call.arguments}, ensure_ascii=False)


def _object(call: Call) -> str:
    return json.dumps(call.arguments, ensure_ascii=False)


def _laid_out(call: Call) -> str:
    return json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False, indent=4)


def _openai(call: Call) -> str:
    function = {"name": call.name, "arguments": _object(call)}
    return json.dumps({"id": "call_1", "type": "function", "function": function}, ensure_ascii=False)


def _python(call: Call) -> str:
    return f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})"


def _is_python(call: Call) -> bool:
    return call.name.replace(".", "").isidentifier()


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _tags(call: Call, open_tag: str, close_tag: str) -> str:
    return "".join(
        f"{open_tag.format(key)}{_text(value)}{close_tag.format(key)}"
        for key, value in call.arguments.items()
    )


def _attributes(call: Call) -> str:
    return "".join(f' {key}="{_text(value)}"' for key, value in call.arguments.items())


def _yaml(call: Call) -> str:
    return "".join(
        f"  {key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in call.arguments.items()
    )


def _bare_keys(call: Call) -> str:
    return (
        "{"
        + ", ".join(
            f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in call.arguments.items()
        )
        + "}"
    )


def _gemma(call: Call, quote: str) -> str:
    def value(part: object) -> str:
        if isinstance(part, str):
            return f"{quote}{part}{quote}"
        if isinstance(part, list):
            return f"[{','.join(map(value, part))}]"
        return json.dumps(part)

    return "{" + ",".join(f"{key}:{value(part)}" for key, part in call.arguments.items()) + "}"


JSON: dict[str, Writer] = {
    "bare": _json,
    "laid out": _laid_out,
    "parameters": lambda call: _json(call, arguments="parameters"),
    "tool and args": lambda call: _json(call, "tool", "args"),
    "action and action_input": lambda call: _json(call, "action", "action_input"),
    "tool_name and tool_input": lambda call: _json(call, "tool_name", "tool_input"),
    "recipient": lambda call: json.dumps(
        {"recipient_name": f"functions.{call.name}", "parameters": call.arguments}
    ),
    "in OpenAI's envelope": _openai,
    "in OpenAI's message": lambda call: (
        f'{{"role": "assistant", "content": null, "tool_calls": [{_openai(call)}]}}'
    ),
    "in a call's envelope": lambda call: f'{{"tool_call": {_json(call)}}}',
    "in a Gemini envelope": lambda call: f'{{"functionCall": {_json(call, arguments="args")}}}',
    "in a function's envelope": lambda call: (
        f'{{"function": {json.dumps({"name": call.name, "arguments": _object(call)})}}}'
    ),
    "as Anthropic's": lambda call: json.dumps(
        {"type": "tool_use", "id": "t1", "name": call.name, "input": call.arguments}
    ),
    "with a thought": lambda call: json.dumps(
        {"thought": "I need this.", "action": call.name, "action_input": call.arguments}
    ),
    "in a list": lambda call: f"[{_json(call)}]",
    "arguments as text": lambda call: json.dumps({"name": call.name, "arguments": _object(call)}),
    "in single quotes": lambda call: repr({"name": call.name, "arguments": dict(call.arguments)}),
    "with trailing commas": lambda call: (
        f'{{\n  "name": "{call.name}",\n  "arguments": {_object(call)[:-1]},}},\n}}'
    ),
    "with comments": lambda call: (
        f'{{\n  // the tool\n  "name": "{call.name}",\n  "arguments": {_object(call)} /* all */\n}}'
    ),
    "with bare keys": lambda call: f'{{name: "{call.name}", arguments: {_bare_keys(call)}}}',
    "without its last brace": lambda call: _json(call)[:-1],
    "with one brace too many": lambda call: f"{_json(call)}}}",
    "in two braces": lambda call: f"{{{_json(call)}}}",
    "by key": lambda call: f'{{"{call.name}": {_object(call)}}}',
}
MARKED: dict[str, Writer] = {
    "Llama": lambda call: f"<|python_tag|>{_json(call, arguments='parameters')}<|eom_id|>",
    "Mistral, old": lambda call: f"[TOOL_CALLS] [{_json(call)}]",
    "Mistral, new": lambda call: f"[TOOL_CALLS]{call.name}[ARGS]{_object(call)}",
    "Mistral, with an id": lambda call: f"[TOOL_CALLS]{call.name}[CALL_ID]a1b2c3d4e[ARGS]{_object(call)}",
    "Hermes": lambda call: f"<tool_call>\n{_json(call)}\n</tool_call>",
    "Hermes without its end": lambda call: f"<tool_call>\n{_json(call)}",
    "Hermes with its end alone": lambda call: f"{_json(call)}\n</tool_call>",
    "DeepSeek": lambda call: (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{call.name}<｜tool▁sep｜>{_object(call)}"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "DeepSeek R1": lambda call: (
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{call.name}\n```json\n{_object(call)}\n```<｜tool▁call▁end｜>"
    ),
    "DSML": lambda call: (
        f'<｜DSML｜function_calls>\n<｜DSML｜invoke name="{call.name}">\n'
        + _tags(call, '<｜DSML｜parameter name="{}" string="true">', "</｜DSML｜parameter>\n")
        + "</｜DSML｜invoke>\n</｜DSML｜function_calls>"
    ),
    "GLM": lambda call: (
        f"<tool_call>{call.name}\n"
        + _tags(call, "<arg_key>{}</arg_key>\n<arg_value>", "</arg_value>\n")
        + "</tool_call>"
    ),
    "Qwen3-Coder": lambda call: (
        f"<tool_call>\n<function={call.name}>\n"
        + _tags(call, "<parameter={}>\n", "\n</parameter>\n")
        + "</function>\n</tool_call>"
    ),
    "Functionary": lambda call: f">>>{call.name}\n{_object(call)}",
    "gpt-oss": lambda call: (
        f"<|channel|>commentary to=functions.{call.name} <|constrain|>json<|message|>{_object(call)}<|call|>"
    ),
    "Kimi": lambda call: (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{call.name}:0"
        f"<|tool_call_argument_begin|>{_object(call)}<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "Nemotron": lambda call: f"<TOOLCALL>[{_json(call)}]</TOOLCALL>",
    "Command R": lambda call: f"Action: ```json\n[{_json(call, 'tool_name', 'parameters')}]\n```",
    "Command R7B": lambda call: (
        '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "'
        f'{call.name}", "parameters": {_object(call)}}}\n]<|END_ACTION|>'
    ),
    "Apertus": lambda call: f'<|tools_prefix|>[{{"{call.name}": {_object(call)}}}]<|tools_suffix|>',
    "Gemma 4": lambda call: (
        f"<|tool_call>call:{call.name}{_gemma(call, chr(60) + '|' + chr(34) + '|>')}<tool_call|>"
    ),
    "functiongemma": lambda call: (
        f"<start_function_call>call:{call.name}{_gemma(call, '<escape>')}<end_function_call>"
    ),
    "MiniMax": lambda call: (
        f'<minimax:tool_call>\n<invoke name="{call.name}">\n'
        + _tags(call, '<parameter name="{}">', "</parameter>\n")
        + "</invoke>\n</minimax:tool_call>"
    ),
    "Seed": lambda call: (
        f"<seed:tool_call>\n<function={call.name}>\n"
        + _tags(call, "<parameter={}>", "</parameter>\n")
        + "</function>\n</seed:tool_call>"
    ),
    "tool with params": lambda call: (
        f'<tool name="{call.name}">' + _tags(call, '<param name="{}">', "</param>") + "</tool>"
    ),
    "a function's name": lambda call: f'<function name="{call.name}">{_object(call)}</function>',
    "name in a tag": lambda call: (
        f"<tool_call><name>{call.name}</name><arguments>{_object(call)}</arguments></tool_call>"
    ),
    "name and parameters": lambda call: (
        f"<tool_name>{call.name}</tool_name>\n<parameters>{_object(call)}</parameters>"
    ),
    "one tag": lambda call: f'<tool_call name="{call.name}"{_attributes(call)}/>',
    "the prompt's tags": lambda call: f"<tools>\n{_json(call)}\n</tools>",
    "a tag of its own": lambda call: f"<{call.name}>{_object(call)}</{call.name}>",
}
TRACES: dict[str, Writer] = {
    "ReAct": lambda call: f"Thought: I need this.\nAction: {call.name}\nAction Input: {_object(call)}",
    "ReAct, alone": lambda call: f"Action: {call.name}\nAction Input: {_object(call)}",
    "ReAct, gone on": lambda call: (
        f"Action: {call.name}\nAction Input: {_object(call)}\nObservation: fine\nThought: I now know."
    ),
    "lines": lambda call: f"tool: {call.name}\nargs: {_object(call)}",
    "YAML": lambda call: f"name: {call.name}\narguments:\n{_yaml(call)}",
    "YAML in a fence": lambda call: f"```yaml\ntool: {call.name}\nparameters:\n{_yaml(call)}```",
    "name and object": lambda call: f"{call.name}\n{_object(call)}",
    "name, colon, object": lambda call: f"{call.name}: {_object(call)}",
    "a call with an object": lambda call: f"{call.name}({_object(call)})",
    "functions.": lambda call: f"functions.{call.name}({_object(call)})",
}
PYTHON: dict[str, Writer] = {
    "a call": _python,
    "a list": lambda call: f"[{_python(call)}]",
    "Gemma's fence": lambda call: f"```tool_code\n{_python(call)}\n```",
    "Gemma's fence, printed": lambda call: f"```tool_code\nprint({_python(call)})\n```",
    "Gemini's module": lambda call: f"```tool_code\nprint(default_api.{_python(call)})\n```",
    "Python's fence": lambda call: f"```python\n{_python(call)}\n```",
    "Olmo": lambda call: f"<function_calls>{_python(call)}</function_calls>",
    "Llama's builtin": lambda call: f"<|python_tag|>{_python(call).replace('(', '.call(', 1)}",
}
FORMS = {
    f"{kind}: {name}": writer
    for kind, writers in {"JSON": JSON, "marks": MARKED, "trace": TRACES, "Python": PYTHON}.items()
    for name, writer in writers.items()
}

_BEFORE = (
    *(
        "I'll do that for you.",
        "Let me check that.",
        "Sure! Here is the function call:",
        "One moment, please.",
    ),
    *("To answer this, I need to use the tool.", "I'd be happy to help! I will look it up now.", "Okay."),
    *(
        "Ich sehe gleich nach.",
        "Voy a comprobarlo ahora.",
        "我来帮您查询：",
        "Je vérifie tout de suite.",
        "確認します。",
    ),
    "I don't have access to this information, so I'll call the tool.",
)
_AFTER = (
    *(
        "This looks it up.",
        "I'll tell you as soon as I have it.",
        "Please wait.",
        "Let me know if you need anything else.",
    ),
    "Is there anything else I can help you with?",
)
WRAPPINGS: dict[str, Callable[[Random, str], str]] = {
    "alone": lambda random, text: text,
    "in a fence": lambda random, text: text if "```" in text else f"```json\n{text.rstrip()}\n```",
    "after a sentence": lambda random, text: f"{random.choice(_BEFORE)}\n\n{text}",
    "before a sentence": lambda random, text: f"{text}\n\n{random.choice(_AFTER)}",
    "between sentences": lambda random, text: f"{random.choice(_BEFORE)}\n{text}\n{random.choice(_AFTER)}",
    "with CRLF": lambda random, text: text.replace("\n", "\r\n"),
    "after a thought": lambda random, text: (
        f"<think>\nThe user wants this, so a tool is right.\n</think>\n\n{text}"
    ),
    "with white space": lambda random, text: f"\n\n  {text}\n\n",
}


def can_write(form: str, call: Call) -> bool:
    """Whether a form has a way to write this call: Python names alone, tags alone where values have none."""
    values = [_text(value) for value in call.arguments.values()]
    if form.startswith("Python") or form in ("trace: functions.", "trace: a call with an object"):
        return _is_python(call) and all(key.isidentifier() for key in call.arguments)
    if form in ("marks: one tag", "marks: DSML"):
        return (
            not any(mark in value for value in values for mark in '"<>&')
            and call.name.isascii()
            and "name" not in call.arguments
        )
    if form == "marks: a tag of its own":
        return call.name.isidentifier() and call.name.isascii() and "name" not in call.arguments
    return bool(call.arguments) or (
        form not in ("JSON: by key", "JSON: with trailing commas", "marks: Apertus")
        and "YAML" not in form
        and form != "marks: GLM"
    )
